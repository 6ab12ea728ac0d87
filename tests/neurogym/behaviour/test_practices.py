"""Particular tables of laboratories are read without flags: roles, counts, means, orientation; refusals lead on."""

import gzip

import numpy as np
import pytest

from neurogym.behaviour import reading
from neurogym.behaviour.entries import TableError
from neurogym.behaviour.questions import TableQuestion
from tests.neurogym.behaviour import choices_with_outcomes, experiment_software, laboratories, practices, unusual

SEED = 11
FORMATS = laboratories.MAKERS
MAKERS = FORMATS | practices.MAKERS | experiment_software.MAKERS | choices_with_outcomes.MAKERS | unusual.MAKERS


@pytest.mark.parametrize("name", MAKERS)
def test_a_table_is_read_right_without_flags(name, tmp_path):
    made = MAKERS[name](tmp_path, np.random.default_rng(SEED))
    if made.given:
        with pytest.raises(TableQuestion) as asked:
            reading.read(made.source)
        answers = [dict(zip(answer.options[::2], answer.options[1::2], strict=True)) for answer in asked.value.answers]
        assert {f"--{role}": column for role, column in made.given.items()} in answers
    table = reading.read(made.source, made.given)
    assert {role: table.roles.get(role) for role in made.roles} == made.roles
    assert not set(made.absent) & set(table.roles)
    choice = table.join("choice")
    counts = len(table.subjects), len(table.sessions), int((choice < 0).sum()), made.rows or table.n_trials
    assert counts == (made.subjects, made.sessions, made.misses, table.n_trials)
    for attribute, mean in made.means.items():
        values = table.join(attribute)[choice >= 0].astype(float)
        assert np.nanmean(values) == pytest.approx(mean, abs=1e-3), attribute
    if len(table.stimuli) == 1:
        evidence = table.join("stimuli")[:, 0]
        valid = (choice >= 0) & np.isfinite(evidence)
        assert np.corrcoef(evidence[valid], choice[valid])[0, 1] > (0.4 if name in FORMATS else -0.1)
    rt = table.join("rt")
    assert np.isnan(rt).all() or 0.1 < np.nanmin(rt) < np.nanmax(rt) < 5
    for note in made.notes:
        assert any(note in each for each in table.reading.notes)


@pytest.mark.parametrize("name", FORMATS)
def test_a_saved_column_map_reads_the_same_without_a_guess_and_every_column_is_accounted_for(name, tmp_path):
    made = MAKERS[name](tmp_path, np.random.default_rng(SEED))
    a = reading.read(made.source)
    b = reading.read(made.source, columns=dict(a.reading.column_map))
    assert (a.subjects, a.choices, a.stimuli, len(a.sessions)) == (b.subjects, b.choices, b.stimuli, len(b.sessions))
    for attribute in ("choice", "reward", "correct", "truth", "stimuli", "rt", "state", "choice2", "gain", "loss"):
        np.testing.assert_array_equal(a.join(attribute), b.join(attribute), attribute)
    by_column = {row.column: row for row in a.reading.columns}
    for role, columns in made.roles.items():
        for column in [columns] if isinstance(columns, str) else columns:
            assert by_column[column].role and by_column[column].read_as, (role, column)


ROWS = [f"a,{k},{k % 2},{k % 3}" for k in range(30)]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            ["# made by a script", "", "subject,trial,choice,rt", *ROWS[:9], "# pause", "a,9,1,slow"],
            ["'rt'", "row 10 (line 14)", "'slow'", '--where "rt != slow"'],
        ),
        (
            ["session,trial,choice,reward", *ROWS, "a,29,1,1"],
            ["'trial'", "row 31 (line 32)", "found 29 again", "--trial none"],
        ),
        (
            ["subject,trial,choice,reward", *ROWS[:3], *["a,1"] * 9],
            ["9 lines", "line 5", "2 entries", "4 as in line 1"],
        ),
        (["subject,choice,choice", *["a,1,0"] * 9], ["line 1", "2 columns named 'choice'", "rename"]),
        (["1,0.5,2020-01-01T10:00:00.01", *["0,0.7,2020-01-01T10:00:00.02"] * 9], ["line 1", "names", "subject,trial"]),
        (["subject,choice", *[f"a,{k}" for k in range(60)]], ["choice has 60 different entries", "--choice COLUMN"]),
        (["subject,choice,reward", *["a,,1"] * 9], ["choice is empty", "--choice COLUMN"]),
        (["time,type,content", *["0.1,state,go", "0.2,event,poke"] * 9], ["--choice COLUMN", "a row for each trial"]),
    ],
)
def test_a_refusal_says_the_line_and_what_to_type_next(tmp_path, lines, words):
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(TableError) as refused:
        reading.read(path)
    message = str(refused.value)
    assert "\n" not in message and all(word in message for word in words), message


def test_the_line_is_that_of_the_file_among_several(tmp_path):
    (tmp_path / "a.csv").write_text("\n".join(["choice,rt", *["1,0.4", "0,0.5"] * 9]))
    (tmp_path / "b.csv").write_text("\n".join(["choice,rt", *["1,0.4", "0,0.5"] * 3, "1,slow"]))
    with pytest.raises(TableError, match=r"line 8 of .*b\.csv"):
        reading.read(tmp_path)


def test_a_damaged_packed_file_is_one_line(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress("\n".join(["choice,reward", *["1,1", "0,0"] * 40]).encode())[:30])
    with pytest.raises(TableError, match="damaged or incomplete"):
        reading.read(path)
