"""Tables of every format that laboratories keep: roles are right without flags, misses and orientation too."""

from __future__ import annotations

import numpy as np
import pytest

from neurogym.behaviour import reading
from neurogym.behaviour.table import Behaviour
from tests.neurogym.behaviour import laboratories

SEED = 5


@pytest.fixture(params=laboratories.MAKERS)
def table_of_format(request, tmp_path):
    return laboratories.MAKERS[request.param](tmp_path, np.random.default_rng(SEED))


def same(a: Behaviour, b: Behaviour) -> None:
    assert (a.subjects, a.choices, a.stimuli, len(a.sessions)) == (b.subjects, b.choices, b.stimuli, len(b.sessions))
    for name in ("choice", "reward", "correct", "truth", "stimuli", "rt", "state", "choice2", "gain", "loss"):
        np.testing.assert_array_equal(a.join(name), b.join(name), name)


def test_roles_are_right_without_flags(table_of_format):
    table = reading.read(table_of_format.source)
    wrong = {
        role: table.roles.get(role) for role, name in table_of_format.roles.items() if table.roles.get(role) != name
    }
    assert not wrong
    assert len(table.subjects) == table_of_format.subjects and len(table.sessions) == table_of_format.sessions
    if table_of_format.misses is not None:
        assert int((table.join("choice") < 0).sum()) == table_of_format.misses
    if table_of_format.rows is not None:
        assert table.n_trials == table_of_format.rows


def test_choices_rise_with_a_single_stimulus_and_times_are_seconds(table_of_format):
    table = reading.read(table_of_format.source)
    choice, rt = table.join("choice"), table.join("rt")
    if len(table.stimuli) == 1:
        evidence = table.join("stimuli")[:, 0]
        answered = (choice >= 0) & np.isfinite(evidence)
        assert np.corrcoef(evidence[answered], choice[answered])[0, 1] > 0.4
    if np.isfinite(rt).any():
        assert 0.1 < np.nanmin(rt) and np.nanmax(rt) < 5


def test_a_saved_column_map_reads_the_same_without_a_guess(table_of_format):
    table = reading.read(table_of_format.source)
    assert table.reading is not None
    same(table, reading.read(table_of_format.source, columns=dict(table.reading.column_map)))


def test_every_column_is_accounted_for(table_of_format):
    table = reading.read(table_of_format.source)
    assert table.reading is not None
    by_column = {row.column: row for row in table.reading.columns}
    for role, name in table_of_format.roles.items():
        for each in [name] if isinstance(name, str) else name:
            assert by_column[each].role and by_column[each].read_as, (role, each)
