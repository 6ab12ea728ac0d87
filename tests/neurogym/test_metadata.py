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


def test_entries_are_replaced_in_a_copy():
    info = TaskInfo.of({"description": "a", "carries": False})
    changed = info.replace(carries=True)
    assert changed == {"description": "a", "carries": True, "history_dependent": True} and info["carries"] is False
    assert info.replace(history_dependent=True) == changed


def test_a_dictionary_of_ones_own_is_kept_as_it_is():
    assert Mine.metadata == {"render_modes": ["rgb_array"], "description": "mine", "laboratory": "ours"}
    assert isinstance(Mine.metadata, dict)
