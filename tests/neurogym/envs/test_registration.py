"""Looking tasks up."""

import gymnasium as gym
import pytest

import neurogym as ngym
from neurogym.envs import registration


def test_unknown_names_get_suggestions():
    with pytest.raises(gym.error.NameNotFound, match="PerceptualDecisionMaking-v0"):
        ngym.make("PerceptualDecisonMaking-v0")


def test_tags_filter():
    assert "ReadySetGo-v0" in ngym.all_envs(tag="timing") and "GoNogo-v0" not in ngym.all_envs(tag="timing")
    assert {"timing", "working memory"} <= set(ngym.all_tags())
    assert ngym.all_envs(tag="no such tag") == []
    with pytest.raises(TypeError, match="must be a string"):
        ngym.all_envs(tag=3)


def test_collections():
    assert ngym.get_collection("") == []
    with pytest.raises(ValueError, match="unknown collection"):
        ngym.get_collection("yang91")


def test_every_listed_task_can_be_imported_under_its_lower_case_module():
    for id_ in registration.every_task():
        entry = registration.entry(id_)
        assert callable(entry) and registration.metadata(id_)["description"]


def test_a_users_task_is_registered_once():
    ngym.register("TestOnly-v0", entry_point="neurogym.envs.native.gonogo:GoNogo")
    ngym.register("TestOnly-v0", entry_point="nonsense")
    assert ngym.make("TestOnly-v0").unwrapped.timing["delay"] == 500
    assert registration.group("TestOnly-v0") == "user"


def test_a_name_without_version_means_the_first_of_this_package():
    """RDM-v1 is another task than RDM-v0, the one of every example."""
    assert ngym.make("RDM").unwrapped.timing == ngym.make("RDM-v0").unwrapped.timing
    with pytest.warns(UserWarning, match="RDM-v1 is not a newer version of RDM-v0"):
        assert ngym.make("RDM").unwrapped.timing != ngym.make("RDM-v1").unwrapped.timing
    with pytest.warns(UserWarning, match="use RDM-v0"):
        assert gym.make("RDM-v1").unwrapped.timing["fixation"] == 500
