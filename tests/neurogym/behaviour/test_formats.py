"""Arrays, archives, sheets and sessions of known programs are read; what runs code or is not known is refused."""

import pickle

import numpy as np
import openpyxl
import pandas
import pytest
from scipy.io import savemat

from neurogym.behaviour import reading
from neurogym.behaviour.table import Behaviour


@pytest.fixture
def columns(d):
    return {
        "subject": d.subject + 1,
        "contrast": d.signed,
        "choice": d.right + 1,
        "correct": d.correct * 1,
        "rt": d.seconds,
    }


def check(table, d):
    assert len(table.subjects) == 2 and table.stimuli in (("contrast",), ("coherence",))
    np.testing.assert_array_equal(table.join("choice"), d.right * 1)
    np.testing.assert_allclose(table.join("rt"), d.seconds)


def test_a_flat_folder_of_alf_is_a_session(d, tmp_path):
    folder = tmp_path / "Cori_2016-12-14"
    folder.mkdir()
    start = np.arange(300) * 3.0
    arrays = {
        "response_choice": np.where(d.missed, 0, np.where(d.right, -1, 1)),
        "visualStim_contrastLeft": np.where(d.signed < 0, -d.signed, 0),
        "visualStim_contrastRight": np.where(d.signed > 0, d.signed, 0),
        "feedbackType": np.where(d.correct, 1, -1),
        "response_times": start + d.seconds,
        "visualStim_times": start,
        "intervals": np.stack([start, start + 2], 1),
    }
    for name, values in arrays.items():
        np.save(folder / f"trials.{name}.npy", values)
    table = reading.read(folder)
    assert table.subjects == ("Cori",) and table.sessions[0].name == "2016-12-14"
    np.testing.assert_array_equal(table.join("choice") < 0, d.missed)
    answered = ~d.missed
    np.testing.assert_allclose(table.join("rt")[answered], d.seconds[answered])
    assert np.nanmean(table.join("correct")) == pytest.approx(d.correct[answered].mean())


def test_named_arrays_are_columns(d, columns, tmp_path):
    np.savez(tmp_path / "t.npz", **columns, settings=np.zeros(3))
    check(reading.read(tmp_path / "t.npz"), d)


@pytest.mark.parametrize("form", ["trials", "sessions"])
def test_predictors_and_choices_of_state_models_are_read(d, tmp_path, form):
    predictors, y = np.stack([d.signed, np.ones(300)], 1), d.right[:, None] * 1
    if form == "sessions":
        np.savez(tmp_path / "t.npz", inpt=predictors.reshape(2, 150, 2), y=y.reshape(2, 150, 1))
    else:
        np.savez(tmp_path / "t.npz", inpt=predictors, y=y, session=np.repeat(["a", "b"], 150))
    table = reading.read(tmp_path / "t.npz", {"stimuli": ["inpt_0"]})
    assert table.roles["choice"] == "y" and len(table.sessions) == 2
    np.testing.assert_array_equal(table.join("choice"), d.right * 1)


def test_a_matrix_beside_the_names_of_its_columns_is_a_table(d, columns, tmp_path):
    from scipy.io import savemat

    names = np.array([*columns], object)
    content = {"data": np.stack([*columns.values()], 1), "columnNames": names, "other": np.zeros((3, 3))}
    savemat(tmp_path / "t.mat", content)
    check(reading.read(tmp_path / "t.mat"), d)


def test_choice_and_reward_of_bpod_are_the_states_that_were_entered(d, tmp_path):
    from scipy.io import savemat

    trials = []
    for right, correct, missed, seconds in zip(d.right, d.correct, d.missed, d.seconds, strict=True):
        names = ("WaitForPoke", "LeftReward", "RightReward", "LeftPunish", "RightPunish")
        states = {name: np.full(2, np.nan) for name in names}
        if not missed:
            states[("Right" if right else "Left") + ("Reward" if correct else "Punish")] = np.array([seconds, 2.0])
        trials.append({"States": states, "Events": {"Port1In": seconds}})
    session = {"nTrials": 300, "TrialTypes": d.target + 1.0, "RawEvents": {"Trial": np.array(trials, object)}}
    savemat(tmp_path / "t.mat", {"SessionData": session})
    table = reading.read(tmp_path / "t.mat")
    np.testing.assert_array_equal(table.join("choice"), np.where(d.missed, -1, d.right))
    assert table.join("reward").sum() == d.correct.sum() and "LeftReward" in table.reading.form


def test_the_first_sheet_of_excel_is_read_below_its_title(d, columns, tmp_path):
    book = openpyxl.Workbook()
    for row in (["Lab"], [], [*columns], *zip(*(values.tolist() for values in columns.values()), strict=True)):
        book.active.append(list(row))
    book.create_sheet("notes")
    book.save(tmp_path / "t.xlsx")
    table = reading.read(tmp_path / "t.xlsx")
    check(table, d)
    assert any("others are notes" in note for note in table.reading.notes)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.pkl", pickle.dumps({"choice": [1]}), "read_pickle"),
        ("t.rds", b"RDX3", "ngym_cli.data(frame)"),
        ("t.sav", b"$FL2", "read_spss"),
        ("t.xlsx", b"PK\x03\x04", "damaged"),
        ("t.npz", b"PK\x03\x04", "not a zip file"),
    ],
)
def test_what_runs_code_or_is_not_read_leads_on_in_one_line(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(reading.TableError) as refused:
        reading.read(tmp_path / name)
    assert words in str(refused.value) and "\n" not in str(refused.value)


def test_arrays_of_objects_are_not_opened(tmp_path):
    np.savez(tmp_path / "t.npz", y=np.array([np.zeros(3), np.zeros(4)], object))
    with pytest.raises(reading.TableError, match="can run any code"):
        reading.read(tmp_path / "t.npz")


def test_empty_cells_of_a_structure_array_are_missing(tmp_path):
    trials = [{"resp": k % 2 + 1, "RT": 0.4 + k / 100, "coherence": 0.1 * (k % 5)} for k in range(40)]
    trials[3] |= {"resp": np.array([]), "RT": np.array([])}
    savemat(tmp_path / "t.mat", {"results": np.array(trials, object), "screen": {"distance": 57.0}})
    table = reading.read(tmp_path / "t.mat", {"stimuli": ["coherence"]})
    choice = table.join("choice")
    assert choice[3] == -1 and (choice[np.arange(40) != 3] == [k % 2 for k in range(40) if k != 3]).all()


def rewritten(table: dict[str, object]) -> Behaviour:
    """Return what is read of a refused table once the Python of the refusal has turned it."""
    with pytest.raises(reading.TableError, match="expected one row for each trial") as refused:
        reading.read(table)
    code = str(refused.value).split("ngym_cli.data(")[1].split(") reads")[0]
    return reading.read(eval(code, {"pandas": pandas, "frame": pandas.DataFrame(table), "range": range}))


@pytest.mark.parametrize("name", ["choice_{}", "{}_choice", "trial{}_choice"])
def test_a_table_with_a_column_for_each_trial_is_refused_with_the_python_that_turns_it(name):
    table = rewritten({"subject": ["a", "b"], **{name.format(k): [k % 2, 1 - k % 2] for k in range(1, 9)}})
    assert table.subjects == ("a", "b") and table.n_trials == 16
    np.testing.assert_array_equal(table.by_subject()["b"].join("choice"), [0, 1] * 4)


def test_a_table_with_a_column_for_each_subject_is_refused_with_the_python_that_turns_it():
    table = rewritten({"trial": np.arange(40), **{f"S{k}": np.arange(40) % k > 0 for k in (2, 3, 5)}})
    assert [int((session.choice == 0).sum()) for session in table.sessions] == [20, 14, 8]


@pytest.mark.parametrize(("name", "divisor"), [("n_right", 1), ("p_right", 20)])
def test_numbers_of_choices_at_each_level_are_refused_with_the_python_that_repeats_them(name, divisor):
    right = np.array([1, 4, 11, 18])
    table = rewritten({"coherence": [-0.5, -0.1, 0.1, 0.5], "n_trials": [20] * 4, name: right / divisor})
    choice, level = table.join("choice"), table.join("stimuli")[:, 0]
    assert [int(choice[level == each].sum()) for each in (-0.5, -0.1, 0.1, 0.5)] == right.tolist()


def test_events_of_a_log_are_asked_for_those_that_are_choices(d):
    rows = [("state", "choice"), ("event", "left_poke"), ("state", "wait"), ("event", "right_poke")] * 20
    log = {"time": np.arange(80) * 0.5, "type": [kind for kind, _ in rows], "content": [word for _, word in rows]}
    with pytest.raises(reading.TableQuestion, match="rows are events") as asked:
        reading.read(log)
    where, role = asked.value.answers[0].options[1::2]
    table = reading.read(log, {"choice": role}, where=[where])
    np.testing.assert_array_equal(table.join("choice"), [0, 1] * 20)


def test_questions_and_identifiers_below_the_names_of_a_survey_are_left_out(tmp_path):
    lines = ["ID,choice,rt", "Your ID,Which one?,Time", *['"{""ImportId"":""Q1""}"' + ',"{""ImportId"":""Q2""}",x']]
    (tmp_path / "t.csv").write_text("\n".join([*lines, *["a,left,0.4", "a,right,0.5", "a,left,0.6"] * 20]))
    table = reading.read(tmp_path / "t.csv")
    assert table.n_trials == 60 and table.choices == ("left", "right")
    assert np.nanmean(table.join("rt")) == pytest.approx(0.5)
