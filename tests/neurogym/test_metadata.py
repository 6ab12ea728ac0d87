"""Metadata stays a dictionary whose entries are known."""

import pytest

import neurogym as ngym
from neurogym.metadata import TaskInfo, WrapperInfo


class Mine(ngym.TrialEnv):
    metadata = {"description": "mine", "laboratory": "ours"}


def test_an_entry_that_does_not_exist_is_refused_with_the_nearest():
    with pytest.raises(TypeError, match="did you mean 'necessary'"):
        TaskInfo(neccessary=("stimulus",))
    with pytest.raises(TypeError, match="'tags'"):
        WrapperInfo(tags=["perceptual"])


def test_names_of_earlier_versions_are_refused():
    with pytest.raises(TypeError, match=r"^Older: metadata\['carries'\] is called 'history_dependent'$"):
        type("Older", (ngym.TrialEnv,), {"metadata": {"carries": True}})


def test_entries_are_replaced_in_a_copy():
    info = TaskInfo.of({"description": "a", "history_dependent": False})
    changed = info.replace(history_dependent=True)
    assert changed == {"description": "a", "history_dependent": True} and info["history_dependent"] is False


def test_a_dictionary_of_ones_own_is_kept_as_it_is():
    assert Mine.metadata == {"render_modes": ["rgb_array"], "description": "mine", "laboratory": "ours"}
    assert isinstance(Mine.metadata, dict)
