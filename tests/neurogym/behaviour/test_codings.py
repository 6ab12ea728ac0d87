"""Codes, units, labels and damaged entries: read right, or left out with a count, or refused with a way on."""

import re
import time

import numpy as np
import pytest

from neurogym.behaviour import reading
from tests.neurogym.behaviour.laboratories import answers_of, notes_of


def signed(n=300, seed=0):
    rng = np.random.default_rng(seed)
    stimulus = rng.choice([-1.0, -0.5, 0.5, 1.0], n)
    right = rng.random(n) < 1 / (1 + np.exp(-4 * stimulus))
    return rng, stimulus, right, right == (stimulus > 0)


@pytest.mark.parametrize("witness", ["correct", "stimulus", "rt"])
def test_minus_one_beside_zero_and_one_is_a_miss_where_other_columns_say_so(witness):
    rng, stimulus, right, correct = signed()
    missed = rng.random(300) < 0.1
    table = {"choice": np.where(missed, -1, right.astype(int))}
    if witness == "correct":
        table["correct"] = (correct & ~missed).astype(int)
    if witness == "stimulus":
        table["contrast"] = stimulus
    if witness == "rt":
        table["rt"] = np.where(missed, np.nan, 0.5 + rng.random(300))
    result = reading.read(table)
    assert result.choices == ("0", "1")
    np.testing.assert_array_equal(result.join("choice") < 0, missed)


def test_zero_between_minus_one_and_one_is_a_miss_where_other_columns_say_so():
    rng, stimulus, right, correct = signed()
    missed = rng.random(300) < 0.1
    table = {"choice": np.where(missed, 0, 2 * right - 1), "correct": (correct & ~missed).astype(int), "s": stimulus}
    result = reading.read(table)
    assert result.choices == ("-1", "1") and int((result.join("choice") < 0).sum()) == missed.sum()
    assert np.nanmean(result.join("correct")) == pytest.approx(correct[~missed].mean())


def test_two_possible_readings_are_said_and_a_flag_decides():
    table = {"choice": [-1, 0, 1] * 30, "reward": [1, 0, 1] * 30}
    assert "--missed -1" in notes_of(reading.read({"choice": [-1, 0, 1] * 30}))
    assert reading.read(table, missed=["-1"]).choices == ("0", "1")
    assert reading.read(table, missed=["none"]).choices == ("-1", "0", "1")


@pytest.mark.parametrize(("code", "first"), [(0, 1), (2, 0), (3, 1)])
def test_a_rare_number_beside_two_options_is_asked(code, first):
    rng, stimulus, right, _ = signed()
    missed = rng.random(300) < 0.05
    table = {"choice": np.where(missed, code, right + first), "contrast": stimulus}
    (_, name, _, word), as_option = answers_of(table)
    np.testing.assert_array_equal(reading.read(table, {"choice": name}, missed=[word]).join("choice") < 0, missed)
    assert len(reading.read(table, {as_option[0].removeprefix("--"): as_option[1]}).choices) == 3


@pytest.mark.parametrize("name", ["aborted", "abort_trial", "is_timeout"])
def test_flags_of_trials_without_an_answer_are_read(name):
    rng, stimulus, right, _ = signed()
    missed = rng.random(300) < 0.05
    table = reading.read({"choice": right * 1, "contrast": stimulus, name: missed * 1})
    np.testing.assert_array_equal(table.join("choice") < 0, missed)
    words = {"choice": right * 1, "contrast": stimulus, "status": np.where(missed, "aborted", "done")}
    assert "--where 'status != aborted' without them" in notes_of(reading.read(words))


@pytest.mark.parametrize("separator", [",", "\t", " "])
def test_names_of_rows_as_r_writes_them_are_no_entries(separator, tmp_path):
    rows = [f"{k},a,{k % 2},{k % 3}" for k in range(1, 31)]
    (tmp_path / "t.txt").write_text("\n".join(["subject,choice,reward", *rows]).replace(",", separator))
    assert reading.read(tmp_path / "t.txt").join("choice").tolist() == [k % 2 for k in range(1, 31)]


def test_labels_are_texts(tmp_path):
    (tmp_path / "t.csv").write_text("subject,choice,reward\n" + "007,1,1\n7,2,0\n007,2,1\n7,1,0\n" * 3)
    assert reading.read(tmp_path / "t.csv").subjects == ("007", "7")


@pytest.mark.parametrize("code", [-999, -1, 0, 999, 9999])
@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_codes_for_no_time_are_left_out_and_the_unit_is_that_of_most_times(code, unit):
    rng, _, right, correct = signed()
    rt = (0.3 + rng.gamma(2, 0.2, 300)) * unit
    if code == 999 and unit == 1000:
        pytest.skip("999 ms is a time")
    rt[::10] = code
    result = reading.read({"choice": right.astype(int), "correct": correct, "rt": rt})
    times = result.join("rt")
    assert np.isnan(times[::10]).all() and 0.2 < np.nanmin(times) and np.nanmax(times) < 5
    assert any("reaction time" in reason for reason in result.reading.left_out)


def test_times_below_zero_are_missing_and_those_with_the_sign_of_the_choice_are_not():
    rng, _, right, _ = signed()
    rt = 0.3 + rng.gamma(2, 0.2, 300)
    table = {"choice": right.astype(int), "reward": right, "rt": np.where(np.arange(300) == 5, -0.12, rt)}
    assert np.isnan(reading.read(table).join("rt")[5]) and np.isfinite(reading.read(table).join("rt")).sum() == 299
    both = reading.read({"response": right.astype(int), "reward": right, "rt": np.where(right, rt, -rt)})
    np.testing.assert_allclose(both.join("rt"), rt)


def test_an_empty_stimulus_leaves_one_trial_out_with_a_count():
    _, stimulus, right, correct = signed()
    stimulus = stimulus.astype(object)
    stimulus[7] = None
    result = reading.read({"choice": right.astype(int), "correct": correct, "contrast": stimulus})
    assert result.join("choice")[7] == -1 and result.n_trials == 300
    assert any("without contrast" in reason for reason in result.reading.left_out)


def test_a_single_choice_is_described_as_far_as_possible():
    from neurogym.behaviour.describe import describe

    result = reading.read({"choice": ["left"] * 60, "correct": [1, 0] * 30})
    assert describe(result)[0].accuracy.value == 0.5 and "at least two choices" in notes_of(result)


def test_accuracy_below_one_half_is_said_and_nothing_is_changed():
    _, stimulus, right, correct = signed()
    result = reading.read({"choice": right.astype(int), "correct": ~correct, "contrast": stimulus})
    assert "other way round" in notes_of(result)
    np.testing.assert_array_equal(result.join("correct"), ~correct)


@pytest.mark.parametrize("words", [("face", "house"), ("house", "face")])
def test_the_sign_of_a_stimulus_is_turned_if_choices_fall_with_it(words):
    _, stimulus, right, correct = signed()
    result = reading.read({"response": np.where(right, words[1], words[0]), "accuracy": correct, "morph": stimulus})
    evidence, choice = result.join("stimuli")[:, 0], result.join("choice")
    assert np.corrcoef(evidence, choice)[0, 1] > 0.5
    turned = words[1] == "face"
    assert result.stimuli == (("-morph",) if turned else ("morph",))
    assert ("sign is turned" in notes_of(result)) == turned


def test_keys_that_are_not_allowed_are_no_answers():
    _, stimulus, right, correct = signed()
    keys = np.where(right, "j", "f").astype(object)
    keys[[3, 50]] = "space"
    result = reading.read({"response": keys, "correct": correct, "coherence": stimulus})
    assert result.choices == ("f", "j") and np.flatnonzero(result.join("choice") < 0).tolist() == [3, 50]


def test_sessions_of_blocks_and_restarting_trials_are_said():
    rows = {
        "subject": [1] * 40,
        "block": np.repeat([1, 2], 20),
        "trial": list(range(20)) * 2,
        "choice": [0, 1] * 20,
        "reward": [1, 0, 0, 1] * 10,
    }
    result = reading.read(rows)
    assert len(result.sessions) == 2 and "block is read as a session" in notes_of(result)
    rows["trial"] = list(range(40))
    result = reading.read(rows)
    assert len(result.sessions) == 1 and "--session block" in notes_of(result)


def test_sessions_of_single_trials_among_long_ones_are_said():
    rows = {"session": [1] * 40 + [2, 3, 4], "choice": [0, 1] * 20 + [1, 1, 1], "reward": [1, 0, 0, 1] * 10 + [1, 1, 1]}
    assert "3 of 4 sessions have fewer than 5 trials" in notes_of(reading.read(rows))


def test_sides_are_the_correct_choice_only_where_choices_depend_on_them():
    rng, stimulus, right, _ = signed()
    words = {"choice": np.where(right, "right", "left"), "side": np.where(stimulus > 0, "right", "left")}
    result = reading.read({**words, "coh": np.abs(stimulus)})
    assert result.roles["ground_truth"] == "side" and result.stimuli == ("signed coh",)
    random = {"choice": right.astype(int), "side": rng.integers(0, 2, 300), "outcome": rng.choice([-1, 1], 300)}
    assert "ground_truth" not in reading.read(random).roles


def test_screens_of_jspsych_are_left_out_without_correct_responses_as_well():
    _, _stimulus, right, _ = signed(100)
    rows = [{"trial_type": "survey-text", "trial_index": 0, "time_elapsed": 1, "response": {"Q0": "23"}, "rt": 5000}]
    for k in range(100):
        common = {"time_elapsed": k, "stimulus": "+"}
        rows.append({**common, "trial_type": "html-keyboard-response", "trial_index": 2 * k + 1, "response": None})
        answer = {"trial_index": 2 * k + 2, "response": int(right[k]), "rt": 500 + 37 * k % 100, "stimulus": "a.png"}
        rows.append({**common, "trial_type": "image-button-response", **answer})
    result = reading.read(rows)
    assert (
        result.n_trials == 100 and (result.join("choice") >= 0).all() and sum(result.reading.left_out.values()) == 101
    )


def test_gains_and_losses_are_kept_apart_and_losses_are_negative():
    table = {"subjID": [1] * 40, "choice": [1, 2, 3, 4] * 10, "gain": [50, 100] * 20, "loss": [0, 250] * 20}
    result = reading.read(table)
    assert result.roles["gain"] == "gain" and set(result.join("loss")) == {0.0, -250.0}
    np.testing.assert_array_equal(result.join("reward"), result.join("gain") + result.join("loss"))


def test_second_stages_of_four_choices_say_the_state():
    table = {
        "subjID": [1] * 40,
        "level1_choice": [1, 2] * 20,
        "level2_choice": [1, 2, 3, 4] * 10,
        "reward": [0, 1] * 20,
    }
    result = reading.read(table)
    assert result.join("state")[:4].tolist() == [0, 0, 1, 1] and result.join("choice2")[:4].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"choice,reward\n1,1e308\n2,0\n" * 1, ["'reward'", "row 1", "finite"]),
        (b"\x00\x01\x02binary", ["binary"]),
        (b"# only a comment\n", ["no rows"]),
    ],
)
def test_damaged_files_are_refused_in_one_line(tmp_path, content, words):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(reading.TableError) as error:
        reading.read(tmp_path / "t.csv")
    assert all(word in str(error.value) for word in words), error.value
    assert "\n" not in str(error.value)


def test_comments_short_lines_latin_1_and_a_decimal_comma_are_read_with_counts(tmp_path):
    trials = ["Mäuschen;links;-0,5;1", "Mäuschen;rechts;0,5;1"] * 30
    lines = ["# Labor", "Tier;Wahl;contrast;correct", *trials, "# Ende", "kurz;"]
    (tmp_path / "t.csv").write_bytes("\r\n".join(lines).encode("latin-1"))
    result = reading.read(tmp_path / "t.csv", {"subject": "Tier", "choice": "Wahl"})
    assert result.subjects == ("Mäuschen",) and result.join("stimuli")[0, 0] == -0.5 and result.n_trials == 60
    assert result.reading.left_out == {"lines (the first is line 64) with 2 of 4 entries": 1, "lines of comments": 2}


@pytest.mark.parametrize(
    "source",
    [
        3,
        [],
        {},
        {"choice": []},
        [{"choice": {"a": 1}}],
        {"choice": [1, 2], "reward": [1]},
        {"choice": [[1, 2], [3, 4]]},
    ],
)
def test_what_is_no_table_is_refused(source):
    with pytest.raises(reading.TableError):
        reading.read(source)


def test_a_doubtful_unit_and_a_second_column_of_answers_are_asked():
    _rng, stimulus, right, _correct = signed()
    table = {"choice": right * 1, "coh": stimulus, "rt": np.arange(300) * 7 % 40 + 45}
    with pytest.raises(reading.TableError, match=r"come within.*'seconds=`rt`/100' --rt seconds .* or .*--rt rt"):
        reading.read(table)
    read = reading.read(table, {"rt": "rt"})
    assert read.join("rt")[0] == pytest.approx(0.045)
    read = reading.read(table, {"rt": "seconds"}, derive=["seconds=`rt`/100"])
    assert read.join("rt")[0] == pytest.approx(0.45) and not read.reading.notes
    cards = {"chosen_side": ["l", "r", "r"] * 100, "chosen_card": ["blue", "red"] * 150, "won": np.arange(300) % 2}
    with pytest.raises(reading.TableError, match=r"--choice chosen_side .* or --choice chosen_card"):
        reading.read(cards)
    assert reading.read(cards, {"choice": "chosen_card"}).choices == ("blue", "red")


def test_frames_that_would_be_half_a_minute_are_asked():
    rng, stimulus, right, _ = signed()
    seconds = 0.2 + rng.gamma(3, 0.06, 300)
    table = {"choice": right * 1, "contrast": stimulus, "rt": 60 * seconds}
    formula = next(answer[1] for answer in answers_of(table, match="come after") if "/60" in answer[1])
    np.testing.assert_allclose(reading.read(table, {"rt": "seconds"}, derive=[formula]).join("rt"), seconds)


def test_formulas_look_back_within_a_session():
    """Sessions are those that the table says, and where it says none, trial numbers that fall; rows may be shuffled."""
    table = {
        "subject": ["a"] * 6 + ["b"] * 3,
        "trial": [1, 2, 3, 1, 2, 3, 1, 2, 3],
        "choice": ["l", "r", "r", "l", "l", "r", "r", "l", "r"],
        "reward": [1, 0, 1, 0, 1, 1, 0, 0, 1],
    }
    nan = np.nan
    expected = {
        "previous(reward)": [nan, 1, 0, nan, 0, 1, nan, 0, 0],
        "previous(reward, 2)": [nan, nan, 1, nan, nan, 0, nan, nan, 0],
        "previous(choice == 'l')": [nan, 1, 0, nan, 1, 1, nan, 0, 1],
        "previous(choice) == 'l'": [nan, 1, 0, nan, 1, 1, nan, 0, 1],
        "since(reward == 1)": [0, 1, 0, nan, 0, 0, nan, nan, 0],
        "count(reward)": [1, 1, 2, 0, 1, 2, 0, 0, 1],
        "2*previous(reward)-1": [nan, 1, -1, nan, -1, 1, nan, -1, -1],
    }
    for formula, values in expected.items():
        read = reading.read(table, derive={"x": formula}, keep=["x"])
        assert [len(each) for each in read.sessions] == [3, 3, 3]
        np.testing.assert_array_equal(read.condition("x"), values, formula)
    assert reading.read(table, where=["previous(reward) == 1"]).n_trials == 2
    shuffled = np.random.default_rng(0).permutation(9)
    numbered = {**table, "session": [1, 1, 1, 2, 2, 2, 1, 1, 1]}
    mixed = {name: [values[k] for k in shuffled] for name, values in numbered.items()}
    read = reading.read(mixed, derive={"x": "previous(reward)"}, keep=["x"])
    np.testing.assert_array_equal(read.condition("x"), expected["previous(reward)"])


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("previous(choice)", "'choice' holds words"),
        ("previous(reward, 0)", "expected 1 or more"),
        ("previous(rewrd)", "did you mean 'reward'"),
        ("count()", "previous, since, count"),
    ],
)
def test_mistakes_in_formulas_that_look_back_are_explained(formula, words):
    with pytest.raises(reading.TableError, match=re.escape(words)):
        reading.read({"choice": ["l", "r"], "reward": [0, 1]}, derive={"x": formula})


def test_conditions_and_formulas():
    _rng, stimulus, right, correct = signed()
    table = {"side": np.where(right, "R", "L"), "hit": correct, "size": np.abs(stimulus)}
    table |= {"task": ["main", "extra"] * 150, "where": np.where(stimulus > 0, "r", "l")}
    result = reading.read(
        table, {"choice": "side", "stimuli": ["x"]}, where=["task == main"], derive=["x=size*(2*(where=='r')-1)"]
    )
    assert result.n_trials == 150
    np.testing.assert_allclose(result.join("stimuli")[:, 0], stimulus[::2])
    for condition in ("task == mian", "tsk == main", "task < 3", "task == main and size > 0"):
        with pytest.raises(reading.TableError):
            reading.read(table, where=[condition])
    for formula in ("x", "x=task+1", "x=__import__('os')", "x=size.real", "x=[1]", "x=size**"):
        with pytest.raises(reading.TableError):
            reading.read(table, derive=[formula])


@pytest.mark.parametrize("rows", [1, 3])
def test_a_table_of_very_many_columns_is_refused_at_once(tmp_path, rows):
    header = ",".join(f"c{k}" for k in range(200_000))
    (tmp_path / "t.csv").write_text("\n".join([header, *[",".join(["1"] * 200_000)] * rows]))
    before = time.process_time()
    with pytest.raises(reading.TableError, match="at most 10,000"):
        reading.read(tmp_path / "t.csv")
    assert time.process_time() - before < 5


def test_two_million_trials_would_fit(tmp_path):
    """A tenth of two million: under a second of processor time for each hundred thousand rows."""
    import pyarrow as pa
    from pyarrow import csv

    rng, n = np.random.default_rng(0), 200_000
    columns = {
        "subject": np.repeat(np.arange(20), n // 20),
        "trial": np.tile(np.arange(1000), n // 1000),
        "signed": rng.choice([-1, -0.5, 0.5, 1], n),
        "choice": rng.choice(["l", "r"], n),
        "correct": rng.integers(0, 2, n),
        "rt": rng.gamma(2, 0.3, n),
    }
    csv.write_csv(pa.table(columns), tmp_path / "t.csv")
    before = time.process_time()
    assert reading.read(tmp_path / "t.csv").n_trials == n
    assert time.process_time() - before < 2


def test_a_row_of_many_columns_takes_few_bytes(tmp_path):
    """Two million rows of nine columns fit into 1 GB: at most 220 bytes a row beyond those of pyarrow."""
    import tracemalloc

    import pyarrow as pa
    from pyarrow import csv

    rng, n = np.random.default_rng(0), 100_000
    side, size = rng.random(n) < 0.5, rng.choice([0, 0.125, 0.25, 1], n)
    columns = {
        "subject": np.repeat(np.arange(20), n // 20),
        "trial": np.tile(np.arange(1000), n // 1000),
        "contrastLeft": np.where(side, size, np.nan),
        "contrastRight": np.where(side, np.nan, size),
        "choice": rng.choice([-1, 1], n),
        "feedbackType": rng.choice([-1, 1], n),
        "rewardVolume": rng.choice([0, 1.5], n),
        "probabilityLeft": rng.choice([0.2, 0.8], n),
        "rt": rng.gamma(2, 0.3, n),
    }
    csv.write_csv(pa.table(columns), tmp_path / "t.csv")
    tracemalloc.start()
    try:
        assert reading.read(tmp_path / "t.csv").n_trials == n
        assert tracemalloc.get_traced_memory()[1] < 220 * n
    finally:
        tracemalloc.stop()
