"""Tables of behaviour: roles, misses, sessions, and errors with column, row, found and expected."""

import json
from pathlib import Path

import numpy as np
import pytest

from neurogym.behaviour import reading
from neurogym.behaviour.describe import describe
from neurogym.behaviour.table import Behaviour, session
from tests.neurogym.behaviour import laboratories

DATA = Path(__file__).parents[3] / "experiments" / "data"


def write(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    return path


def test_roles_of_the_rat_are_guessed():
    rat = reading.read(DATA / "akrami_2018_rat_w053.csv")
    assert (len(rat.sessions), rat.n_trials, rat.choices, rat.stimuli) == (36, 10149, ("left", "right"), ("s1", "s2"))
    first = rat.sessions[0]
    np.testing.assert_array_equal(first.truth[:5], (first.stimuli[:5, 0] > first.stimuli[:5, 1]).astype(int))


def test_a_strength_without_side_gets_that_of_the_correct_choice():
    monkeys = reading.read(DATA / "roitman_shadlen_2002.csv")
    assert monkeys.subjects == ("1", "2")
    evidence, choice, correct = (monkeys.join(name) for name in ("stimuli", "choice", "correct"))
    sides = np.where(choice == 1, 1, -1) * np.where(correct == 1, 1, -1)
    np.testing.assert_array_equal(np.sign(evidence[:, 0]), np.where(evidence[:, 0] == 0, 0, sides))
    assert 0.3 < np.median(monkeys.join("rt")) < 1


def test_misses_keep_their_place_and_trials_their_order(tmp_path):
    path = write(tmp_path, "mouse,trial,side,reward\nA,2,R,1\nA,1,L,0\nA,3,,0\nB,1,miss,0\nB,2,L,1\n")
    table = reading.read(path)
    assert table.subjects == ("A", "B")
    np.testing.assert_array_equal(table.sessions[0].choice, [0, 1, -1])
    np.testing.assert_array_equal(table.sessions[0].reward, [0, 1, 0])
    np.testing.assert_array_equal(table.sessions[1].choice, [-1, 0])


def test_words_of_any_alphabet_are_choices_and_columns_of_lists_are_left_out(tmp_path):
    (tmp_path / "t.csv").write_text("choice,correct\n左,1\n右,0\n-,0\n", encoding="utf-8")
    table = reading.read(tmp_path / "t.csv")
    assert table.choices == ("左", "右") and table.join("choice").tolist() == [0, 1, -1]
    lists = np.array([[1, 2], [3], [4]], dtype=object)
    table = reading.read({"choice": np.array([0, 1, 0]), "correct": np.array([1, 0, 1]), "spikes": lists})
    assert table.unused == ()


@pytest.mark.parametrize(
    ("text", "settings", "words"),
    [
        ("choice,correct\nleft,1\nright,maybe\n", {}, ["'correct'", "row 2", "'maybe'", "0 or 1"]),
        ("choice,s1,correct\na,1,1\nb,loud,0\na,2,1\na,3,1\n", {}, ["'s1'", "row 2", "'loud'", "a number"]),
        ("choice,correct\nleft,1\nright,1\n", {"reward": "rewrad"}, ["rewrad"]),
        ("choice,side,correct\nleft,a,1\nright,b,1\n", {"choise": "side"}, ["choise", "choice"]),
        ("x,y\n1.5,2\n3.5,4\n", {}, ["no column of choices", "x, y", "--choice"]),
        ("choice,correct\n", {}, ["no rows"]),
    ],
)
def test_a_bad_table_gets_one_line(tmp_path, text, settings, words):
    with pytest.raises(reading.TableError) as error:
        reading.read(write(tmp_path, text), settings)
    for word in words:
        assert word in str(error.value)
    assert "\n" not in str(error.value)


def test_a_column_map_as_for_comparisons_is_read():
    import tomllib

    columns = tomllib.loads((DATA / "roitman_shadlen_2002.toml").read_text())
    table = reading.read(DATA / "roitman_shadlen_2002.csv", columns=columns)
    assert table.stimuli == ("signed coh",) and np.abs(table.join("stimuli")).max() == pytest.approx(51.2)


def test_parquet_and_nwb_give_what_csv_gives(tmp_path):
    import h5py
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"choice": ["left", "right", "left"], "correct": [1, 0, 1], "coh": [0.1, -0.2, 0.3]}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    with h5py.File(tmp_path / "t.nwb", "w") as file:
        group = file.create_group("intervals/trials")
        group["id"] = np.arange(3)
        for name, values in columns.items():
            group[name] = values
    tables = [reading.read(tmp_path / name) for name in ("t.parquet", "t.nwb")]
    for table in tables:
        np.testing.assert_array_equal(table.join("choice"), [0, 1, 0])
        np.testing.assert_allclose(table.join("stimuli")[:, 0], columns["coh"])


def test_bias_lapses_and_history_are_found():
    rng = np.random.default_rng(0)
    sessions = []
    for k in range(12):
        stimulus, choice = rng.choice([-2, -1, -0.5, 0.5, 1, 2], 500) * 1.5, np.zeros(500, int)
        for t in range(500):
            before = 0 if t == 0 else 2 * choice[t - 1] - 1
            p = 1 / (1 + np.exp(-(0.5 + 1.5 * stimulus[t] + 0.8 * before)))
            choice[t] = rng.random() < p
        correct = choice == (stimulus > 0)
        sessions.append(session(choice, name=str(k), correct=correct, reward=correct, stimuli=stimulus[:, None]))
    estimate = describe(Behaviour(tuple(sessions), ("left", "right"), ("s",)))[0]
    assert 0.8 in estimate.history["choice, 1 back"] and 0.0 in estimate.history["choice x outcome, 1 back"]
    assert 1.5 in estimate.history["s"] and 0.5 in estimate.history["bias"]
    assert estimate.lapse_low.value < 0.05 and estimate.lapse_high.value < 0.05
    assert estimate.psychometric.n.sum() == 6000


def test_a_stimulus_named_like_a_role_is_not_read_as_the_role():
    table = {"choice": np.array([0, 1, 0, 1]), "correct": np.array([1, 1, 0, 1]), "rt": np.array([5.0, 6.0, 7.0, 8.0])}
    result = reading.read(table, {"stimuli": ["rt"]})
    assert result.stimuli == ("rt",) and np.isnan(result.join("rt")).all()


@pytest.mark.parametrize("n", [30, 400])
def test_a_strength_gets_its_side_whatever_chance_has_it_correlate_with(n):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        strength, side = rng.choice([0.1, 0.3, 0.6], n), rng.choice(["left", "right"], n)
        columns = {"response": side, "correct_side": side, "strength": strength}
        stimuli = reading.read(columns).join("stimuli")[:, 0]
        np.testing.assert_array_equal(stimuli, np.where(side == "right", strength, -strength))


def test_a_number_that_says_the_side_itself_keeps_its_sign():
    rng = np.random.default_rng(0)
    frequency = rng.choice([8.0, 10.0, 14.0, 16.0], 200)
    side = np.where(frequency > 12, "right", "left")
    columns = {"response": side, "correct_side": side, "frequency": frequency}
    np.testing.assert_array_equal(reading.read(columns).join("stimuli")[:, 0], frequency)


def foreign(n=200):
    rng = np.random.default_rng(0)
    contrast = rng.choice([-0.5, -0.1, 0.1, 0.5], n)
    word = np.where(rng.random(n) < 1 / (1 + np.exp(8 * contrast)), "oikea", "vasen")
    return {"Rotta": np.repeat(["R1", "R2"], n // 2), "Ero": contrast, "Vastaus": word}


def test_columns_of_another_language_are_asked_for_and_not_taken_for_others():
    with pytest.raises(reading.TableQuestion, match="--choice Vastaus"):
        reading.read(foreign())
    with pytest.raises(reading.TableQuestion, match="--subject Rotta"):
        reading.read(foreign(), {"choice": "Vastaus"})
    table = reading.read(foreign(), {"choice": "Vastaus", "subject": "Rotta"})
    assert table.subjects == ("R1", "R2") and "--stimuli Ero" in laboratories.notes_of(table)
    assert not reading.read(foreign(), {"choice": "Vastaus", "subject": "Rotta", "stimuli": ["Ero"]}).reading.notes


def test_german_french_and_spanish_words_are_read():
    d = laboratories.detection(np.random.default_rng(0), sessions=1, misses=0)
    for names, yes, no, sides in (
        (("Versuchsperson", "Kontrast", "Antwort", "Richtig", "Reaktionszeit"), "ja", "nein", ("links", "rechts")),
        (("sujet", "contraste", "réponse", "correct", "temps de réaction"), "oui", "non", ("gauche", "droite")),
        (
            ("participante", "contraste", "respuesta", "correcto", "tiempo de reacción"),
            *("sí", "no", ("izquierda", "derecha")),
        ),
    ):
        correct = np.where(d.correct, yes, no)
        table = reading.read(
            dict(zip(names, (d.subject, d.signed, np.where(d.right, *sides[::-1]), correct, d.seconds), strict=True))
        )
        assert table.choices == sides and len(table.subjects) == 2 and table.stimuli == (names[1],)
        assert np.nanmean(table.join("correct")) == pytest.approx(d.correct.mean())
        assert np.median(table.join("rt")) == pytest.approx(np.median(d.seconds))


def test_two_columns_that_may_be_the_choice_are_both_named():
    rng = np.random.default_rng(0)
    columns = {"vari": rng.choice(["rot", "blau"], 50), "paikka": rng.choice(["oben", "unten"], 50), "x": range(50)}
    with pytest.raises(reading.TableQuestion, match=r"--choice vari .* or --choice paikka"):
        reading.read(columns)


def test_a_side_in_words_beside_an_answer_in_words_is_not_offered_alone_as_the_choice():
    rng = np.random.default_rng(0)
    target = rng.choice(["T1", "T2"], 60)
    saccade = np.where(rng.random(60) < 0.2, "T1", target)
    with pytest.raises(reading.TableQuestion, match=r"--choice Saccade .* or --choice Target"):
        reading.read({"Target": target, "Saccade": saccade})
    table = reading.read({"Target": target, "Saccade": saccade}, {"choice": "Saccade"})
    np.testing.assert_array_equal(table.join("correct"), target == saccade)
    table = reading.read({"Better": target, "Saccade": saccade}, {"choice": "Saccade"})
    assert "Better has the entries of the choice: --ground-truth Better" in laboratories.notes_of(table)


def test_a_german_side_and_a_strength_without_side_are_one_stimulus():
    rng = np.random.default_rng(0)
    strength, side = rng.choice([0, 0.1, 0.4], 300), rng.choice(["links", "rechts"], 300)
    wrong = rng.random(300) > 0.6 + strength
    answer = np.where(wrong, np.where(side == "links", "rechts", "links"), side)
    table = reading.read({"Vp": np.ones(300, int), "Reiz": side, "Stärke": strength, "Antwort": answer})
    evidence = table.join("stimuli")[:, 0]
    np.testing.assert_array_equal(evidence, np.where(side == "rechts", strength, -strength))
    assert not np.signbit(evidence[evidence == 0]).any() and np.nanmean(table.join("correct")) == np.mean(~wrong)


def test_a_table_with_a_row_for_a_game_is_refused_with_a_way_on():
    games = {f"{letter}{k}": np.arange(60) for k in range(1, 6) for letter in "cr"}
    with pytest.raises(reading.TableError, match=r"c1 to c5, which look like a trial each.* r=frame\[f'r\{k\}'\]"):
        reading.read({"Subject": np.ones(60), "gameLength": np.full(60, 5), **games})


def two_monkeys(factor_of_b, n=200):
    rng = np.random.default_rng(1)
    evidence = rng.choice([-0.5, -0.25, 0.1, 0.25, 0.5], 2 * n)
    right = rng.random(2 * n) < 1 / (1 + np.exp(-8 * evidence))
    monkey = np.repeat(["A", "B"], n)
    factor = np.where(monkey == "B", factor_of_b, 1)
    return {"monkey": monkey, "coh": evidence * factor, "choice": np.where(right, "right", "left")}, evidence


@pytest.mark.parametrize(
    ("factor", "seen", "changed"),
    [(100, "at most 0.5 in A and up to 50 in B", 100), (-1, "rise with coh in A and fall in B", 1)],
)
def test_another_unit_or_sign_of_one_subject_is_asked(factor, seen, changed):
    columns, evidence = two_monkeys(factor)
    with pytest.raises(reading.TableQuestion, match=seen) as asked:
        reading.read(columns)
    _, formula, _, stimuli = asked.value.answers[0].options
    table = reading.read(columns, {"stimuli": [stimuli]}, derive=[formula])
    assert abs(table.join("stimuli")[:, 0]) == pytest.approx(abs(changed * evidence))
    assert np.corrcoef(table.join("stimuli")[:, 0], evidence)[0, 1] ** 2 == pytest.approx(1)
    assert reading.read(columns, {"stimuli": ["coh"]}).stimuli == ("coh",)  # named: as it is
    reading.read(two_monkeys(1)[0])


def test_a_time_in_words_is_not_left_unread_in_silence():
    columns, _ = two_monkeys(1)
    table = reading.read({**columns, "rt": [f"{k} ms" for k in range(300, 700)]})
    assert "rt is named like a time and is not read" in laboratories.notes_of(table)


def test_durations_of_data_frames_are_seconds(tmp_path):
    pandas = pytest.importorskip("pandas")
    columns, _ = two_monkeys(1)
    seconds = np.random.default_rng(0).uniform(0.3, 0.9, 400)
    frame = pandas.DataFrame({**columns, "rt": pandas.to_timedelta(seconds, unit="s")})
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet"):
        assert reading.read(source).join("rt") == pytest.approx(seconds, abs=1e-6)


def test_what_may_be_the_same_subject_and_fractions_in_words_are_said(tmp_path):
    columns, evidence = two_monkeys(1)
    fractions = np.where(evidence > 0, "1/4", "-1/4")
    table = reading.read({"rat": np.repeat(["01", "1"], 200), "contrast": fractions, "choice": columns["choice"]})
    said = laboratories.notes_of(table)
    assert "subjects '01', '1' may be the same" in said and "1/4, as numbers" in said
    rows = "".join(
        f"a,{round(8 * abs(value))},{side}\n" for value, side in zip(evidence, columns["choice"], strict=True)
    )
    notes = " ".join(reading.read(write(tmp_path, f"rat,offer,choice\n{rows}")).reading.notes)
    assert "the same" not in notes and "fractions" not in notes


def test_data_of_a_trial_in_json_are_columns_of_it(tmp_path):
    columns, evidence = two_monkeys(1)
    rows = [{"choice": side, "data": {"coh": value}} for side, value in zip(columns["choice"], evidence, strict=True)]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    table = reading.read(tmp_path / "t.json", {"stimuli": ["data.coh"]})
    np.testing.assert_array_equal(table.join("stimuli")[:, 0], evidence)


def test_a_flag_of_errors_is_offered_as_the_opposite_of_correct():
    columns, evidence = two_monkeys(1)
    wrong = (columns["choice"] == "right") != (evidence > 0)
    table = reading.read({**columns, "error": wrong.astype(int)})
    assert "--derive right=1-error --correct right" in laboratories.notes_of(table)
    table = reading.read({**columns, "error": wrong.astype(int)}, {"correct": "right"}, derive=["right=1-error"])
    np.testing.assert_array_equal(table.join("correct"), ~wrong)


@pytest.mark.parametrize(("one", "words"), [("left", ("left", "right")), ("right", ("-1", "1"))])
def test_one_beside_contrasts_is_a_turn_of_the_wheel_unless_choices_follow_the_other_side(one, words):
    _, evidence = two_monkeys(1)
    right = np.random.default_rng(0).random(len(evidence)) < 1 / (1 + np.exp(-8 * evidence))
    choice = np.where(right == (one == "right"), 1, -1)
    sides = {"contrast_left": np.maximum(-evidence, 0), "contrast_right": np.maximum(evidence, 0)}
    table = reading.read({"mouse": np.ones(len(choice), int), **sides, "choice": choice})
    assert table.choices == words and not any("is turned" in note for note in table.reading.notes)
    np.testing.assert_array_equal(table.join("choice"), right)


def test_flags_of_hits_and_false_alarms_give_response_correctness_and_signal():
    rng = np.random.default_rng(0)
    signal, pressed, aborted = rng.random(300) < 0.7, rng.random(300) < 0.6, np.arange(300) % 30 == 7
    flags = {
        "hit": signal & pressed & ~aborted,
        "miss": signal & ~pressed & ~aborted,
        "false_alarm": ~signal & pressed & ~aborted,
        "correct_reject": ~signal & ~pressed & ~aborted,
    }
    table = reading.read({"mouse": np.ones(300, int), **flags})
    np.testing.assert_array_equal(table.join("choice"), np.where(aborted, -1, pressed))
    np.testing.assert_array_equal(table.join("correct")[~aborted], (signal == pressed)[~aborted])
    np.testing.assert_array_equal(table.join("stimuli")[~aborted, 0], signal[~aborted])
    assert "response, correct, signal are derived from hit, miss" in laboratories.notes_of(table)
    named = reading.read({**flags, "lick": pressed.astype(int)}, {"choice": "lick"})
    assert not any("derived from hit" in note for note in named.reading.notes)


def test_folders_of_subjects_and_of_days_are_told_apart(tmp_path):
    for who in ("ada", "bob"):
        for day in ("2024-01-01", "2024-01-02"):
            (tmp_path / "a" / who / day).mkdir(parents=True)
            (tmp_path / "b" / day / who).mkdir(parents=True)
            for path in (tmp_path / "a" / who / day, tmp_path / "b" / day / who):
                rows = np.random.default_rng(len(list(tmp_path.rglob("*")))).integers(0, 2, (40, 2))
                np.savetxt(path / "trials.csv", rows, "%d", ",", header="choice,reward", comments="")
    table = reading.read(tmp_path / "a")
    assert table.subjects == ("ada", "bob") and len(table.sessions) == 4
    assert "each folder (ada, bob) is read as a subject" in laboratories.notes_of(table)
    assert len(reading.read(tmp_path / "a", {"subject": None}).subjects) == 1
    assert not {"2024-01-01"} & set(reading.read(tmp_path / "b", {"subject": None}).subjects)


def test_columns_of_files_that_differ_in_capitals_only_are_one(tmp_path):
    for name, header, late in (("s1", "Choice,RT", 0.6), ("s2", "choice,rt", 0.7)):
        (tmp_path / f"{name}.csv").write_text(f"{header}\n" + f"left,0.5\nright,{late}\n" * 10)
    table = reading.read(tmp_path)
    assert table.n_trials == 40 and np.isfinite(table.join("rt")).all() and (table.join("choice") >= 0).all()
