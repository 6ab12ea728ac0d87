"""Tables as Inquisit, EMC2, JATOS, learning tasks with objects and rigs for animals write them."""

import json

import h5py
import numpy as np
import pandas
import pytest

from neurogym.behaviour import reading
from tests.neurogym.behaviour.laboratories import answers_of

HALVES = (slice(0, 150), slice(150, 300))


def test_practice_is_left_out_whatever_its_column_is_called(d, sides):
    block = np.where(np.arange(300) % 150 < 20, "practice", "test")
    table = {"subject": d.subject, "blockcode": block, "contrast": d.signed, "response": sides["right"]}
    assert sum(session.choice.size for session in reading.read(table).sessions) == 260


def test_s_and_r_beside_times_are_stimulus_and_response(d, sides):
    table = {"subjects": d.subject, "S": sides["target"], "R": sides["right"], "rt": d.seconds}
    result = reading.read(table)
    assert (result.roles["choice"], result.roles["ground_truth"]) == ("R", "S") and not result.reading.notes


def test_lines_of_jatos_each_hold_the_trials_of_a_person(d, sides, tmp_path):
    trial = {"trial_type": "rdk", "stimulus": None}
    rows = [
        trial | {"trial_index": k + 1, "coherence": strength, "response": response}
        for k, (strength, response) in enumerate(zip(d.signed.tolist(), sides["right"].tolist(), strict=True))
    ]
    welcome = {"trial_type": "html", "trial_index": 0, "stimulus": "<p>Welcome</p>", "response": " "}
    lines = [json.dumps([welcome, *rows[:150]]), json.dumps([welcome, *rows[150:]])]
    (tmp_path / "results.txt").write_text("\n".join(lines))
    result = reading.read(tmp_path / "results.txt", {"subject": "group"}, where=["trial_type == rdk"])
    assert [len(each) for each in result.sessions] == [150, 150]
    np.testing.assert_array_equal(result.join("choice"), d.right)


def test_letters_of_detection_say_what_is_correct(d):
    outcome = np.where(d.target, np.where(d.right, "H", "M"), np.where(d.right, "FA", "CR"))
    result = reading.read({"subject": d.subject, "licked": d.right * 1, "outcome": outcome})
    np.testing.assert_array_equal(result.join("correct"), d.right == d.target)


@pytest.mark.parametrize("objects", [("A", "B"), ("A", "B", "C")])
def test_objects_that_earn_on_either_side_are_asked_or_said(objects):
    rng = np.random.default_rng(0)
    lay = np.array([rng.permutation(objects)[:2] for _ in range(300)])
    right = rng.random(300) < 0.5
    chosen = lay[np.arange(300), right * 1]
    reward = rng.random(300) < np.where(chosen == "B", 0.8, 0.2)
    side = np.where(right, "right", "left")
    table = {"stim_left": lay[:, 0], "stim_right": lay[:, 1], "resp": side, "fb": reward * 1}
    if len(objects) > 2:
        assert any("which of A, B, C was chosen" in note for note in reading.read(table).reading.notes)
        return
    answers = answers_of(table)
    derived, *rest = answers[0][1:]
    result = reading.read(table, {"choice": rest[-1]}, derive=[derived])
    np.testing.assert_array_equal(result.join("choice"), chosen == "B")
    assert reading.read(table, {"choice": "resp"}).choices == ("left", "right")


def test_columns_of_flags_are_among_the_candidates_for_a_choice():
    rng = np.random.default_rng(0)
    sample, test = (rng.choice(list("ABCD"), 200) for _ in range(2))
    flags = {"Moved": rng.integers(0, 2, 200), "Match": (sample == test) * 1}
    answers = answers_of({"Sample": sample, "Test": test, **flags})
    assert ("--choice", "Moved") in answers


def test_a_number_that_answers_depend_on_is_asked_about_beside_a_named_choice(d, sides):
    table = {"subject": d.subject, "loud": d.signed, "x": sides["right"], "correct": (d.right == d.target) * 1}
    with pytest.raises(reading.TableQuestion, match="loud"):
        reading.read(table, {"choice": "x"})


def test_trials_that_are_right_without_an_answer_are_asked(d, sides):
    stopped = np.random.default_rng(0).random(300) < 0.2
    table = {"response": np.where(stopped, "", sides["right"]), "correct": (stopped | (d.right == d.target)) * 1}
    answers = answers_of(table, match="without an answer")
    answer = answers[0]
    result = reading.read(table, {"choice": "answered"}, derive=[answer[1]])
    np.testing.assert_array_equal(result.join("choice"), ~stopped)
    assert (reading.read(table, {"choice": "response"}).join("choice") < 0).sum() == stopped.sum()


@pytest.mark.parametrize(("name", "free"), [("forced", 0), ("free_choice", 1)])
def test_choices_that_were_not_free_are_asked(d, sides, name, free):
    flag = (np.arange(300) % 5 > 1) == bool(free)
    table = {"choice": sides["right"], "reward": d.target * 1, name: flag * 1}
    answers = answers_of(table, match="not free")
    assert sum(map(len, reading.read(table, where=[answers[0][1]]).sessions)) == 180
    assert len(reading.read(table, {"choice": "choice"}).join("choice")) == 300


@pytest.mark.parametrize("name", ["laser_on", "is_catch", "autowater"])
def test_trials_that_differ_by_what_was_done_are_said(d, sides, name):
    table = {"choice": sides["right"], "contrast": d.signed, name: np.arange(300) % 5 == 0}
    assert any(name in note and "--by" in note for note in reading.read(table).reading.notes)


@pytest.mark.parametrize(("names", "role"), [(("session_1", "session_2"), "session"), (("anna", "bob"), "group")])
def test_groups_of_one_file_are_all_read(d, sides, tmp_path, names, role):
    halves = {name: slice(150 * k, 150 * (k + 1)) for k, name in enumerate(names)}
    with h5py.File(tmp_path / "t.h5", "w") as file:
        for name, rows in halves.items():
            file[f"{name}/contrast"], file[f"{name}/choice"] = d.signed[rows], d.right[rows] * 1
    pairs = list(zip(d.signed.tolist(), sides["right"].tolist(), strict=True))
    trials = {name: [{"contrast": a, "choice": b} for a, b in pairs[rows]] for name, rows in halves.items()}
    (tmp_path / "t.json").write_text(json.dumps(trials))
    for path in (tmp_path / "t.h5", tmp_path / "t.json"):
        if role == "group":
            with pytest.raises(reading.TableQuestion, match="group changes only from one block"):
                reading.read(path)
        result = reading.read(path, {"subject": "group"} if role == "group" else {})
        assert [len(each) for each in result.sessions] == [150, 150]
        np.testing.assert_array_equal(result.join("choice"), d.right)


def test_correctness_that_is_no_flag_is_said(d, sides):
    table = {"choice": sides["right"], "contrast": d.signed, "correct": np.where(np.arange(300) == 299, 0.8, 1)}
    assert any("correct is named like correctness" in note for note in reading.read(table).reading.notes)


@pytest.mark.parametrize(
    ("change", "entry"),
    [
        (lambda t: 60 * t, r"/60"),
        (lambda t: t / 60, r"\*60"),
        (lambda t: 1e9 * t, r"/1e\+09"),
        (lambda t: np.log(1000 * t), r"exp\(`rt`\)/1000"),
        (np.log, r"exp\(`rt`\)"),
    ],
)
def test_times_in_a_unit_that_cannot_be_are_asked(d, sides, change, entry):
    seconds = 0.3 + np.random.default_rng(0).gamma(3, 0.1, 300)
    table = {"choice": sides["right"], "rt": change(seconds)}
    answers = answers_of(table, match=entry)
    formulas = [answer[1] for answer in answers if answer[0] == "--derive"]
    times = [reading.read(table, {"rt": "seconds"}, derive=[each]).join("rt") for each in formulas]
    assert any(np.allclose(each, seconds) for each in times)
    assert len(reading.read(table, {"rt": "rt"}).join("rt")) == 300


def test_strengths_in_logarithms_are_asked(d, sides):
    table = {
        "choice": sides["right"],
        "correct": (d.right == d.target) * 1,
        "contrast": np.log10(0.1 + np.abs(d.signed) / 2),
    }
    with pytest.raises(reading.TableQuestion, match="says no side"):
        reading.read(table)


def test_probabilities_are_no_objects_and_choices_before_are_no_choices():
    rng = np.random.default_rng(0)
    good = np.repeat([0, 1, 0, 1], 75)
    right = rng.random(300) < np.where(good, 0.7, 0.3)
    reward = rng.random(300) < np.where(right == good, 0.8, 0.2)
    table = {"p_left": 0.8 - 0.6 * good, "p_right": 0.2 + 0.6 * good, "choice": np.where(right, "R", "L")}
    result = reading.read(table | {"reward": reward * 1, "prev_choice": np.roll(table["choice"], 1)})
    assert result.roles["choice"] == "choice" and result.choices == ("L", "R")


def test_outcomes_in_words_say_how_they_are_read(sides):
    table = {"choice": sides["right"], "outcome": np.where(np.arange(300) % 3, "big", "small")}
    note = next(note for note in reading.read(table).reading.notes if "--derive" in note)
    formula = note.split("'")[1]
    assert set(reading.read(table, {"reward": "won"}, derive=[formula]).join("reward")) == {0, 1}


def bandit(n=300):
    rng = np.random.default_rng(0)
    right = rng.random(n) < 0.6
    return right, rng.random(n) < np.where(right, 0.7, 0.3)


@pytest.mark.parametrize("name", ["group", "condition", "training"])
def test_a_group_of_subjects_with_practice_is_kept(d, sides, name):
    group = np.where(d.subject == d.subject[0], "practice", "control")
    assert len(reading.read({"subject": d.subject, name: group, "response": sides["right"]}).join("choice")) == 300


@pytest.mark.parametrize(("win", "loss"), [("You won!", "You lost"), ("gain", "loss"), ("Well done!", "Wrong.")])
def test_outcomes_in_short_sentences_are_read(win, loss):
    right, won = bandit()
    result = reading.read({"choice": right * 1, "outcome": np.where(won, win, loss)})
    np.testing.assert_array_equal(result.join("reward"), won)


def test_outcomes_in_long_sentences_and_judgements_are_said():
    right, won = bandit()
    text = np.where(won, "Right! You win 10 points", "Sorry, you win 0 points")
    table = {"choice": right * 1, "fb_text": text, "conf_pct": 50 + 10 * won}
    reward, confidence = (note for note in reading.read(table).reading.notes if "is not read" in note)
    result = reading.read(table, {"reward": "won"}, derive=[reward.split("'")[1]])
    np.testing.assert_array_equal(result.join("reward"), won)
    assert "--confidence conf_pct" in confidence


def test_rewards_that_are_empty_in_answered_trials_are_asked():
    right, won = bandit()
    table = {"choice": right * 1, "reward": np.where(won, 0.1, np.nan)}
    answers = answers_of(table, match="answered trials")
    result = reading.read(table, {"reward": "rewarded"}, derive=[answers[0][1]])
    np.testing.assert_array_equal(result.join("reward"), won)


def test_flags_of_both_sides_are_one_choice_and_licks_no_stimulus(d):
    missed = np.arange(300) % 10 == 0
    flags = {"choice_left": (~d.right & ~missed) * 1, "choice_right": (d.right & ~missed) * 1}
    result = reading.read(flags | {"contrast": d.signed, "licks_left": d.right * 1, "licks_right": d.target * 1})
    np.testing.assert_array_equal(result.join("choice"), np.where(missed, -1, d.right))
    assert result.stimuli == ("contrast",)


def test_time_and_correctness_are_those_of_the_component_of_the_choice(d, sides):
    dots = {"dots.keys": sides["right"], "dots.rt": np.where(np.arange(300) % 9, d.seconds, np.nan)}
    conf = {"conf.keys": np.where(d.target, 1, 2), "conf.rt": 9 + d.seconds}
    result = reading.read({**conf, **dots}, {"choice": "dots.keys"})
    assert result.roles["rt"] == "dots.rt"


def test_points_in_time_of_any_name_give_the_time_of_the_answer(d, sides):
    on = np.arange(300) * 4.0
    times = {"t_stim_on": on, "t_response": on + d.seconds}
    np.testing.assert_allclose(reading.read({"choice": sides["right"], **times}).join("rt"), d.seconds)


def test_a_correct_side_without_a_choice_is_asked_for_the_choice_that_follows(d, sides):
    table = {"target_location": sides["target"], "accuracy": (d.right == d.target) * 1, "contrast": np.abs(d.signed)}
    answers = answers_of(table)
    result = reading.read(table, {"choice": "chosen"}, derive=[answers[0][1]])
    np.testing.assert_array_equal(result.join("choice"), d.right)


def test_rows_that_sum_up_others_and_files_of_what_is_known_of_subjects_are_left_out(d, sides, tmp_path):
    pandas.DataFrame({"animal": ["a", "b"], "sex": ["f", "m"]}).to_csv(tmp_path / "metadata.csv", index=False)
    for name, rows in (("Rex", slice(0, 150)), ("Spot", slice(150, 300))):
        frame = pandas.DataFrame({"day": "1", "contrast": d.signed[rows], "choice": sides["right"][rows]})
        frame.loc[150] = ["Mean", 0.1, None]
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    result = reading.read(tmp_path, {"subject": "file"})
    np.testing.assert_array_equal(result.join("choice"), d.right)
    assert {"rows Mean": 2}.items() <= result.reading.left_out.items()


def test_one_number_of_a_subject_in_files_of_several_is_asked(tmp_path):
    for k in range(2):
        choice = np.random.default_rng(k).integers(0, 2, 40)
        pandas.DataFrame({"subject": 1, "choice": choice}).to_csv(tmp_path / f"sub-{k}.csv", index=False)
    with pytest.raises(reading.TableQuestion, match="the same in all files"):
        reading.read(tmp_path)


@pytest.mark.parametrize("form", ["parquet", "json", "xlsx"])
def test_lists_and_sheets_are_sessions(d, form, tmp_path):
    halves = [{"stimuli": d.signed[rows].tolist(), "choices": (d.right[rows] * 1).tolist()} for rows in HALVES]
    path = tmp_path / f"t.{form}"
    if form == "xlsx":
        with pandas.ExcelWriter(path) as book:
            for k, half in enumerate(halves):
                pandas.DataFrame(half).to_excel(book, sheet_name=f"session_{k}", index=False)
    elif form == "json":
        path.write_text(json.dumps({"subject": "a", "sessions": [{"day": k} | half for k, half in enumerate(halves)]}))
    else:
        pandas.DataFrame([{"day": k} | half for k, half in enumerate(halves)]).to_parquet(path)
    result = reading.read(path)
    assert [len(each) for each in result.sessions] == [150, 150]
    np.testing.assert_array_equal(result.join("choice"), d.right)


def test_ratings_from_one_side_to_the_other_are_said(d):
    table = {"coherence": d.signed, "response": np.where(d.right, 4, 1) + (np.arange(300) % 3)}
    note = next(note for note in reading.read(table).reading.notes if "as ratings do" in note)
    result = reading.read(table, {"choice": "second"}, derive=[note.split("'")[1]])
    np.testing.assert_array_equal(result.join("choice"), d.right)


def test_units_in_brackets_are_no_part_of_a_name(d, sides):
    result = reading.read({"VP-Nr": d.subject, "Antwort": sides["right"], "Reaktionszeit [ms]": 1000 * d.seconds})
    np.testing.assert_allclose(result.join("rt"), d.seconds)
    assert result.roles["subject"] == "VP-Nr"


@pytest.mark.parametrize("name", ["response", "outcome"])
def test_early_answers_are_none(d, sides, name):
    early = np.arange(300) % 10 == 0
    words = {"response": sides["right"], "outcome": np.where((d.right == d.target) & ~early, "correct", "error")}
    words[name] = np.where(early, "early lick", words[name])
    result = reading.read(words | {"contrast": d.signed})
    np.testing.assert_array_equal(result.join("choice"), np.where(early, -1, d.right))
