"""Evidence decides over names: clocks, units, codings, doubled rows, states of a task; what stays open is asked."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from neurogym.behaviour import reading
from tests.neurogym.behaviour import laboratories
from tests.neurogym.behaviour.laboratories import answers_of, notes_of, words


@pytest.fixture
def table(d):
    """Contrast, choice and correctness of two subjects."""
    side = np.where(d.right, "right", "left")
    return {"subject": d.subject, "contrast": d.signed, "choice": side, "correct": (d.right == d.target) * 1}


@pytest.mark.parametrize(("unit", "start"), [(1.0, 0.0), (1e3, 0.0), (1.0, 1.6e9), (1e3, 1.6e12)])
def test_a_point_on_a_clock_is_no_reaction_time(d, table, unit, start):
    clock = unit * np.tile(np.arange(150) * 3.0, 2) + start
    table["response_time"] = clock + unit * (0.5 + d.seconds)
    alone = reading.read(table)
    assert "rt" not in alone.roles and "a point in time" in notes_of(alone)
    times = {"start_time": clock, "stop_time": clock + 2.5 * unit}
    np.testing.assert_allclose(reading.read(table | times).join("rt"), 0.5 + d.seconds, atol=1e-3)
    times |= {"stim_on": clock + 0.5 * unit}
    np.testing.assert_allclose(reading.read(table | times).join("rt"), d.seconds, atol=1e-3)


def test_a_response_that_most_trials_lack_has_no_time_in_them(d, table):
    clock, answered = np.tile(np.arange(150) * 3.0, 2), np.random.default_rng(1).random(300) < 0.4
    table |= {"response_time": np.where(answered, clock + d.seconds, np.nan), "stim_on": clock}
    result = reading.read(table)
    np.testing.assert_allclose(result.join("rt"), np.where(answered, d.seconds, np.nan), atol=1e-3)


def test_a_single_key_names_the_way_to_read_trials_without_it():
    rng = np.random.default_rng(0)
    signal = rng.random(100) < 0.5
    table = {"is_target": signal * 1, "key": np.where(signal ^ (rng.random(100) < 0.1), "space", "")}
    result = reading.read(table)
    assert "--derive 'pressed=known(`key`)' --choice pressed" in notes_of(result)
    pressed = reading.read(table, {"choice": "pressed", "stimuli": ["is_target"]}, derive=["pressed=known(`key`)"])
    np.testing.assert_array_equal(pressed.join("choice"), table["key"] == "space")


def test_times_of_two_units_that_no_subject_tells_apart_are_asked(d, table):
    online = np.arange(300) % 2 == 1
    table["rt"] = np.where(online, 1000 * d.seconds, d.seconds)
    in_seconds, as_written = answers_of(table)
    result = reading.read(table, {"rt": in_seconds[3]}, derive=[in_seconds[1]])
    np.testing.assert_allclose(result.join("rt"), d.seconds, atol=1e-3)
    assert "rt" in reading.read(table, {"rt": as_written[1]}).roles


def test_options_that_differ_in_case_alone_are_one(d, table):
    table["choice"] = np.where(np.arange(300) % 7 == 0, table["choice"], np.char.capitalize(table["choice"]))
    result = reading.read(table)
    assert result.choices == ("Left", "Right") and "left as Left" in notes_of(result)
    np.testing.assert_array_equal(result.join("choice"), d.right * 1)
    np.testing.assert_array_equal(reading.read(table, choices=["left", "right"]).join("choice"), d.right * 1)
    keys = {"choice": np.where(d.right, "a", "A"), "contrast": d.signed}
    assert set(reading.read(keys).choices) == {"a", "A"}


def test_amounts_of_money_are_numbers_and_outcomes_without_a_role_are_named():
    rng = np.random.default_rng(0)
    chosen, other = rng.random((2, 100)) < 0.5
    table = {"choice": rng.integers(0, 2, 100), "payoff": np.where(chosen, "$0.10", "-$0.05")}
    np.testing.assert_array_equal(reading.read(table).join("reward"), np.where(chosen, 0.1, -0.05))
    table = {"choice": table["choice"], "outcome_chosen": chosen * 1, "outcome_unchosen": other * 1}
    assert "--reward outcome_chosen if that is what the choice earned" in notes_of(reading.read(table))


def test_files_of_another_task_are_left_out_with_their_number(d, table, tmp_path):
    laboratories.write_csv(tmp_path / "rdm.csv", {name: table[name] for name in ("subject", "contrast", "choice")})
    laboratories.write_csv(tmp_path / "gonogo.csv", {"subject": np.repeat([0, 1], 20), "sound": ["a", "b"] * 20})
    result = reading.read(tmp_path)
    assert sum(map(len, result.sessions)) == 300
    assert result.reading.left_out["rows of gonogo, where choice is empty"] == 40


def test_stages_of_training_and_words_named_stimulus_are_said(d, table):
    phase = np.where(np.arange(300) % 150 < 50, "training", "test")
    assert "--where 'phase == training'" in notes_of(reading.read(table | {"phase": phase}))
    words = np.where(d.signed > 0, "R", "L").astype(object) + np.abs(100 * d.signed).astype(int).astype(str)
    result = reading.read({"subject": d.subject, "stimulus": words, "choice": table["choice"]})
    assert "stimulus holds" in notes_of(result) and "--by stimulus" in notes_of(result)


def test_angles_around_zero_that_are_written_as_0_to_360_are_asked(d, table):
    signed = (60 * d.signed).round()
    columns = {"subject": d.subject, "orientation": signed % 360, "choice": table["choice"]}
    around, as_written = answers_of(columns)
    result = reading.read(columns, {"stimuli": [around[3]]}, derive=[around[1]])
    np.testing.assert_array_equal(result.join("stimuli")[:, 0], signed)
    assert reading.read(columns, {"stimuli": [as_written[1]]}).roles["stimuli"] == ("orientation",)


def test_correctness_with_the_codes_of_the_choice_is_asked(d, table):
    right = d.right == d.target
    columns = {"contrast": d.signed, "choice": d.right + 1, "correct": np.where(right, 1, 2)}
    first, _, truth = answers_of(columns)
    result = reading.read(columns, {"correct": first[3]}, derive=[first[1]])
    np.testing.assert_array_equal(result.join("correct"), right)
    assert truth == ("--ground-truth", "correct")
    columns["correct"] = d.target + 1  # the correct choice of each trial, which choices follow
    np.testing.assert_array_equal(reading.read(columns).join("correct"), right)
    missed = np.arange(300) % 9 == 0
    columns |= {"choice": np.where(missed, -99, d.right), "correct": np.where(missed, -99, right)}
    np.testing.assert_array_equal(reading.read(columns).join("correct"), np.where(missed, np.nan, right))


def test_columns_l_and_r_are_two_sides_and_signs_of_minus_are_read(d, table):
    rng = np.random.default_rng(0)
    left, right = rng.poisson(5, 300), rng.poisson(5, 300)
    result = reading.read({"L": left, "R": right, "choice": np.where(rng.random(300) < 0.5, "R", "L")})
    np.testing.assert_array_equal(result.join("stimuli")[:, 0], right - left)
    assert "reward" not in result.roles
    written = [f"{each:+g}".replace("-", "\N{MINUS SIGN}") for each in d.signed]
    np.testing.assert_array_equal(reading.read(table | {"contrast": written}).join("stimuli")[:, 0], d.signed)


def test_an_omission_beside_a_choice_is_asked(table):
    rewarded = np.random.default_rng(0).random(300) < 0.6
    table = {"choice": table["choice"], "outcome": np.where(rewarded, "reward", "omission")}
    no_reward, no_answer = answers_of(table)
    result = reading.read(table, {"reward": no_reward[3]}, derive=[no_reward[1]])
    np.testing.assert_array_equal(result.join("reward"), rewarded)
    assert (result.join("choice") >= 0).all()
    assert (reading.read(table, {"reward": no_answer[1]}).join("choice") >= 0).sum() == rewarded.sum()


@pytest.mark.parametrize(("role", "right", "word"), [("correct", "yes", "timeout"), ("outcome", "reward", "too late")])
def test_a_word_for_no_answer_beside_choices_is_asked(table, role, right, word):
    columns = {"choice": table["choice"], role: np.where(table["correct"], right, word)}
    wrong, _ = answers_of(columns)
    result = reading.read(columns, {wrong[2].removeprefix("--"): wrong[3]}, derive=[wrong[1]])
    assert (result.join("choice") >= 0).all() and result.join("reward").mean() == table["correct"].mean()
    reading.read({**columns, "choice": np.where(table["correct"], table["choice"], "0")})


def test_a_name_of_a_subject_in_two_groups_and_two_columns_for_one_role_are_not_taken_silently(table):
    columns = {**table, "subject": np.resize([1, 2], 300), "group": np.repeat(["patient", "control"], 150)}
    one, _, both, same = answers_of(columns)
    assert reading.read(columns, {"subject": both[1]}).subjects == ("1 control", "1 patient", "2 control", "2 patient")
    assert len(reading.read(columns, where=[one[1]]).join("choice")) == 150
    assert reading.read(columns, {"subject": same[1]}).subjects == ("1", "2")
    with pytest.raises(reading.TableError, match="group and subject as subject, expected one column"):
        reading.read(columns, {"subject": ["group", "subject"]})
    with pytest.raises(reading.TableError, match="found choice as choice and as correct, expected one role"):
        reading.read(columns, {"choice": "choice", "correct": "choice"})


def test_empty_rewards_beside_punishments_are_asked_with_the_rewards_alone(table):
    columns = {"lick": table["correct"], "outcome": np.resize(["water", "airpuff", ""], 300)}
    assert answers_of(columns)[0][1] == 'rewarded=(`outcome`=="water")'


def test_correct_responses_left_and_right_beside_their_letters_are_the_correct_choice(table):
    columns = {"correct_response": table["choice"], "response": np.where(table["choice"] == "left", "l", "r")}
    assert reading.read(columns).roles["ground_truth"] == "correct_response"


@pytest.mark.parametrize("outcome", ["correct", "reward"])
def test_a_flag_of_all_errors_and_of_nothing_else_is_no_missing_answer(table, outcome):
    columns = {"choice": table["choice"], outcome: table["correct"], "timeout": 1 - table["correct"]}
    result = reading.read(columns)
    assert (result.join("choice") >= 0).all() and "timeout is set where the choice was wrong" in notes_of(result)


@pytest.mark.parametrize("column", [{"is_correction": [0, 0, 1]}, {"trial_type": ["normal", "catch", "probe"]}])
def test_trials_of_another_kind_are_said(table, column):
    ((name, cells),) = column.items()
    assert f"{name} is " in notes_of(reading.read({**table, name: np.resize(cells, 300)}))


@pytest.mark.parametrize("form", ["[{}, 5]", "[{}]"])
def test_a_vector_written_as_a_list_is_no_number_and_an_entry_alone_is(table, tmp_path, form):
    rows = zip(table["contrast"], table["choice"], strict=True)
    lines = [f'"{form.format(contrast)}",{choice}' for contrast, choice in rows]
    (tmp_path / "a.csv").write_text("\n".join(["stimulus,choice", *lines]))
    assert reading.read(tmp_path / "a.csv").stimuli == (() if "5" in form else ("stimulus",))


def test_answers_of_two_kinds_and_a_correct_side_beside_correctness_are_offered(table):
    numbered = {"side": table["choice"] == "left", "resp1": np.resize([1, 2], 300), "resp2": table["correct"]}
    assert [answer[1] for answer in answers_of(numbered)] == ["resp1", "resp2", "side"]
    side = {"stim_side": table["choice"], "level": np.resize([1, 2, 4], 300), "is_correct": table["correct"]}
    assert "stim_side" in answers_of(side)[0][1]


def test_a_choice_that_says_whether_it_was_correct_is_asked(d, table):
    columns = {"contrast": abs(d.signed), "direction": np.where(d.signed > 0, "R", "L"), "response": table["correct"]}
    derived, _ = answers_of(columns | {"accuracy": table["correct"]})
    known = np.where(d.signed == 0, 1, table["correct"])
    result = reading.read(columns | {"accuracy": known}, {"choice": "chosen"}, derive=[derived[1]])
    np.testing.assert_array_equal(result.join("choice"), (columns["direction"] == "R") == (known == 1))
    assert "if response says whether they are correct" in notes_of(reading.read(columns, {"stimuli": ["contrast"]}))


@pytest.mark.parametrize("name", ["target_side", "correct_side"])
@pytest.mark.parametrize("entries", [("distractor", "target"), ("incorrect", "correct")])
def test_words_that_say_whether_a_choice_was_correct_are_asked_for_the_side(d, table, name, entries):
    side, right = np.where(d.target, "right", "left"), d.right == d.target
    columns = {"coherence": abs(d.signed), name: side, "choice": np.where(right, entries[1], entries[0])}
    derived, as_written = answers_of(columns)
    result = reading.read(columns, {"choice": derived[3], "ground_truth": derived[5]}, derive=[derived[1]])
    np.testing.assert_array_equal(result.join("choice"), d.right)
    np.testing.assert_array_equal(result.join("correct"), right)
    assert set(reading.read(columns, {"choice": as_written[1]}).choices) == set(entries)


@pytest.mark.parametrize("name", ["correct_side", "interval"])
def test_numbers_that_may_say_whether_a_choice_was_correct_are_said(d, table, name):
    columns = {"contrast": abs(d.signed), name: d.target * 1 + 1, "response": table["correct"]}
    assert f"--ground-truth {name} if response says whether they are correct" in notes_of(reading.read(columns))


def test_codes_of_aborted_trials_are_misses_and_no_errors(d, table):
    broken = np.arange(300) % 5 == 0
    code = np.where(broken, np.where(d.trial % 2, 3, 1), np.where(table["correct"], 0, 6))
    columns = {"TrialError": code, "contrast": d.signed, "Condition": d.target + 1}
    choice = {"choice": d.right + 1}
    for source in (columns | choice, columns | choice | {"correct": (code == 0) * 1}):
        result = reading.read(source)
        np.testing.assert_array_equal(result.join("choice"), np.where(broken, -1, d.right))
        np.testing.assert_array_equal(result.join("correct"), np.where(broken, np.nan, table["correct"]))
    (derived,) = answers_of(columns)
    result = reading.read(columns, {"choice": "chosen"}, derive=[derived[1]])
    np.testing.assert_array_equal(result.join("choice"), np.where(broken, -1, d.right))


@pytest.mark.parametrize("name", ["chosen_stim", "stim_chosen", "selected_image"])
@pytest.mark.parametrize("entries", [(1, 2), ("a", "b")])
def test_the_stimulus_that_was_chosen_beside_a_side_is_asked(table, name, entries):
    columns = {"response": table["choice"], name: np.resize([*entries, *entries[::-1]], 300)}
    columns["reward"] = table["correct"]
    assert {answer[1] for answer in answers_of(columns)} == {"response", name}


@pytest.mark.parametrize("keys", [("z", "/"), ("z", "."), (",", "."), ("<", ">"), ("+", "-"), ("←", "→")])
def test_signs_on_keys_are_answers(table, keys):
    pressed = [*np.where(table["choice"] == "left", *keys)]
    behaviour = reading.read({**table, "choice": ["None", "", "NA", *pressed[3:]]})
    assert set(behaviour.choices) == set(keys)
    assert sum((each.choice < 0).sum() for each in behaviour.sessions) == 3


def test_the_choice_follows_from_the_instruction_and_hit_miss_or_ignore(table):
    outcome = np.where(table["correct"], "hit", "miss").astype("U6")
    outcome[::10] = "ignore"
    instructed = np.where((table["choice"] == "left") == table["correct"], "left", "right")
    columns = {"trial_instruction": instructed, "outcome": outcome, "early_lick": np.resize(["early", "no"], 300)}
    with pytest.raises(reading.TableError):
        reading.read({"trial_type": np.resize(["normal", "catch"], 300), "outcome": outcome})
    (session,) = reading.read(columns).sessions
    np.testing.assert_array_equal(session.choice, np.where(outcome == "ignore", -1, table["choice"] == "right"))
    np.testing.assert_array_equal(session.correct[outcome != "ignore"], (outcome == "hit")[outcome != "ignore"])


def test_answers_that_depend_on_another_column_than_the_named_stimulus_are_asked(table):
    columns = {**table, "heading_of_platform": table["contrast"], "delta": np.resize([-3, 0, 3], 300)}
    del columns["contrast"]
    assert {answer[1] for answer in answers_of(columns)} == {"heading_of_platform", "delta"}


def test_ratings_of_one_of_two_kinds_are_said(d):
    rating = np.clip(np.arange(300) % 3 + 1 + 3 * d.target, 1, 6)
    assert "as ratings do" in notes_of(reading.read({"status": np.where(d.target, "old", "new"), "response": rating}))


def test_what_may_be_correctness_is_said_and_options_are_in_quotes(d, table):
    columns = {"contrast": d.signed, "choice": table["choice"], "gelukt is": table["correct"]}
    assert "--correct 'gelukt is' if it says whether they are correct" in notes_of(reading.read(columns))


def test_a_named_choice_that_never_varies_gives_way_to_one_that_does(d):
    columns = {"key": ["f j"] * 300, "contrast": d.signed, "responseCode": d.right + 1}
    assert answers_of(columns) == [("--choice", "responseCode")]


def test_keys_and_units_that_change_between_sessions_are_asked_and_contexts_are_said(d, table):
    second = np.arange(300) % 2 == 1
    table["choice"] = np.where(d.right ^ second, "j", "f")
    table.pop("correct")
    one_sign, _ = answers_of(table | {"session": second + 1})
    derived = reading.read(table | {"session": second + 1}, {"stimuli": ["same"]}, derive=[one_sign[1]])
    assert np.ptp(np.abs(derived.join("stimuli"))) > 0
    context = reading.read(table | {"context": np.where(second, "colour", "motion")}, {"subject": "subject"})
    assert "--by context" in notes_of(context)


def test_the_end_of_the_time_allowed_is_said(d, table):
    late = np.random.default_rng(0).random(300) < 0.1
    table["rt"] = np.where(late, 2.0, np.minimum(d.seconds, 1.9))
    assert f"rt is 2 in {late.sum()} trials, and never longer" in notes_of(reading.read(table))


def test_vectors_of_nearly_the_length_of_a_table_are_named(d, tmp_path):
    columns = {"choice": d.right * 1, "contrast": d.signed, "rt": d.seconds[1:], "levels": np.arange(7)}
    np.savez(tmp_path / "a.npz", **columns)
    savemat(tmp_path / "a.mat", {"data": columns})
    for name in ("a.npz", "a.mat"):
        notes = notes_of(reading.read(tmp_path / name))
        assert "rt (299): not as long as the table (300 rows)" in notes and "levels" not in notes


def test_what_json_says_of_all_trials_is_kept(d, tmp_path):
    trials = [{"choice": int(right), "contrast": contrast} for right, contrast in zip(d.right, d.signed, strict=True)]
    (tmp_path / "a.json").write_text(json.dumps({"subject": "rat7", "settings": [1, 2], "trials": trials}))
    assert reading.read(tmp_path / "a.json").subjects == ("rat7",)


def test_ignored_trials_of_foraging_mice_are_no_third_choice_however_few(d):
    choice = d.right + 0
    choice[[5, 70]] = 2
    right = choice == 1
    table = {"animal_response": choice, "rewarded_historyL": ~right, "rewarded_historyR": right}
    result = reading.read(table)
    assert result.choices == ("0", "1") and (result.join("choice") < 0).sum() == 2


def test_screens_of_lab_js_are_no_trials_and_its_durations_are_times(d):
    rows = [
        row
        for right, contrast, seconds in zip(d.right, d.signed, d.seconds, strict=True)
        for row in (
            {"sender": "Fixation", "response": "", "duration": 500.0, "contrast": np.nan},
            {"sender": "Dots", "response": "fj"[int(right)], "duration": 1000 * seconds, "contrast": contrast},
        )
    ]
    result = reading.read(rows)
    np.testing.assert_array_equal(result.join("choice"), d.right * 1)
    np.testing.assert_allclose(result.join("rt"), d.seconds)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("main 0.5 2 1 539\nmain 0.1 1 1 610\n", "expected names of columns"),
        ("I Experiment name : two\nI Task name : two\n\nD 100 2\n", "log of pyControl"),
        ("*** Header Start ***\nLevel: 1\n*** LogFrame Start ***\nStim.RESP: 2\n", "E-DataAid"),
        ("Scenario - a\nLogfile written - 03/15/2024\n\nSubject\tTrial\tCode\n1\t1\tleft\n", "Presentation"),
    ],
)
def test_tables_without_names_and_logs_are_refused_with_a_way_on(tmp_path, text, message):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(reading.TableError, match=message):
        reading.read(tmp_path / "a.txt")


def test_a_running_total_is_no_reward(d, table):
    table["points"] = np.concatenate([np.cumsum(d.correct[d.subject == k]) for k in (0, 1)])
    result = reading.read(table)
    assert "reward" not in result.roles and "running total" in notes_of(result)


def test_each_file_and_subject_has_a_unit_of_times(d, table):
    table["rt"] = np.where(d.subject == 0, d.seconds, (1000 * d.seconds).round())
    result = reading.read(table)
    np.testing.assert_allclose(result.join("rt"), d.seconds, atol=1e-3)
    assert "two units: ms in 1; s in 0" in notes_of(result)
    again = reading.read(table, columns=dict(result.reading.column_map))
    np.testing.assert_array_equal(again.join("rt"), result.join("rt"))


@pytest.mark.parametrize("second", [(1, 2), ("left", "right")])
def test_codings_that_no_file_has_in_full_are_asked(d, table, tmp_path, second):
    for k, (low, high) in enumerate([(0, 1), second]):
        rows = d.subject == k
        table["choice"] = np.where(d.right, high, low)
        columns = {name: values[rows] for name, values in table.items() if name != "subject"}
        laboratories.write_csv(tmp_path / f"s{k}.csv", columns)
    options, joined = answers_of(tmp_path)
    result = reading.read(tmp_path, {"choice": joined[3]}, derive=[joined[1]])
    np.testing.assert_array_equal(result.join("choice"), d.right * 1)
    assert len(reading.read(tmp_path, choices=options[1].split(",")).choices) > 2


def test_subjects_of_three_options_are_read_where_one_has_all(d):
    rng = np.random.default_rng(1)
    choice = np.where(d.subject == 0, rng.integers(0, 3, 300), rng.integers(0, 2, 300))
    assert len(reading.read({"subject": d.subject, "choice": choice, "reward": d.correct}).choices) == 3


def test_the_choice_of_e_prime_is_the_answer_and_not_the_side(d):
    table = {
        "Subject": d.subject + 1,
        "Target.RESP": words(d, "f", "j", None),
        "Target.RT": np.where(d.missed, 0, (1000 * d.seconds).round()),
        "Target.ACC": d.correct * 1,
        "Side": np.where(d.target, "right", "left"),
        "CorrectResponse": np.where(d.target, "j", "f"),
        "Coherence": np.abs(d.signed),
    }
    result = reading.read(table)
    expected = {"choice": "Target.RESP", "ground_truth": "CorrectResponse", "correct": "Target.ACC", "rt": "Target.RT"}
    assert expected.items() <= result.roles.items()


def test_of_two_candidates_the_choice_is_empty_where_there_is_no_time(d):
    table = {"subject": d.subject, "side": np.where(d.target, "right", "left"), "correct": d.correct * 1}
    with_misses = table | {"answer": words(d, "left", "right", None), "rt": np.where(d.missed, np.nan, d.seconds)}
    result = reading.read(with_misses)
    assert result.roles["choice"] == "answer" and result.roles["ground_truth"] == "side"
    without = table | {"answer": np.where(d.right, "right", "left"), "rt": d.seconds}
    assert ("--choice", "answer") in answers_of(without) and ("--choice", "side") in answers_of(without)


def test_a_sole_column_that_may_be_the_side_of_the_stimulus_is_asked(d):
    table = {"subject": d.subject, "side": np.where(d.target, "right", "left"), "hit": d.correct * 1}
    assert answers_of(table) == [("--choice", "side")]
    assert reading.read(table, {"choice": "side"}).roles["correct"] == "hit"


def test_two_columns_named_like_a_choice_that_differ_are_asked(d):
    rng = np.random.default_rng(1)
    table = {"choice": np.where(d.right, "A", "B"), "response": rng.choice(["l", "r"], 300), "reward": d.correct * 1}
    assert answers_of(table) == [("--choice", "choice"), ("--choice", "response")]
    same = table | {"response": np.where(d.right, "r", "l")}
    assert reading.read(same).roles["choice"] == "choice"


def test_a_choice_that_is_always_correct_beside_errors_is_a_contradiction(d):
    right, target = (np.where(each, "right", "left") for each in (d.right, d.target))
    table = {"response": target, "pressed": right, "correct_response": target, "correct": (d.right == d.target) * 1}
    answers = answers_of({"subject": d.subject} | table)
    assert ("--choice", "pressed") in answers and ("--choice", "response", "--correct", "none") in answers
    result = reading.read({"subject": d.subject} | table, {"choice": "pressed"})
    assert np.nanmean(result.join("correct")) == pytest.approx(table["correct"].mean())


@pytest.mark.parametrize("form", ["words", "numbers", "probabilities"])
def test_what_changes_in_blocks_beside_rewards_is_no_stimulus(form):
    rng = np.random.default_rng(0)
    better = np.tile(np.repeat([0, 1], 50), 6)
    choice = np.where(rng.random(600) < 0.8, better, 1 - better)
    reward = (rng.random(600) < np.where(choice == better, 0.8, 0.2)) * 1
    table = {"Mouse ID": np.repeat(["a", "b"], 300), "Decision": np.where(choice, "right", "left"), "Reward": reward}
    if form == "probabilities":
        table |= {"left": np.where(better, 0.2, 0.8), "right": np.where(better, 0.8, 0.2)}
    else:
        table["Target"] = np.where(better, "right", "left") if form == "words" else better
    result = reading.read(table)
    assert result.stimuli == () and "ground_truth" not in result.roles and "changes in blocks" in notes_of(result)


@pytest.mark.parametrize("form", ["numbers", "words", "potential"])
def test_gains_and_losses_that_are_known_without_an_answer_are_offers(form):
    rng, n = np.random.default_rng(0), 400
    missed = rng.random(n) < 0.05
    prefix = "potential_" * (form == "potential")
    table = {f"{prefix}gain": rng.choice([10, 20, 40], n), f"{prefix}loss": rng.choice([5, 10, 20], n)}
    table["RT"] = np.where(missed, 0, rng.gamma(3, 0.3, n))
    if form != "numbers":
        table["participant_response"] = np.where(missed, "NoResp", rng.choice(["accept", "reject"], n))
    else:
        table["response"] = np.where(missed, -1, rng.integers(0, 2, n))
    result = reading.read(table)
    assert result.stimuli == tuple(table)[:2] and not {"gain", "loss", "reward"} & set(result.roles)
    assert int((result.join("choice") < 0).sum()) == missed.sum()


def test_a_reward_that_is_known_without_an_answer_is_asked():
    rng, n = np.random.default_rng(0), 400
    missed = rng.random(n) < 0.05
    choice = np.where(missed, "none", rng.choice(["l", "r"], n))
    table = {"choice": choice.astype(object), "reward": rng.choice([1, 3, 9], n)}
    table["rt"] = np.where(missed, np.nan, 0.5 + rng.random(n))
    assert answers_of(table) == [("--reward", "reward"), ("--reward", "none")]


def test_rows_that_occur_twice_count_once_and_are_named(d, table, tmp_path):
    table |= {"trial": d.trial, "rt": d.seconds}
    doubled = reading.read({name: np.concatenate([values, values]) for name, values in table.items()})
    assert doubled.n_trials == 300 and "counted once" in notes_of(doubled)
    anna, bert = ({name: values[d.subject == k] for name, values in table.items() if name != "subject"} for k in (0, 1))
    for name, columns in (("anna", anna), ("anna (1)", anna), ("bert", bert)):
        laboratories.write_csv(tmp_path / f"{name}.csv", columns)
    laboratories.write_csv(tmp_path / "part.csv", {name: values[30:90] for name, values in anna.items()})
    result = reading.read(tmp_path, {"subject": "file"})
    assert result.n_trials == 300 and len(result.subjects) == 2
    assert notes_of(result).count("counted once") == 2 and result.reading.left_out["rows that occur twice"] == 210


def test_rows_that_are_alike_by_the_design_are_kept():
    assert reading.read({"choice": [0, 1] * 60, "reward": [1, 0, 0, 1] * 30}).n_trials == 120


def test_one_name_with_two_starts_is_two_sessions(d, table, tmp_path):
    columns = {"stim": d.signed, "choice": d.right * 1, "correct": d.correct * 1}
    for k in (0, 1):
        trials = {name: values[d.subject == k] for name, values in columns.items()}
        start = {"identifier": f"x{k}", "session_start_time": f"2020-01-0{k + 1}T10:00:00", "general/session_id": "s1"}
        laboratories.write_nwb(tmp_path / f"{k}.nwb", "mouse", trials, **start)
    assert len(reading.read(tmp_path).sessions) == 2
    table |= {"session": np.ones(300, int), "date": np.where(d.trial < 70, "2020-01-01", "2020-01-02")}
    assert len(reading.read(table).sessions) == 4


def test_gorilla_is_read_with_its_last_row_left_out(d):
    table = {
        "Participant Private ID": (d.subject + 7001).tolist(),
        "Participant Public ID": ["BLIND"] * 300,
        "Zone Type": ["response_keyboard_single"] * 300,
        "Response": words(d, "Left", "Right", ""),
        "Correct": (d.correct * 1).tolist(),
        "Reaction Time": np.where(d.missed, np.nan, 1000 * d.seconds).tolist(),
        "Coherence": d.signed.tolist(),
    }
    for name, values in table.items():
        values.append("END OF FILE" if name == "Participant Public ID" else None)
    result = reading.read(table)
    assert len(result.subjects) == 2 and result.n_trials == 300 and result.roles["rt"] == "Reaction Time"
    assert result.reading.left_out["rows END OF FILE"] == 1


def test_practice_and_times_of_opensesame_are_read(d):
    table = {
        "subject_nr": d.subject,
        "practice": np.where(d.trial < 20, "yes", "no"),
        "response": words(d, "z", "m", "None"),
        "correct_response": np.where(d.target, "m", "z"),
        "correct": d.correct * 1,
        "response_time_keyboard": np.where(d.missed, np.nan, 1000 * d.seconds),
        "Dot_diff": np.abs(d.signed),
    }
    assert ("--stimuli", "Dot_diff") in answers_of(table)
    result = reading.read(table, {"stimuli": ["Dot_diff"]})
    assert result.n_trials == 260 and result.roles["rt"] == "response_time_keyboard"


@pytest.mark.parametrize("entries", [("oikein", "väärin"), (1, 2)])
def test_two_entries_that_may_mean_correct_are_asked(d, table, entries):
    table["correct"] = np.where(d.correct, *entries)
    first, _ = answers_of(table)
    result = reading.read(table, {"correct": "right"}, derive=[first[1]])
    assert np.nanmean(result.join("correct")) == pytest.approx(d.correct.mean())


def test_advice_cures_all_rows_at_once_and_never_drops_most(d, table):
    times = (1000 * d.seconds).round().astype(object)
    times[[3, 50, 90]], times[7] = "slow", "very fast"
    with pytest.raises(reading.TableError, match="leaves the 4 such rows out") as refused:
        reading.read(table | {"rt": times})
    condition = str(refused.value).split('--where "')[1].split('"')[0]
    assert reading.read(table | {"rt": times}, where=[condition]).n_trials == 296
    times[::2] = "slow"
    with pytest.raises(reading.TableError, match="name another column"):
        reading.read(table | {"rt": times}, {"rt": "rt"})


def test_preambles_thousands_and_lists_of_keys_are_read(d, table, tmp_path):
    preamble = "Experiment: dots\nSubject: 7, date: 3, version, 2\nfile,x\n\nComment; here\n"
    path = laboratories.write_csv(tmp_path / "p.csv", table | {"rt": d.seconds}, before=preamble)
    assert reading.read(path).reading.left_out == {"lines above the names of columns": 4}
    times = [f"{int(1000 * each):,}".replace(",", ".") for each in d.seconds]
    result = reading.read(laboratories.write_csv(tmp_path / "t.csv", table | {"rt": times}, ";"))
    np.testing.assert_allclose(result.join("rt"), d.seconds, atol=1e-3)
    table["choice"] = [f"\"['{side}', 'x']\"" if k % 9 == 0 else side for k, side in enumerate(table["choice"])]
    result = reading.read(laboratories.write_csv(tmp_path / "k.csv", table))
    assert result.choices == ("left", "right")


def test_files_that_do_not_say_whose_trials_they_hold_are_asked(d, table, tmp_path):
    for k, name in enumerate(("alpha", "beta")):
        rows = d.subject == k
        columns = {key: values[rows] for key, values in table.items() if key != "subject"}
        laboratories.write_csv(tmp_path / f"{name}.csv", columns)
    assert answers_of(tmp_path)[0] == ("--subject", "file")
    assert reading.read(tmp_path, {"session": "file", "subject": None}).subjects == ("subject",)


def test_each_role_has_a_reason(d, table):
    rows = reading.read(table | {"RT_ms": 1000 * d.seconds}, {"stimuli": ["contrast"]}).reading.columns
    reasons = {row.column: row.reason for row in rows}
    assert reasons["contrast"] == "named" and reasons["choice"] == reasons["RT_ms"] == "name"
    ibl = laboratories.ibl_columns(d)
    reasons = {row.column: row.reason for row in reading.read(ibl | {"subject": d.subject}).reading.columns}
    assert reasons["choice"] == "format IBL" and reasons["rt"] == "derived" and reasons["subject"] == "name"


def test_options_of_two_tasks_in_one_table_are_asked(d):
    first, second = np.where(d.right, "red", "green"), np.where(d.right, "up", "down")
    table = {"id": d.subject, "task": np.where(d.trial < 75, "color", "motion"), "correct": d.correct * 1}
    table["choice"] = np.where(d.trial < 75, first, second)
    assert ("--where", "task == color") in answers_of(table)
    assert reading.read(table, where=["task == motion"]).choices == ("down", "up")


def test_a_running_mean_is_not_correctness_and_a_probability_in_blocks_is_not_the_reward(d):
    mean = np.cumsum(d.correct) / np.arange(1, 301)
    assert "correct" not in reading.read({"choice": d.right * 1, "performance": mean}).roles
    probability = np.tile(np.repeat([0.2, 0.8, 0.2], 50), 2)
    table = {"subject": d.subject, "choice": d.right * 1, "reward": probability, "outcome": d.correct * 1}
    assert reading.read(table).roles["reward"] == "outcome"


def test_a_strength_without_a_side_is_asked_and_stages_are_said(d):
    table = {"subject": d.subject, "coh": np.abs(d.signed), "dir": np.where(d.target, 90, 270), "resp": d.right + 1}
    assert ("--ground-truth", "dir") in answers_of(table)
    assert np.nanmean(reading.read(table, {"ground_truth": "dir"}).join("correct")) > 0.7
    stage = np.where(d.trial < 75, "training", "test")
    table = {"stage": stage, "coh": np.where(d.trial < 75, np.sign(d.signed), d.signed), "choice": d.right * 1}
    assert "levels of coh differ" in notes_of(reading.read(table | {"subject": d.subject, "correct": d.correct * 1}))


def test_flags_of_detection_are_neither_correctness_nor_stimuli(d):
    flags = {"lick": d.right * 1, "hit": (d.right & d.target) * 1, "FA": (d.right & ~d.target) * 1}
    result = reading.read(flags | {"animal": d.subject, "reward": flags["hit"]})
    assert result.stimuli == () and "correct" not in result.roles


def test_rewards_of_both_options_are_not_the_reward_of_the_chosen_one():
    rng = np.random.default_rng(0)
    both = {name: rng.integers(0, 2, 200) for name in ("choice", "reward_left", "reward_right")}
    assert "reward" not in reading.read(both).roles


@pytest.mark.parametrize("name", ["pR", "choseLDR", "StimChosen", "wheel_dir", "keycode"])
def test_numbers_that_sound_like_an_answer_are_asked(d, name):
    assert answers_of({"subject": d.subject, name: d.right + 1, "reward": d.correct * 1}) == [("--choice", name)]


def test_rows_of_one_trial_are_joined_and_those_without_a_number_left_out(d, table):
    shown = pd.DataFrame({"subject": d.subject, "trial": d.trial + 1, "contrast": d.signed, "choice": ""})
    rows = pd.concat([shown, shown.assign(contrast=np.nan, choice=table["choice"])]).sort_index(kind="stable")
    result = reading.read(pd.concat([rows, rows[:1].assign(trial=np.nan)]))
    assert [len(each) for each in result.sessions] == [150, 150] and len(result.reading.left_out) == 2
    np.testing.assert_array_equal(result.join("choice"), d.right * 1)
    np.testing.assert_array_equal(result.join("stimuli")[:, 0], d.signed)
    with pytest.raises(reading.TableError, match="each trial number once"):
        reading.read(rows.assign(choice=d.right[rows.index] * 1))


def test_a_sure_option_that_is_paid_is_a_choice(d, table):
    sure = np.arange(300) % 3 == 0
    columns = {"choice": np.where(sure, "sure", table["choice"]), "correct": np.where(sure, np.nan, d.correct)}
    assert reading.read(columns | {"reward": np.where(sure, 0.6, d.correct)}).choices == ("left", "right", "sure")
    result = reading.read(columns | {"reward": np.where(sure, 0, d.correct)})
    assert result.choices == ("left", "right") and "sure is read as no answer" in notes_of(result)


def test_the_choice_follows_from_words_of_detection_and_correctness_alone_is_offered(d):
    outcome = np.select([d.target & d.right, d.target, d.right], ["Hit", "Miss", "FA"], "CR")
    result = reading.read({"mouse": d.subject, "ear_tag": np.resize([1, 2], 300), "outcome": outcome})
    np.testing.assert_array_equal(result.join("choice"), d.right * 1)
    np.testing.assert_array_equal(result.join("correct"), d.right == d.target)
    columns = {"subject": d.subject, "staircase": np.resize([1, 2], 300), "correct": d.correct * 1}
    assert answers_of(columns) == [("--choice", "correct")]


def test_chinese_names_are_read_and_staying_is_said(d):
    columns = {"被试": d.subject, "反应": np.where(d.right, "右", "左"), "正确": np.where(d.correct, "是", "否")}
    result = reading.read(columns | {"反应时": 1000 * d.seconds})
    assert result.choices == ("左", "右") and {"subject", "correct", "rt"} <= set(result.roles)
    columns["反应"] = np.where(d.right, "stay", "switch")
    assert "the choice before was repeated" in notes_of(reading.read(columns))
