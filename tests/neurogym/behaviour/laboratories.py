"""Tables as laboratories and programs write them, made from simulated behaviour whose parameters are known."""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neurogym.behaviour import reading
from neurogym.behaviour.table import Behaviour

Rng = np.random.Generator
Table = dict[str, Any]

BIAS, SLOPE, LAPSE = 0.2, 4.0, 0.04
LEVELS = np.array([-1, -0.5, -0.25, -0.125, 0, 0.125, 0.25, 0.5, 1])


@dataclass
class Detection:
    """Left or right decisions of two subjects in sessions; evidence is positive for the right."""

    subject: np.ndarray
    session: np.ndarray
    trial: np.ndarray
    signed: np.ndarray
    right: np.ndarray
    missed: np.ndarray
    correct: np.ndarray
    seconds: np.ndarray
    target: np.ndarray


@dataclass
class Made:
    """Table and what a reader should find in it; ``given`` are the roles without which the reader asks."""

    source: Any
    roles: dict[str, object]
    subjects: int = 2
    sessions: int = 4
    misses: int | None = None
    rows: int | None = None
    absent: tuple[str, ...] = ()
    means: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    given: dict[str, str] = field(default_factory=dict)


def roles_of(text: str) -> dict[str, object]:
    """Return roles written as in ``subject=id choice=response stimuli=a,b``."""
    roles: dict[str, object] = dict(each.split("=") for each in text.split())
    return roles | {"stimuli": tuple(filter(None, str(roles["stimuli"]).split(",")))} if "stimuli" in roles else roles


def notes_of(table: Behaviour) -> str:
    """Return the notes of a table that was read, as one text."""
    return " ".join(table.reading.notes)


def answers_of(source: Any, given: Any = None, match: str | None = None, **options: Any) -> list[tuple[str, ...]]:
    """Return the options of each answer to the question that a table raises."""
    with pytest.raises(reading.TableQuestion, match=match) as asked:
        reading.read(source, given, **options)
    return [answer.options for answer in asked.value.answers]


def column_and_role(name: str) -> tuple[str, str]:
    """Split a name as in ``coh > stimuli``; ``choice >`` has the name of its role, and a bare name has none."""
    column, marked, role = name.partition(" >")
    return column, role.strip() or column * bool(marked)


def roles_in(table: Table, more: str = "") -> dict[str, object]:
    """Return the roles that stand in the names of columns, and more written as for `roles_of`."""
    roles: dict[str, object] = dict(each.split("=") for each in more.split())
    for column, role in map(column_and_role, table):
        roles |= {role: (*roles.get(role, ()), column) if role == "stimuli" else column} if role else {}
    return roles | roles_of(more)


def detection(rng: Rng, sessions: int = 2, trials: int = 150, misses: float = 0.03) -> Detection:
    """Simulate two subjects with the parameters of this module."""
    n = 2 * sessions * trials
    signed = rng.choice(LEVELS, n)
    p = LAPSE / 2 + (1 - LAPSE) / (1 + np.exp(-(BIAS + SLOPE * signed)))
    right = rng.random(n) < p
    target = np.where(signed == 0, rng.random(n) < 0.5, signed > 0)
    missed = rng.random(n) < misses
    return Detection(
        np.repeat([0, 1], sessions * trials),
        np.tile(np.repeat(np.arange(sessions), trials), 2),
        np.tile(np.arange(trials), 2 * sessions),
        signed,
        right,
        missed,
        (right == target) & ~missed,
        0.25 + rng.gamma(2, 0.15, n),
        target,
    )


def write_csv(path: Path, table: Table, separator: str = ",", missing: str = "", **form: Any) -> Path:
    """Write columns as text; None and nan become the mark of a missing entry."""
    decimal, ending = form.get("decimal", "."), form.get("ending", "\n")

    def word(value: Any) -> str:
        if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
            return missing
        text = str(value.item() if isinstance(value, np.generic) else value)
        return text.replace(".", decimal) if isinstance(value, float | np.floating) else text

    names = [column for column, _ in map(column_and_role, table)]
    rows = [separator.join(names), *(separator.join(map(word, row)) for row in zip(*table.values(), strict=True))]
    text = form.get("before", "") + ending.join(rows) + ending
    path.write_bytes(form.get("mark", b"") + text.encode(form.get("encoding", "utf-8")))
    return path


def made(d: Detection, source: Any, roles: dict[str, object], **expected: Any) -> Made:
    """Return a table of left and right decisions with what should be read."""
    answered = ~d.missed
    means = {}
    if {"correct", "ground_truth"} & set(roles):
        means["correct"] = float(d.correct[answered].mean())
    if "rt" in roles:
        means["rt"] = float(d.seconds[answered].mean())
    return Made(source, roles, misses=int(d.missed.sum()), means=means | expected.pop("means", {}), **expected)


def words(d: Detection, left: Any, right: Any, missed: Any) -> list[Any]:
    """Return the answers of a detection task in words."""
    return [missed if m else right if r else left for m, r in zip(d.missed, d.right, strict=True)]


class Tables:
    """Text files of left and right decisions: functions that make them, by name."""

    def __init__(self) -> None:
        self.makers: dict[str, Callable[[Path, Rng], Made]] = {}

    def add(self, name, file, more="", sessions=2, misses=0.03, form=None, **expected):
        """Add a function from decisions to columns; ``form`` is that of `write_csv`, the rest what a reader finds."""

        def add(columns: Callable[[Detection, Rng], Table]) -> Callable[[Path, Rng], Made]:
            def make(root: Path, rng: Rng) -> Made:
                d = detection(rng, sessions, misses=misses)
                table = columns(d, rng)
                path = write_csv(root / file, table, **(form or {}))
                return made(d, path, roles_in(table, more), sessions=2 * sessions, **expected)

            self.makers[name] = make
            return make

        return add


tables = Tables()


def ibl_columns(d: Detection) -> dict[str, np.ndarray]:
    """Return the columns of the International Brain Laboratory: choice 1 reports left, 0 is no answer."""
    size, side = np.abs(d.signed), d.target
    start = np.cumsum(np.full(len(size), 3.0))
    return {
        "contrastLeft": np.where(side, np.nan, size),
        "contrastRight": np.where(side, size, np.nan),
        "choice": np.where(d.missed, 0, np.where(d.right, -1, 1)),
        "feedbackType": np.where(d.correct, 1, -1),
        "rewardVolume": np.where(d.correct, 1.5, 0.0),
        "probabilityLeft": np.repeat([0.5, 0.2, 0.8], -(-len(size) // 3))[: len(size)],
        "stimOn_times": start,
        "firstMovement_times": start + d.seconds,
        "response_times": start + d.seconds + 0.1,
        "goCue_times": start,
        "feedback_times": start + d.seconds + 0.1,
        "intervals_0": start - 0.5,
        "intervals_1": start + 2,
    }


def ibl_folder(root: Path, rng: Rng, arrays: bool) -> Made:
    import pyarrow as pa
    from pyarrow import parquet

    d = detection(rng)
    columns = ibl_columns(d)
    for k in range(4):
        rows = (d.subject == k // 2) & (d.session == k % 2)
        folder = root / "lab" / "Subjects" / f"M{k // 2}" / f"2020-01-0{k % 2 + 1}" / "001" / "alf"
        folder.mkdir(parents=True)
        piece = {name: values[rows] for name, values in columns.items()}
        if arrays:
            for name, values in piece.items():
                np.save(folder / f"_ibl_trials.{name}.npy", values)
        else:
            parquet.write_table(pa.table(piece), folder / "_ibl_trials.table.pqt")
    roles = roles_of(
        "choice=choice correct=feedbackType reward=rewardVolume rt=rt subject=subject session=session "
        "stimuli=contrastRight-contrastLeft"
    )
    return Made(root, roles, misses=int(d.missed.sum()))


@tables.add("IBL, signed contrast", "ibl.csv")
def ibl_frame(d: Detection, rng: Rng) -> Table:
    return {
        "mouse > subject": np.array(["A", "B"])[d.subject],
        "session >": d.session + 1,
        "signed_contrast > stimuli": d.signed * 100,
        "choice >": np.where(d.missed, 0, np.where(d.right, -1, 1)),
        "feedbackType > correct": np.where(d.correct, 1, -1),
        "rt >": d.seconds,
    }


def bids(root: Path, rng: Rng) -> Made:
    d = detection(rng)
    for k in range(4):
        rows = (d.subject == k // 2) & (d.session == k % 2)
        folder = root / f"sub-0{k // 2 + 1}" / f"ses-{k % 2 + 1}" / "beh"
        folder.mkdir(parents=True)
        table = {
            "onset": np.arange(rows.sum()) * 3.0,
            "duration": np.full(rows.sum(), 2.0),
            "trial_type": np.where(d.target[rows], "right", "left"),
            "coherence > stimuli": d.signed[rows],
            "response > choice": [
                None if m else ("r" if r else "l") for m, r in zip(d.missed[rows], d.right[rows], strict=True)
            ],
            "response_time > rt": np.where(d.missed[rows], np.nan, d.seconds[rows]),
            "correct_response > ground_truth": np.where(d.target[rows], "r", "l"),
        }
        name = f"sub-0{k // 2 + 1}_ses-{k % 2 + 1}_task-dots_run-1_beh.tsv"
        write_csv(folder / name, table, "\t", "n/a")
    (root / "participants.tsv").write_text("participant_id\tage\tgroup\nsub-01\t20\tcontrol\nsub-02\t30\tpatient\n")
    return Made(root, roles_in(table, "subject=subject session=session"), misses=int(d.missed.sum()))


def jspsych_rows(rng: Rng) -> tuple[list[Table], int]:
    """Return screens of two people: instructions, practice, fixation, stimulus; and the number of missed trials."""
    d, rows = detection(rng, sessions=1), []

    def screen(task: str, stimulus: str, rt: int | None, response: str | None, **more: Any) -> None:
        index = sum(row["subject"] == f"p{who}" for row in rows)
        place = {"trial_type": "html-keyboard-response", "trial_index": index, "time_elapsed": index}
        shown = {"rt": rt, "response": response, "stimulus": stimulus, "task": task}
        empty = dict.fromkeys(("correct_response", "correct", "coherence"))
        rows.append({"subject": f"p{who}", **place, **shown, **empty, **more})

    for who in (0, 1):
        for text in ("Welcome", "Press f or j"):
            screen("instructions", f"<p>{text}</p>", 5321, " ")
        chosen = np.flatnonzero(d.subject == who)
        for k, phase in [(k, "practice") for k in chosen[:20]] + [(k, "main") for k in chosen]:
            key, right_key = ("f" if d.right[k] else "j"), ("f" if d.target[k] else "j")  # the reversed coding
            screen("fixation", "<p>+</p>", 500, None)
            answer = (None, None) if d.missed[k] else (int(1000 * d.seconds[k]), key)
            truth = {"correct_response": right_key, "correct": bool(d.correct[k]), "coherence": float(d.signed[k])}
            screen(phase, "<canvas>", *answer, **truth)
    return rows, int(d.missed.sum())


def jspsych(root: Path, rng: Rng, kind: str) -> Made:
    rows, missed = jspsych_rows(rng)
    if kind == "json":
        path = root / "data.json"
        path.write_text(json.dumps(rows))
    else:
        path, words = root / "data.csv", {True: "true", False: "false"}
        for row in rows:
            row["rt"], row["correct"] = row["rt"] or "null", words.get(row["correct"])
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], quoting=csv.QUOTE_ALL)
            writer.writeheader()
            writer.writerows(rows)
    roles = roles_of(
        "subject=subject choice=response correct=correct rt=rt ground_truth=correct_response stimuli=coherence"
    )
    return Made(path, roles, sessions=2, misses=missed, rows=300)


def psychopy(root: Path, rng: Rng) -> Made:
    d = detection(rng, sessions=1)
    for who in (0, 1):
        k = np.flatnonzero(d.subject == who)
        blank = [None]
        table = {
            "practice.thisN": [*blank, *range(5), *[None] * len(k)],
            "trials.thisN": [*blank, *[None] * 5, *range(len(k))],
            "coherence > stimuli": [*blank, *d.signed[k[:5]], *d.signed[k]],
            "corrAns > ground_truth": [*blank, *["right" if t else "left" for t in [*d.target[k[:5]], *d.target[k]]]],
            "key_resp.keys > choice": [
                *blank,
                *["right"] * 5,
                *["None" if m else "right" if r else "left" for m, r in zip(d.missed[k], d.right[k], strict=True)],
            ],
            "key_resp.corr > correct": [*blank, *[1] * 5, *d.correct[k].astype(int)],
            "key_resp.rt > rt": [*blank, *[0.5] * 5, *np.where(d.missed[k], np.nan, d.seconds[k])],
            "participant > subject": [f"{who + 1:03d}"] * (len(k) + 6),
            "session": ["001"] * (len(k) + 6),
            "date": ["2023-05-01_10h15.22.123"] * (len(k) + 6),
            "expName": ["dots"] * (len(k) + 6),
            "psychopyVersion": ["2023.1.0"] * (len(k) + 6),
            "frameRate": [60.0] * (len(k) + 6),
        }
        write_csv(root / f"{who + 1:03d}_dots_2023.csv", table, mark=b"\xef\xbb\xbf", ending="\r\n")
    return Made(root, roles_in(table), sessions=2, misses=int(d.missed.sum()), rows=300)


def matlab(root: Path, rng: Rng, version: str) -> Made:
    d = detection(rng)
    columns = {
        "subjID": d.subject + 1.0,
        "sessNum": d.session + 1.0,
        "Coh": d.signed,
        "resp": np.where(d.missed, np.nan, d.right + 1.0),
        "acc": np.where(d.missed, np.nan, d.correct * 1.0),
        "RT": np.where(d.missed, -1, d.seconds * 1000),
    }
    path = root / "data.mat"
    if version == "v5":
        from scipy.io import savemat

        savemat(path, {"data": columns, "info": {"author": "lab"}}, oned_as="column")
    else:
        import h5py

        with h5py.File(path, "w", userblock_size=512) as file:
            group = file.create_group("data")
            for name, values in columns.items():
                group[name] = values[None, :]
                group[name].attrs["MATLAB_class"] = np.bytes_("double")
        with path.open("r+b") as raw:
            raw.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    roles = roles_of("subject=subjID session=sessNum choice=resp correct=acc rt=RT stimuli=Coh")
    return Made(path, roles, misses=int(d.missed.sum()))


def write_nwb(path: Path, subject: str, columns: Table, **further: Any) -> None:
    """Write trials that begin every three seconds, the subject, and further entries by path."""
    import h5py

    clock = np.arange(len(next(iter(columns.values())))) * 3.0
    with h5py.File(path, "w") as file:
        trials = file.create_group("intervals/trials")
        for name, values in {"id": clock // 3, "start_time": clock, "stop_time": clock + 2, **columns}.items():
            trials[name] = values.astype(h5py.string_dtype()) if values.dtype.kind in "UO" else values
        trials["reference"] = np.array([trials.ref] * len(clock), h5py.ref_dtype)
        for name, value in {"general/subject/subject_id": subject, **further}.items():
            file[name] = value


def nwb(root: Path, rng: Rng) -> Made:
    d = detection(rng)
    columns = {
        "signed_contrast": d.signed,
        "choice": np.where(d.missed, "none", np.where(d.right, "right", "left")),
        "outcome": np.where(d.missed, "miss", np.where(d.correct, "hit", "error")),
        "spike_times_index": np.arange(len(d.right)),
        "block": d.session,
    }
    for who in (0, 1):
        rows = d.subject == who
        write_nwb(root / f"m{who}.nwb", f"mouse{who}", {name: values[rows] for name, values in columns.items()})
    roles = {"subject": "subject", "choice": "choice", "correct": "outcome", "stimuli": ("signed_contrast",)}
    return Made(root, roles, sessions=2, misses=int(d.missed.sum()))


def frame(root: Path, rng: Rng) -> Made:
    import pandas

    d = detection(rng)
    table = pandas.DataFrame(
        {
            "animal": pandas.Categorical(np.array(["a", "b"])[d.subject]),
            "day": d.session,
            "trialNum": d.trial,
            "went_right": pandas.array(np.where(d.missed, None, d.right), dtype="boolean"),
            "n_left": 10 - 5 * d.signed,
            "n_right": 10 + 5 * d.signed,
            "hit": d.correct,
        }
    )
    roles = roles_of("subject=animal session=day trial=trialNum choice=went_right correct=hit stimuli=n_right-n_left")
    return Made(table, roles, misses=int(d.missed.sum()))


@tables.add("Confidence Database", "data_Lab_2020.csv", sessions=1, form={"missing": "NaN"})
def confidence(d: Detection, rng: Rng) -> Table:
    return {
        "Subj_idx > subject": d.subject + 1,
        "Stimulus > ground_truth": d.target + 1,
        "Response > choice": [None if m else int(r) + 1 for m, r in zip(d.missed, d.right, strict=True)],
        "Confidence > confidence": rng.integers(1, 5, len(d.right)),
        "RT_dec > rt": d.seconds,
        "RT_conf": d.seconds * 2,
    }


def hddm(root: Path, rng: Rng, negative: bool) -> Made:
    d = detection(rng, sessions=1, misses=0)
    response = np.where(d.right, 1, -1 if negative else 0)
    rt = np.where(d.right, 1, -1) * d.seconds if negative else d.seconds
    table = {"subj_idx > subject": d.subject, "rt >": rt, "response > choice": response, "coh > stimuli": d.signed}
    return Made(write_csv(root / "hddm.csv", table), roles_in(table), sessions=2, misses=0)


def bandit_rows(rng: Rng, arms: int = 2, n: int = 150) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    subject = np.repeat([0, 1], n)
    return subject, rng.integers(0, arms, 2 * n), rng.random(2 * n) < 0.6


def hbayesdm(root: Path, rng: Rng, task: str) -> Made:
    arms = 2 if task in ("bandit2", "reversal") else 4
    subject, choice, win = bandit_rows(rng, arms)
    n = len(subject)
    table: Table = {"trial": np.tile(np.arange(1, n // 2 + 1), 2), "subjID": subject + 1}
    roles: dict[str, object] = {"subject": "subjID", "trial": "trial", "choice": "choice", "stimuli": ()}
    if task in ("bandit2", "reversal"):
        table |= {"choice": choice + 1, "outcome": np.where(win, 1, -1)}
        roles["reward"] = "outcome"
    elif task in ("bandit4", "igt"):
        scale = 50 if task == "igt" else 1
        table |= {"choice": choice + 1, "gain": win * scale, "loss": -1 * (rng.random(n) < 0.4) * scale}
        roles |= {"gain": "gain", "loss": "loss"}
    elif task == "gng":
        table |= {"cue": rng.integers(1, 5, n), "keyPressed": choice % 2, "outcome": np.where(win, 1, 0)}
        roles |= {"choice": "keyPressed", "reward": "outcome", "cue": "cue"}
    else:
        state, second = rng.integers(0, 2, n), rng.integers(0, 2, n)
        table |= {"level1_choice": choice % 2 + 1, "level2_choice": 2 * state + second + 1, "reward": win * 1}
        roles |= {"choice": "level1_choice", "choice2": "level2_choice", "reward": "reward"}
    return Made(write_csv(root / f"{task}_exampleData.txt", table, "\t"), roles, sessions=2, misses=0)


def kool(root: Path, rng: Rng) -> Made:
    subject, choice, win = bandit_rows(rng)
    n, missed = len(subject), rng.random(len(subject)) < 0.04
    state = np.where(rng.random(n) < 0.7, choice, 1 - choice)
    table = {
        "subject >": subject + 100,
        "trial >": np.tile(np.arange(n // 2), 2),
        "stim_1_left": rng.integers(1, 3, n),
        "choice1 > choice": np.where(missed, -1, choice + 1),
        "rt_1 > rt": np.where(missed, -1, rng.integers(300, 900, n)),
        "state2 > state": np.where(missed, -1, state + 2),
        "choice2 >": np.where(missed, -1, rng.integers(1, 3, n)),
        "rt_2": np.where(missed, -1, rng.integers(300, 900, n)),
        "win > reward": np.where(missed, -1, win),
    }
    return Made(
        write_csv(root / "twostep.csv", table), roles_in(table, "stimuli="), sessions=2, misses=int(missed.sum())
    )


def gershman(root: Path, rng: Rng) -> Made:
    subject, choice, _win = bandit_rows(rng, n=200)
    n, missed = len(subject), rng.random(len(subject)) < 0.03
    table = {
        "subject >": subject + 1,
        "block > session": np.tile(np.repeat(np.arange(1, 21), 10), 2),
        "trial >": np.tile(np.arange(1, 11), 40),
        "mu1": np.repeat(rng.normal(0, 10, 40), 10).round(2),
        "mu2": np.repeat(rng.normal(0, 10, 40), 10).round(2),
        "choice >": np.where(missed, np.nan, choice + 1),
        "reward >": np.where(missed, np.nan, rng.normal(0, 5, n).round()),
        "RT > rt": np.where(missed, np.nan, rng.integers(200, 900, n)),
    }
    return Made(
        write_csv(root / "gershman.csv", table, missing="NaN"),
        roles_in(table, "stimuli="),
        sessions=40,
        misses=int(missed.sum()),
    )


def psych101(root: Path, rng: Rng) -> Made:
    subject, choice, win = bandit_rows(rng)
    table = {
        "participant > subject": subject,
        "task": np.zeros(len(subject), int),
        "trial >": np.tile(np.arange(150), 2),
        "choice >": choice,
        "reward >": win * 100,
    }
    return Made(write_csv(root / "exp1.csv", table), roles_in(table, "stimuli="), sessions=2, misses=0)


def foraging(root: Path, rng: Rng) -> Made:
    subject, choice, win = bandit_rows(rng)
    n, ignored = len(subject), rng.random(len(subject)) < 0.08
    table = {
        "subject_id > subject": np.array(["m1", "m2"])[subject],
        "session_date": np.array(["2021-01-01", "2021-01-01"])[subject],
        "trial >": np.tile(np.arange(150), 2),
        "animal_response > choice": np.where(ignored, 2, choice),
        "rewarded_historyL": (choice == 0) & win & ~ignored,
        "rewarded_historyR": (choice == 1) & win & ~ignored,
        "reward_probabilityL": rng.random(n),
        "reward_probabilityR": rng.random(n),
    }
    return Made(
        write_csv(root / "foraging.csv", table),
        roles_in(table, "reward=reward stimuli="),
        sessions=2,
        misses=int(ignored.sum()),
    )


def european(root: Path, rng: Rng) -> Made:
    d = detection(rng)
    table = {
        "subject >": np.array(["Mäuschen 1", "Mäuschen 2"])[d.subject],
        "session >": d.session + 1,
        "contrast > stimuli": d.signed,
        "choice >": np.where(d.missed, -1, d.right),
        "correct >": d.correct.astype(int),
        "rt >": np.where(d.missed, 999.0, d.seconds),
    }
    form = {"decimal": ",", "encoding": "latin-1", "before": "# Labor 7\r\n", "ending": "\r\n"}
    path = write_csv(root / "semicolon.csv", table, ";", **form)
    return Made(path, roles_in(table), misses=int(d.missed.sum()))


@tables.add("words, labels with zeros", "faces.csv", form={"missing": "."})
def labels(d: Detection, rng: Rng) -> Table:
    n = len(d.right)
    return {
        "ppt > subject": np.array(["007", "7"])[d.subject],
        "sess > session": d.session + 1,
        "morph > stimuli": d.signed,
        "response > choice": np.where(
            d.missed, np.resize(["space", *[""] * 96], n), np.where(d.right, "face", "house")
        ),
        "accuracy > correct": np.where(d.missed, np.nan, d.correct),
        "latency > rt": d.seconds,
    }


def arrow(root: Path, rng: Rng, kind: str) -> Made:
    import pyarrow as pa
    from pyarrow import feather, parquet

    d = detection(rng)
    table = pa.table(
        {
            "ratname": np.array(["r1", "r2"])[d.subject],
            "sessid": d.session,
            "evidence": d.signed,
            "side": pa.array([None if m else "R" if r else "L" for m, r in zip(d.missed, d.right, strict=True)]),
            "rewarded": d.correct,
            "clicks": [[0.1, 0.2]] * len(d.right),
        }
    )
    path = root / f"rats.{kind}"
    (parquet.write_table if kind == "parquet" else feather.write_feather)(table, path)
    roles = roles_of("subject=ratname session=sessid choice=side reward=rewarded stimuli=evidence")
    return Made(path, roles, misses=int(d.missed.sum()))


def records(root: Path, rng: Rng) -> Made:
    d = detection(rng)
    rows = [
        {
            "participant_id": f"p{s}",
            "run": int(r),
            "strength": float(abs(x)),
            "correct_side": "right" if t else "left",
            "choice": None if m else ("right" if c else "left"),
            "confidence": 3,
        }
        for s, r, x, t, m, c in zip(d.subject, d.session, d.signed, d.target, d.missed, d.right, strict=True)
    ]
    for k, row in enumerate(rows):
        row["confidence"] = k % 4 + 1
    roles = roles_of(
        "subject=participant_id session=run choice=choice ground_truth=correct_side confidence=confidence "
        "stimuli=strength"
    )
    return Made(rows, roles, misses=int(d.missed.sum()))


@tables.add("spaces, codes", "monkeys.txt", form={"separator": " "})
def space(d: Detection, rng: Rng) -> Table:
    return {
        "monkey > subject": d.subject + 1,
        "date > session": np.array(["20200101", "20200102"])[d.session],
        "coh > stimuli": np.abs(d.signed) * 100,
        "choice >": np.where(d.missed, 9, d.right * 1),
        "target > ground_truth": d.target * 1,
        "RT > rt": np.where(d.missed, -999, (d.seconds * 1000).round()),
    }


MAKERS = tables.makers | {
    "IBL, Parquet": lambda root, rng: ibl_folder(root, rng, False),
    "IBL, arrays": lambda root, rng: ibl_folder(root, rng, True),
    "BIDS": bids,
    "jsPsych CSV": lambda root, rng: jspsych(root, rng, "csv"),
    "jsPsych JSON": lambda root, rng: jspsych(root, rng, "json"),
    "PsychoPy": psychopy,
    "MATLAB v5": lambda root, rng: matlab(root, rng, "v5"),
    "MATLAB v7.3": lambda root, rng: matlab(root, rng, "v7.3"),
    "NWB": nwb,
    "DataFrame": frame,
    "list of dicts": records,
    "Parquet": lambda root, rng: arrow(root, rng, "parquet"),
    "Feather": lambda root, rng: arrow(root, rng, "feather"),
    "HDDM": lambda root, rng: hddm(root, rng, False),
    "HSSM, signed times": lambda root, rng: hddm(root, rng, True),
    "semicolon, decimal comma, Latin-1": european,
    "hBayesDM bandit": lambda root, rng: hbayesdm(root, rng, "bandit2"),
    "hBayesDM four arms": lambda root, rng: hbayesdm(root, rng, "bandit4"),
    "hBayesDM Iowa gambling": lambda root, rng: hbayesdm(root, rng, "igt"),
    "hBayesDM reversal": lambda root, rng: hbayesdm(root, rng, "reversal"),
    "hBayesDM go/no-go": lambda root, rng: hbayesdm(root, rng, "gng"),
    "hBayesDM two-step": lambda root, rng: hbayesdm(root, rng, "ts"),
    "two-step, Kool": kool,
    "Gershman": gershman,
    "Psych-101": psych101,
    "foraging mice": foraging,
}
