"""Tables as particular laboratories and programs write them: more than one form of each format, with its traps."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.neurogym.behaviour.laboratories import Detection, Made, bandit_rows, detection, ibl_columns, write_csv

Rng = np.random.Generator


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


def alf_cache(root: Path, rng: Rng) -> Made:
    """Cache of ONE: a revision folder, identifiers in the names of files, further columns."""
    import pyarrow as pa
    from pyarrow import parquet

    d = detection(rng)
    columns = ibl_columns(d) | {
        "goCueTrigger_times": np.arange(len(d.right)) * 3.0,
        "quiescencePeriod": rng.uniform(0.4, 0.7, len(d.right)),
    }
    for k in range(4):
        rows = (d.subject == k // 2) & (d.session == k % 2)
        folder = root / "alab" / "Subjects" / f"KS0{k // 2}2" / f"2021-03-1{k % 2}" / "002" / "alf" / "#2025-03-03#"
        folder.mkdir(parents=True)
        table = pa.table({name: values[rows] for name, values in columns.items()})
        parquet.write_table(table, folder / "_ibl_trials.table.0f1c7a2e-1b5c-4f7e-8e9d-8a1c2d3e4f50.pqt")
    roles = {"choice": "choice", "correct": "feedbackType", "reward": "rewardVolume", "rt": "rt", "subject": "subject",
             "session": "session", "stimuli": ("contrastRight-contrastLeft",)}  # fmt: skip
    return made(d, root, roles)


def alf_behaviour_export(root: Path, rng: Rng) -> Made:
    """Trials of many sessions written by pandas with the index, and the signed contrast beside both sides."""
    d = detection(rng)
    columns = {k: v for k, v in ibl_columns(d).items() if "times" not in k}
    table = {
        "": np.arange(len(d.right)),
        **columns,
        "signed_contrast": d.signed,
        "reaction_time": np.where(d.missed, np.nan, d.seconds),
        "subject": np.array(["CSHL_001", "NYU-11"])[d.subject],
        "eid": np.array(["aa-1", "aa-2", "bb-1", "bb-2"])[2 * d.subject + d.session],
        "trial": d.trial,
    }
    roles = {"choice": "choice", "correct": "feedbackType", "reward": "rewardVolume", "rt": "reaction_time",
             "subject": "subject", "session": "eid", "stimuli": ("signed_contrast",)}  # fmt: skip
    return made(d, write_csv(root / "trials.csv", table), roles)


def bids_events(root: Path, rng: Rng) -> Made:
    """Events of a scanner session: fixation and feedback have rows of their own."""
    d = detection(rng)
    for k in range(4):
        rows = np.flatnonzero((d.subject == k // 2) & (d.session == k % 2))
        folder = root / f"sub-A{k // 2}" / "func"
        folder.mkdir(parents=True, exist_ok=True)
        lines = []
        for j in rows:
            lines.append(["fixation", None, None, None])
            answer = None if d.missed[j] else ("right" if d.right[j] else "left")
            lines.append(["stimulus", d.signed[j], answer, None if d.missed[j] else round(d.seconds[j], 4)])
            lines.append(["feedback", None, None, None])
        n = len(lines)
        table = {
            "onset": np.arange(n) * 1.5, "duration": np.ones(n), "trial_type": [line[0] for line in lines],
            "contrast": [line[1] for line in lines], "response": [line[2] for line in lines],
            "response_time": [line[3] for line in lines],
        }  # fmt: skip
        write_csv(folder / f"sub-A{k // 2}_task-det_run-0{k % 2 + 1}_events.tsv", table, "\t", "n/a")
    roles = {"subject": "subject", "session": "session", "choice": "response", "rt": "response_time",
             "stimuli": ("contrast",)}  # fmt: skip
    return made(d, root, roles, rows=600)


def bids_one_file(root: Path, rng: Rng) -> Made:
    d = detection(rng, sessions=1)
    table = {
        "participant_id": np.array(["sub-01", "sub-02"])[d.subject],
        "onset": np.arange(len(d.right)) * 3.0,
        "duration": np.full(len(d.right), 1.0),
        "trial_type": np.where(np.abs(d.signed) < 0.2, "hard", "easy"),
        "signed_coherence": d.signed,
        "response": np.where(d.missed, -1, d.right),
        "accuracy": np.where(d.missed, np.nan, d.correct),
        "response_time": np.where(d.missed, np.nan, d.seconds),
    }
    roles = {"subject": "participant_id", "choice": "response", "correct": "accuracy", "rt": "response_time",
             "stimuli": ("signed_coherence",)}  # fmt: skip
    return made(d, write_csv(root / "task-dots_beh.tsv", table, "\t", "n/a"), roles, sessions=2)


def jspsych_buttons(root: Path, rng: Rng, kind: str) -> Made:
    """Buttons by number, a file for each person, the person in the name of the file only."""
    d = detection(rng, sessions=1)
    for who in (0, 1):
        rows: list[dict[str, Any]] = [
            {"trial_type": "instructions", "trial_index": 0, "time_elapsed": 4000, "rt": 3990, "view_history": "[1]"}
        ]
        for k in np.flatnonzero(d.subject == who):
            missed = bool(d.missed[k])
            rows.append({
                "trial_type": "image-button-response", "trial_index": len(rows), "time_elapsed": 5000 + 10 * len(rows),
                "internal_node_id": f"0.0-{len(rows)}.0", "stimulus": f"img/{k % 7}.png",
                "rt": None if missed else round(1000 * float(d.seconds[k]), 1),
                "response": None if missed else int(d.right[k]),
                "morph_level": float(d.signed[k]), "correct": bool(d.correct[k]),
            })  # fmt: skip
        rows.append({"trial_type": "survey-text", "trial_index": len(rows), "time_elapsed": 10**6, "rt": 20000,
                     "response": {"Q0": "no comment"}})  # fmt: skip
        path = root / f"pavlovia_{who + 1:02d}.{kind}"
        if kind == "json":
            path.write_text(json.dumps(rows))
            continue
        names = list(dict.fromkeys(name for row in rows for name in row))
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL)
        writer.writerow(names)
        for row in rows:
            writer.writerow([_jspsych_word(row.get(name, "")) for name in names])
        path.write_text(text.getvalue())
    roles = {"subject": "file", "choice": "response", "correct": "correct", "rt": "rt", "stimuli": ("morph_level",)}
    return made(d, root, roles, sessions=2, rows=300)


def _jspsych_word(value: Any) -> str:
    if value is None:
        return "null"
    return json.dumps(value) if isinstance(value, bool | dict) else str(value)


def jspsych_key_codes(root: Path, rng: Rng) -> Made:
    """Version 6: key codes in ``key_press``, -1 without an answer, phases in ``test_part``."""
    d = detection(rng, sessions=1)
    rows = []
    for who in (0, 1):
        for k in np.flatnonzero(d.subject == who):
            common = {"participant": f"s{who}", "trial_type": "html-keyboard-response", "time_elapsed": 9}
            rows.append({**common, "trial_index": len(rows), "test_part": "fixation", "key_press": None, "rt": None})
            rows.append({
                **common, "trial_index": len(rows), "test_part": "test", "contrast": float(d.signed[k]),
                "key_press": -1 if d.missed[k] else 74 if d.right[k] else 70,
                "rt": -1 if d.missed[k] else int(1000 * d.seconds[k]), "correct": bool(d.correct[k]),
            })  # fmt: skip
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = {name: [_jspsych_word(row.get(name)) for row in rows] for name in names}
    roles = {"subject": "participant", "choice": "key_press", "correct": "correct", "rt": "rt",
             "stimuli": ("contrast",)}  # fmt: skip
    return made(d, write_csv(root / "jspsych6.csv", table), roles, sessions=2, rows=300)


def psychopy_blocks(root: Path, rng: Rng) -> Made:
    """Blocks around trials, components with names of their own, wide rows of routines in between."""
    d = detection(rng, sessions=1)
    for who in (0, 1):
        lines: list[dict[str, Any]] = [{"key_instr.keys": "space", "key_instr.rt": 8.2}]
        for n, k in enumerate(np.flatnonzero(d.subject == who)):
            lines.append({
                "blocks.thisN": n // 50, "trials_loop.thisN": n % 50, "trials_loop.thisTrialN": n % 50,
                "ori": float(d.signed[k] * 10), "corrKey": "m" if d.target[k] else "z",
                "resp.keys": "None" if d.missed[k] else "m" if d.right[k] else "z", "resp.corr": int(d.correct[k]),
                "resp.rt": None if d.missed[k] else float(d.seconds[k]), "stim.started": 3.0 * n,
            })  # fmt: skip
            if n % 50 == 49:
                lines.append({"blocks.thisN": n // 50, "key_break.keys": "space", "key_break.rt": 3.1})
        names = list(dict.fromkeys(name for line in lines for name in line))
        table = {name: [line.get(name) for line in lines] for name in names}
        extra = {"participant": [f"P{who}"] * len(lines), "date": [f"2024-02-1{who}_11h00.00.000"] * len(lines),
                 "expName": ["tilt"] * len(lines), "psychopyVersion": ["2023.2.3"] * len(lines)}  # fmt: skip
        write_csv(root / f"P{who}_tilt_2024.csv", table | extra)
    roles = {"subject": "participant", "choice": "resp.keys", "correct": "resp.corr", "rt": "resp.rt",
             "stimuli": ("ori",)}  # fmt: skip
    return made(d, root, roles, sessions=2, rows=300)


def e_prime(root: Path, rng: Rng) -> Made:
    """Merged export of E-Prime: UTF-16, a first line with the path, answers and times of the component."""
    d = detection(rng)
    table = {
        "ExperimentName": ["Tilt"] * len(d.right), "Subject": d.subject + 11, "Session": d.session + 1,
        "Trial": d.trial + 1, "Tilt": d.signed, "Probe.ACC": d.correct.astype(int),
        "Probe.CRESP": np.where(d.target, 2, 1), "Probe.RESP": words(d, 1, 2, None),
        "Probe.RT": np.where(d.missed, 0, (1000 * d.seconds).round()).astype(int),
    }  # fmt: skip
    path = write_csv(root / "merged.txt", table, "\t", before="C:\\data\\merged.emrg2\r\n", ending="\r\n",
                     encoding="utf-16")  # fmt: skip
    roles = {"subject": "Subject", "session": "Session", "trial": "Trial", "choice": "Probe.RESP", "rt": "Probe.RT",
             "correct": "Probe.ACC", "ground_truth": "Probe.CRESP", "stimuli": ("Tilt",)}  # fmt: skip
    return made(d, path, roles)


def nwb_foraging(root: Path, rng: Rng) -> Made:
    """Dynamic foraging: 2 is an ignored trial, rewards of each side in columns of their own."""
    import h5py

    subject, choice, win = bandit_rows(rng)
    ignored = rng.random(len(subject)) < 0.07
    for who in (0, 1):
        rows = subject == who
        with h5py.File(root / f"{700 + who}.nwb", "w") as file:
            trials = file.create_group("intervals/trials")
            n = int(rows.sum())
            columns = {
                "id": np.arange(n), "start_time": np.arange(n) * 4.0, "stop_time": np.arange(n) * 4.0 + 3,
                "animal_response": np.where(ignored, 2, choice)[rows].astype(float),
                "rewarded_historyL": ((choice == 0) & win & ~ignored)[rows],
                "rewarded_historyR": ((choice == 1) & win & ~ignored)[rows],
                "reward_probabilityL": np.repeat([0.1, 0.4], -(-n // 2))[:n], "delay_duration": rng.random(n),
                "reward_probabilityR": np.repeat([0.4, 0.1], -(-n // 2))[:n], "ITI_duration": rng.random(n),
                "auto_waterL": np.zeros(n), "auto_waterR": np.zeros(n), "bait_left": rng.random(n) < 0.5,
                "bait_right": rng.random(n) < 0.5,
            }  # fmt: skip
            for name, values in columns.items():
                trials[name] = values
            file["general/subject/subject_id"] = f"{700 + who}"
    roles = {"subject": "subject", "choice": "animal_response", "reward": "reward", "stimuli": ()}
    return Made(root, roles, sessions=2, misses=int(ignored.sum()), means={"reward": float(win[~ignored].mean())},
                absent=("correct", "ground_truth", "rt"))  # fmt: skip


def nwb_detection(root: Path, rng: Rng) -> Made:
    import h5py

    d = detection(rng, sessions=1)
    for who in (0, 1):
        rows = np.flatnonzero(d.subject == who)
        with h5py.File(root / f"rat-{who}.nwb", "w") as file:
            trials = file.create_group("intervals/trials")
            text = h5py.string_dtype()
            trials["id"] = np.arange(len(rows))
            trials["start_time"] = np.arange(len(rows)) * 3.0
            trials["stop_time"] = np.arange(len(rows)) * 3.0 + 2
            trials["evidence_strength"] = d.signed[rows]
            trials["response"] = np.array(words(d, "L", "R", "no_response"), object)[rows].astype(text)
            trials["is_correct"] = d.correct[rows]
            trials["reaction_time"] = np.where(d.missed, np.nan, d.seconds)[rows]
            file["general/subject/subject_id"] = f"rat-{who}"
            file["general/session_id"] = f"rat-{who}-day1"
    roles = {"subject": "subject", "session": "session", "choice": "response", "correct": "is_correct",
             "rt": "reaction_time", "stimuli": ("evidence_strength",)}  # fmt: skip
    return made(d, root, roles, sessions=2)


def matlab_trials(root: Path, rng: Rng, name: str) -> Made:
    """Structure array with an element for each trial, or for each subject."""
    from scipy.io import savemat

    d = detection(rng)
    columns = {
        "animal": np.array(["anna", "bert"], object)[d.subject], "day": d.session + 1, "trialNumber": d.trial + 1,
        "stimStrength": d.signed, "choice": np.where(d.missed, 0, np.where(d.right, 1, -1)),
        "correct": np.where(d.missed, np.nan, d.correct), "rt": np.where(d.missed, np.nan, d.seconds),
    }  # fmt: skip
    if name == "trials":
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        savemat(root / "trials.mat", {"trials": np.array(rows, object)})
    else:
        subjects = []
        for who in (0, 1):
            fields = {k: v[d.subject == who] for k, v in columns.items() if k != "animal"}
            subjects.append({"animal": ["anna", "bert"][who], **fields})
        savemat(root / "trials.mat", {"data": np.array(subjects, object), "params": {"version": 2}})
    roles = {"subject": "animal", "session": "day", "trial": "trialNumber", "choice": "choice", "correct": "correct",
             "rt": "rt", "stimuli": ("stimStrength",)}  # fmt: skip
    return made(d, root / "trials.mat", roles)


def matlab_matrix_of_people(root: Path, rng: Rng) -> Made:
    """A ``results`` structure of row vectors; answers 1 and 2, 0 without one, times in ms."""
    from scipy.io import savemat

    d = detection(rng, sessions=1)
    for who in (0, 1):
        k = d.subject == who
        savemat(root / f"subj{who + 1}.mat", {"results": {
            "response": np.where(d.missed, 0, np.where(d.right, 2, 1))[k][None], "accuracy": d.correct[k][None] * 1.0,
            "RT": np.where(d.missed, 0, 1000 * d.seconds)[k][None], "orientation": d.signed[k][None],
            "date": "01-Jan-2020",
        }})  # fmt: skip
    roles = {"subject": "file", "choice": "response", "correct": "accuracy", "rt": "RT", "stimuli": ("orientation",)}
    return made(d, root, roles, sessions=2)


def pycontrol(root: Path, rng: Rng) -> Made:
    subject, choice, win = bandit_rows(rng)
    missed = rng.random(len(subject)) < 0.03
    table = {
        "subject_ID": np.array(["m1", "m2"])[subject], "start_date": ["2022-05-05"] * len(subject),
        "n_trial": np.tile(np.arange(1, 151), 2),
        "choice": [None if m else "right_poke" if c else "left_poke" for m, c in zip(missed, choice, strict=True)],
        "outcome": [None if m else bool(w) for m, w in zip(missed, win, strict=True)],
        "reward_block": np.repeat(["left", "right"], 75).tolist() * 2,
    }  # fmt: skip
    roles = {"subject": "subject_ID", "trial": "n_trial", "choice": "choice", "reward": "outcome", "stimuli": ()}
    return Made(write_csv(root / "sessions.tsv", table, "\t"), roles, sessions=2, misses=int(missed.sum()),
                means={"reward": float(win[~missed].mean())}, absent=("correct", "ground_truth"))  # fmt: skip


def semicolons(root: Path, rng: Rng) -> Made:
    """Export of a German spreadsheet: decimal comma, first line for Excel, words with umlauts, -999 without a time."""
    d = detection(rng)
    table = {
        "Subject": np.array(["Jürgen", "Zoë"])[d.subject], "Session": d.session + 1, "Trial": d.trial + 1,
        "Difference": d.signed, "Response": words(d, "größer", "kleiner", "keine"),
        "Correct": d.correct.astype(int), "RT": np.where(d.missed, -999.0, (1000 * d.seconds).round(1)),
    }  # fmt: skip
    table["Response"] = words(d, "größer", "kleiner", "n/a")
    path = write_csv(root / "Daten.csv", table, ";", decimal=",", encoding="latin-1", before="sep=;\r\n",
                     ending="\r\n")  # fmt: skip
    roles = {"subject": "Subject", "session": "Session", "trial": "Trial", "choice": "Response", "correct": "Correct",
             "rt": "RT", "stimuli": ("Difference",)}  # fmt: skip
    return made(d, path, roles)


def compressed(root: Path, rng: Rng, ending: str) -> Made:
    d = detection(rng)
    table = {
        "rat": np.array(["A101", "A102"])[d.subject], "sessid": d.session + 9000, "n_left": (20 - 10 * d.signed),
        "n_right": (20 + 10 * d.signed), "wentRight": np.where(d.missed, np.nan, d.right), "hit": d.correct * 1,
    }  # fmt: skip
    path = write_csv(root / "clicks.csv", table, "\t" if "tsv" in ending else ",", missing="NaN")
    zipped = root / f"clicks.{ending}"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    roles = {"subject": "rat", "session": "sessid", "choice": "wentRight", "correct": "hit",
             "stimuli": ("n_right-n_left",)}  # fmt: skip
    return made(d, zipped, roles)


def commented(root: Path, rng: Rng) -> Made:
    """Comments at the top and among the rows, quoted words with commas, a mark of byte order."""
    d = detection(rng)
    names = ['"Doe, J."', '"Roe, R."']
    table = {
        "participant": np.array(names)[d.subject], "block type": ["main"] * len(d.right), "visit": d.session + 1,
        "stim_intensity": d.signed, "key": words(d, "f", "j", "timeout"),
        "acc": words_of_correct(d, "correct", "wrong"),
        "reaction time (ms)": np.where(d.missed, np.nan, (1000 * d.seconds).round()),
    }  # fmt: skip
    path = write_csv(root / "c.csv", table, before="# exported 2020\n% by a script\n", mark=b"\xef\xbb\xbf")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:50], "# the subject sneezed", *lines[50:]]) + "\n")
    roles = {"subject": "participant", "session": "visit", "choice": "key", "correct": "acc",
             "rt": "reaction time (ms)", "stimuli": ("stim_intensity",)}  # fmt: skip
    return made(d, path, roles)


def words_of_correct(d: Detection, yes: str, no: str) -> list[Any]:
    """Return correctness in words; empty without an answer."""
    return [None if m else yes if c else no for m, c in zip(d.missed, d.correct, strict=True)]


def r_table(root: Path, rng: Rng) -> Made:
    """``write.table`` of R: names of rows, quotes, spaces; factors of which the first level is the right."""
    d = detection(rng)
    header = '"id" "sess" "evidence" "response" "correct" "rt"'
    lines = []
    for k in range(len(d.right)):
        answer = f'"{"AB"[int(d.right[k])]}" {str(bool(d.correct[k])).upper()} {round(d.seconds[k], 3)}'
        start = [f'"{k + 1}"', f'"p{d.subject[k]}"', str(d.session[k] + 1), str(d.signed[k])]
        lines.append(" ".join([*start, "NA NA NA" if d.missed[k] else answer]))
    path = root / "study.dat"
    path.write_text("\n".join([header, *lines]) + "\n")
    roles = {"subject": "id", "session": "sess", "choice": "response", "correct": "correct", "rt": "rt",
             "stimuli": ("evidence",)}  # fmt: skip
    return made(d, path, roles)


def roitman(root: Path, rng: Rng) -> Made:
    """Monkeys of the vision laboratories: coherence without a sign, targets 1 and 2 for the reversed side."""
    d = detection(rng)
    table = {
        "monkey": d.subject + 1, "date": np.array([20000101, 20000102])[d.session],
        "dot_coh": np.abs(d.signed) * 51.2, "dot_dir": np.where(d.target, 0, 180),
        "targ_cor": np.where(d.target, 1, 2), "targ_cho": np.where(d.missed, 0, np.where(d.right, 1, 2)),
        "correct": d.correct * 1, "rxtime": np.where(d.missed, np.nan, (1000 * d.seconds).round()),
    }  # fmt: skip
    roles = {"subject": "monkey", "session": "date", "choice": "targ_cho", "correct": "correct", "rt": "rxtime",
             "ground_truth": "targ_cor", "stimuli": ("dot_coh",)}  # fmt: skip
    return made(d, write_csv(root / "t1.csv", table, missing="NaN"), roles)


def reversed_words(root: Path, rng: Rng) -> Made:
    """Answers in words whose alphabetical order is not that of the evidence, a numbered session, ms."""
    d = detection(rng)
    table = {
        "subj_id": d.subject + 1, "sessNum": d.session + 1, "trial_NR": d.trial + 1, "morph": -d.signed,
        "response": words(d, "house", "face", "none"), "accuracy": np.where(d.missed, np.nan, d.correct),
        "RT": np.where(d.missed, 9999, (1000 * d.seconds).round()),
    }  # fmt: skip
    roles = {"subject": "subj_id", "session": "sessNum", "trial": "trial_NR", "choice": "response", "rt": "RT",
             "correct": "accuracy", "stimuli": ("morph",)}  # fmt: skip
    return made(d, write_csv(root / "faces.csv", table), roles)


def confidence_study(root: Path, rng: Rng, reverse: bool) -> Made:
    """Studies of the Confidence Database with conditions, one time for both, errors; or responses 1/0 reversed."""
    d = detection(rng)
    n = len(d.right)
    table = {
        "Subj_idx": d.subject + 1, "Stimulus": np.where(d.target, 1, 0),
        "Response": [None if m else int(r) for m, r in zip(d.missed, d.right != reverse, strict=True)],
        "Confidence": np.where(d.missed, np.nan, rng.integers(1, 7, n)),
        "RT_decConf": np.where(d.missed, np.nan, d.seconds), "Day": d.session + 1,
        "ErrorDirectionJudgment": np.where(d.missed, np.nan, np.where(d.correct, 1, -1)),
        "Contrast": np.abs(d.signed), "Difficulty": np.where(np.abs(d.signed) < 0.3, "hard", "easy"),
        "Age": np.array([21, 34])[d.subject],
    }  # fmt: skip
    roles = {"subject": "Subj_idx", "session": "Day", "choice": "Response", "confidence": "Confidence",
             "ground_truth": "Stimulus", "rt": "RT_decConf", "correct": "ErrorDirectionJudgment"}  # fmt: skip
    return made(d, write_csv(root / "data_Doe_2019.csv", table, missing="NaN"), roles,
                notes=("Stimulus is read as the correct choice: 0 = 1, 1 = 0",) if reverse else ())  # fmt: skip


def hddm_conflict(root: Path, rng: Rng) -> Made:
    """Example of HDDM: ``conf`` is conflict in words, ``stim`` has three kinds, a covariate, no correctness."""
    d = detection(rng, sessions=1, misses=0)
    n = len(d.right)
    table = {
        "subj_idx": d.subject, "stim": rng.choice(["LL", "WL", "WW"], n), "rt": d.seconds,
        "response": d.right.astype(float), "theta": rng.normal(0, 0.3, n), "dbs": rng.integers(0, 2, n),
        "conf": rng.choice(["HC", "LC"], n),
    }  # fmt: skip
    roles = {"subject": "subj_idx", "choice": "response", "rt": "rt", "stimuli": ()}
    return made(d, write_csv(root / "theta.csv", table), roles, sessions=2,
                absent=("confidence", "ground_truth", "correct", "reward"))  # fmt: skip


def hbayesdm(root: Path, rng: Rng, task: str) -> Made:
    """Further tasks of hBayesDM, whose offers are no outcomes."""
    subject, choice, win = bandit_rows(rng)
    n = len(subject)
    table: dict[str, Any] = {"subjID": subject + 1}
    roles: dict[str, object] = {"subject": "subjID", "choice": "choice"}
    absent: tuple[str, ...] = ("correct",)
    means = {}
    if task == "risk aversion":
        table |= {"trial": np.tile(np.arange(1, 151), 2), "gain": rng.integers(1, 13, n),
                  "loss": rng.integers(0, 13, n), "cert": rng.integers(0, 5, n), "gamble": choice}  # fmt: skip
        roles |= {"choice": "gamble", "trial": "trial", "stimuli": ("gain", "loss", "cert")}
        absent += ("gain", "loss", "reward", "rt")
    elif task == "delay discounting":
        table |= {"trial": np.tile(np.arange(1, 151), 2), "delay_later": rng.choice([6.0, 170], n),
                  "amount_later": rng.choice([10.5, 38.3], n), "delay_sooner": np.zeros(n),
                  "amount_sooner": np.full(n, 10.0), "choice": choice}  # fmt: skip
        roles |= {"trial": "trial", "stimuli": ("delay_later", "amount_later")}
        absent += ("reward", "rt")
    elif task == "ultimatum":
        table |= {"trial": np.tile(np.arange(1, 151), 2), "offer": rng.integers(1, 20, n), "accept": choice}
        roles |= {"choice": "accept", "stimuli": ("offer",)}
        absent += ("reward",)
    elif task == "reversal, blocks":
        table |= {"block": np.tile(np.repeat([1, 2, 3], 50), 2), "trial": np.tile(np.arange(1, 51), 6),
                  "choice": choice + 1, "outcome": np.where(win, 1, -1)}  # fmt: skip
        roles |= {"trial": "trial", "reward": "outcome", "session": "block", "stimuli": ()}
        means = {"reward": float(np.where(win, 1, -1).mean())}
    elif task == "probabilistic selection":
        table |= {"type": rng.choice([12, 34, 56], n), "choice": choice, "reward": win * 1}
        roles |= {"reward": "reward", "stimuli": ()}
        means = {"reward": float(win.mean())}
    elif task == "choice and time":
        table |= {"choice": choice + 1, "RT": 0.3 + rng.gamma(2, 0.2, n), "condition": rng.integers(1, 3, n)}
        roles |= {"rt": "RT", "stimuli": ()}
        absent += ("reward",)
    elif task == "Iowa gambling":
        table |= {"trial": np.tile(np.arange(1, 151), 2), "deck": rng.integers(1, 5, n), "gain": np.full(n, 100),
                  "loss": -1250 * (rng.random(n) < 0.1)}  # fmt: skip
        roles |= {"choice": "deck", "gain": "gain", "loss": "loss", "trial": "trial", "stimuli": ()}
    sessions = 6 if "blocks" in task else 2
    path = write_csv(root / "example.txt", table, "\t")
    return Made(path, roles, sessions=sessions, misses=0, absent=absent, means=means)


def two_step(root: Path, rng: Rng, form: str) -> Made:
    """Two-step tables of Decker and Gillan, of mice, and with four options of the second stage."""
    subject, choice, win = bandit_rows(rng)
    n = len(subject)
    missed = rng.random(n) < 0.04
    common = rng.random(n) < 0.7
    state, second = np.where(common, choice, 1 - choice), rng.integers(0, 2, n)
    trial = np.tile(np.arange(1, n // 2 + 1), 2)
    reward = float(win[~missed].mean())
    means = {"reward": reward, "state": float(state[~missed].mean())}
    if form == "Gillan":
        table = {
            "subj": subject + 1, "trial": trial, "rt_1": np.where(missed, -1, rng.integers(300, 1500, n)),
            "choice1": np.where(missed, -1, choice + 1), "common": np.where(missed, -1, common),
            "rt_2": np.where(missed, -1, rng.integers(300, 1500, n)), "choice2": np.where(missed, -1, second + 1),
            "state2": np.where(missed, -1, state + 2), "money": np.where(missed, -1, win),
        }  # fmt: skip
        roles = {"subject": "subj", "choice": "choice1", "choice2": "choice2", "state": "state2", "reward": "money",
                 "rt": "rt_1", "stimuli": ()}  # fmt: skip
    elif form == "mice":
        table = {
            "mouse": np.array(["a", "b"])[subject], "trial": trial,
            "choice": [None if m else "right" if c else "left" for m, c in zip(missed, choice, strict=True)],
            "second_step": [None if m else "up" if c else "down" for m, c in zip(missed, state, strict=True)],
            "outcome": np.where(missed, 0, win),
        }  # fmt: skip
        roles = {"subject": "mouse", "choice": "choice", "state": "second_step", "reward": "outcome", "stimuli": ()}
        means["state"] = float(state[~missed].mean())
    else:
        table = {
            "subjID": subject + 1, "trial": trial,
            "level1_choice": np.where(missed, np.nan, 2 - choice),  # the reversed coding
            "level2_choice": np.where(missed, np.nan, 2 * state + second + 1), "reward": np.where(missed, np.nan, win),
        }  # fmt: skip
        roles = {"subject": "subjID", "choice": "level1_choice", "choice2": "level2_choice", "reward": "reward",
                 "stimuli": ()}  # fmt: skip
    path = write_csv(root / "steps.csv", table, "\t" if form == "four" else ",", missing="NA")
    return Made(path, roles, sessions=2, misses=int(missed.sum()), means=means, absent=("correct",))


def detections_of_signals(root: Path, rng: Rng) -> Made:
    """Go/no-go of a mouse: a miss is an error, and not licking is an answer."""
    n = 600
    subject, go = np.repeat([0, 1], n // 2), rng.random(n) < 0.5
    lick = rng.random(n) < np.where(go, 0.85, 0.25)
    outcome = np.where(go, np.where(lick, "Hit", "Miss"), np.where(lick, "FA", "CR"))
    table = {
        "animal_id": np.array(["x", "y"])[subject], "session": 1, "stimulus": np.where(go, "go", "nogo"),
        "lick": lick * 1, "outcome": outcome,
    }  # fmt: skip
    table["session"] = np.ones(n, int)
    roles = {"subject": "animal_id", "choice": "lick", "ground_truth": "stimulus", "correct": "outcome"}
    return Made(write_csv(root / "licks.csv", table), roles, sessions=2, misses=0,
                means={"correct": float((lick == go).mean())})  # fmt: skip


def values_of_options(root: Path, rng: Rng) -> Made:
    """Choices between two snacks with ratings of each, fixations beside."""
    d = detection(rng, sessions=1)
    n = len(d.right)
    middle = rng.uniform(3, 6, n)
    table = {
        "SubjID": d.subject + 101, "Trial": d.trial + 1, "value_left": middle - 2 * d.signed,
        "value_right": middle + 2 * d.signed, "choice": words(d, "left", "right", "no response"),
        "rt": np.where(d.missed, np.nan, 1000 * d.seconds), "fix_duration_left": rng.random(n),
        "fix_duration_right": rng.random(n),
    }  # fmt: skip
    roles = {"subject": "SubjID", "trial": "Trial", "choice": "choice", "rt": "rt",
             "stimuli": ("value_right-value_left",)}  # fmt: skip
    return made(d, write_csv(root / "snacks.csv", table), roles, sessions=2,
                absent=("reward", "correct", "ground_truth"))  # fmt: skip


def outcomes_in_words(root: Path, rng: Rng) -> Made:
    subject, choice, win = bandit_rows(rng, arms=3)
    missed = rng.random(len(subject)) < 0.04
    table = {
        "participant_number": subject + 1, "trial_number": np.tile(np.arange(1, 151), 2),
        "chosen": [None if m else "ABC"[c] for m, c in zip(missed, choice, strict=True)],
        "feedback": [None if m else "win" if w else "loss" for m, w in zip(missed, win, strict=True)],
        "reaction_time_ms": np.where(missed, np.nan, rng.integers(300, 900, len(subject))),
    }  # fmt: skip
    roles = {"subject": "participant_number", "trial": "trial_number", "choice": "chosen", "reward": "feedback",
             "rt": "reaction_time_ms", "stimuli": ()}  # fmt: skip
    return Made(write_csv(root / "words.csv", table), roles, sessions=2, misses=int(missed.sum()),
                means={"reward": float(win[~missed].mean())}, absent=("correct", "ground_truth"))  # fmt: skip


def points(root: Path, rng: Rng) -> Made:
    """Restless bandit of four arms with payoffs up to 100; 0 without an answer."""
    subject, choice, _ = bandit_rows(rng, arms=4)
    n = len(subject)
    missed, payoff = rng.random(n) < 0.05, rng.integers(1, 100, n)
    table = {
        "ID": subject + 1, "trial": np.tile(np.arange(1, 151), 2), "choice": np.where(missed, 0, choice + 1),
        "payoff": np.where(missed, 0, payoff), "rt": np.where(missed, 0.0, 0.3 + rng.gamma(2, 0.2, n)),
        "payoff1": rng.integers(1, 100, n), "payoff2": rng.integers(1, 100, n), "payoff3": rng.integers(1, 100, n),
        "payoff4": rng.integers(1, 100, n),
    }  # fmt: skip
    roles = {"subject": "ID", "trial": "trial", "choice": "choice", "reward": "payoff", "rt": "rt", "stimuli": ()}
    return Made(write_csv(root / "daw.csv", table), roles, sessions=2, misses=int(missed.sum()),
                means={"reward": float(payoff[~missed].mean())})  # fmt: skip


def horizon(root: Path, rng: Rng) -> Made:
    """Gaussian bandits in short games, numbered in ``task``, from one file for each person."""
    subject, choice, _ = bandit_rows(rng, n=200)
    n = len(subject)
    reward = rng.normal(0, 5, n).round(1)
    for who in (0, 1):
        k = subject == who
        table = {
            "task": np.repeat(np.arange(1, 21), 10), "trial": np.tile(np.arange(1, 11), 20), "choice": choice[k] + 1,
            "reward": reward[k], "RT": rng.integers(200, 900, k.sum()), "mu1": np.repeat(rng.normal(0, 9, 20), 10),
            "mu2": np.repeat(rng.normal(0, 9, 20), 10),
        }  # fmt: skip
        write_csv(root / f"person{who}.csv", table)
    roles = {"subject": "file", "session": "task", "trial": "trial", "choice": "choice", "reward": "reward",
             "rt": "RT", "stimuli": ()}  # fmt: skip
    return Made(root, roles, sessions=40, misses=0, means={"reward": float(reward.mean())})


def frame_of_pandas(root: Path, rng: Rng) -> Made:
    """Frame with subject and session as its index, nullable and categorical columns."""
    import pandas

    d = detection(rng)
    table = pandas.DataFrame({
        "mouse_name": pandas.Categorical(np.array(["m2", "m1"])[d.subject]), "session_date": np.array(
            ["2020-01-02", "2020-01-01"], "datetime64[D]")[d.session], "trial": d.trial,
        "signed_coherence": d.signed, "choice": pandas.array(np.where(d.missed, None, d.right * 1), "Int64"),
        "outcome": pandas.array(np.where(d.missed, None, d.correct), "boolean"),
        "response_time": np.where(d.missed, np.nan, d.seconds),
    }).set_index(["mouse_name", "session_date"])  # fmt: skip
    roles = {"subject": "mouse_name", "session": "session_date", "trial": "trial", "choice": "choice",
             "rt": "response_time", "reward": "outcome", "stimuli": ("signed_coherence",)}  # fmt: skip
    return made(d, table, roles)


def mapping(root: Path, rng: Rng) -> Made:
    d = detection(rng)
    table = {
        "subject": ["fish1" if s else "fish0" for s in d.subject], "session": d.session.tolist(),
        "evidence": d.signed.tolist(), "response": words(d, "ccw", "cw", None), "correct": d.correct.tolist(),
        "rt": [None if m else float(s) for m, s in zip(d.missed, d.seconds, strict=True)],
    }  # fmt: skip
    roles = {"subject": "subject", "session": "session", "choice": "response", "correct": "correct", "rt": "rt",
             "stimuli": ("evidence",)}  # fmt: skip
    return made(d, table, roles)


def list_of_files(root: Path, rng: Rng) -> Made:
    """One file for each session of each animal; the animal in a column, the session in the name of the file."""
    d = detection(rng)
    paths = []
    for k in range(4):
        rows = (d.subject == k // 2) & (d.session == k % 2)
        table = {
            "animal": [f"rat{k // 2}"] * int(rows.sum()), "trial": d.trial[rows] + 1, "stim": d.signed[rows],
            "choice": np.array(words(d, "L", "R", "omission"), object)[rows], "correct": d.correct[rows] * 1,
            "response_latency": np.where(d.missed, np.nan, d.seconds)[rows],
        }  # fmt: skip
        paths.append(write_csv(root / f"2020010{k % 2 + 1}_rat{k // 2}.csv", table))
    roles = {"subject": "animal", "session": "file", "trial": "trial", "choice": "choice", "correct": "correct",
             "rt": "response_latency", "stimuli": ("stim",)}  # fmt: skip
    return made(d, [str(path) for path in paths], roles)


def wager(root: Path, rng: Rng) -> Made:
    """Answers by arrow keys with wagers; rows of instructions are marked as practice."""
    d = detection(rng, sessions=1)
    n = len(d.right)
    practice = np.zeros(n, int)
    practice[:10] = practice[n // 2 : n // 2 + 10] = 1
    main = practice == 0
    table = {
        "workerId": np.array(["A1X", "B2Y"])[d.subject], "practice": practice, "coherence": d.signed,
        "keypress": words(d, "ArrowLeft", "ArrowRight", "none"), "correctness": d.correct * 1,
        "wager": rng.integers(1, 4, n), "latency": np.where(d.missed, np.nan, d.seconds),
    }  # fmt: skip
    roles = {"subject": "workerId", "choice": "keypress", "correct": "correctness", "confidence": "wager",
             "rt": "latency", "stimuli": ("coherence",)}  # fmt: skip
    return Made(write_csv(root / "wager.csv", table), roles, sessions=2, misses=int((d.missed & main).sum()),
                rows=int(main.sum()), means={"correct": float(d.correct[main & ~d.missed].mean())})  # fmt: skip


def memory(root: Path, rng: Rng) -> Made:
    """Recognition: old and new items, an age that is no stimulus, responses as words."""
    n = 300
    subject, old = np.repeat([0, 1], n // 2), rng.random(n) < 0.5
    says = np.where(rng.random(n) < 0.8, old, ~old)
    table = {
        "participant": subject + 1, "age": np.array([20, 65])[subject], "category": np.where(old, "old", "new"),
        "response": np.where(says, "old", "new"), "conf": rng.integers(1, 5, n), "rt": 0.4 + rng.gamma(2, 0.3, n),
    }  # fmt: skip
    roles = {"subject": "participant", "choice": "response", "ground_truth": "category", "confidence": "conf",
             "rt": "rt"}  # fmt: skip
    return Made(write_csv(root / "memory.csv", table), roles, sessions=2, misses=0,
                means={"correct": float((says == old).mean())})  # fmt: skip


def parquet_of_rats(root: Path, rng: Rng) -> Made:
    """Two sounds; the reversed coding: 1 is left, 0 is right; -1 is a violation."""
    import pyarrow as pa
    from pyarrow import parquet

    d = detection(rng)
    base = rng.normal(0, 1, len(d.right))
    table = pa.table({
        "ratid": np.array(["W1", "W2"])[d.subject], "sessdate": np.array(["2017-01-01", "2017-01-02"])[d.session],
        "s_a": base - d.signed, "s_b": base + d.signed, "choice": np.where(d.missed, -1, 1 - d.right),
        "hit": np.where(d.missed, np.nan, d.correct), "violation": d.missed,
    })  # fmt: skip
    parquet.write_table(table, root / "rats.parquet")
    roles = {"subject": "ratid", "session": "sessdate", "choice": "choice", "correct": "hit", "stimuli": ("s_a", "s_b")}
    return made(d, root / "rats.parquet", roles)


def feather_of_humans(root: Path, rng: Rng) -> Made:
    import pyarrow as pa
    from pyarrow import feather

    d = detection(rng)
    table = pa.table({
        "unique_participant": pa.array(np.array(["u1", "u2"])[d.subject]).dictionary_encode(), "visit": d.session,
        "signed_motion": d.signed, "resp": pa.array(words(d, False, True, None)), "answer": d.target,
        "RT": pa.array(np.where(d.missed, np.nan, d.seconds * 1000), pa.float32()), "frames": [[1, 2]] * len(d.right),
    })  # fmt: skip
    feather.write_feather(table, root / "humans.arrow")
    roles = {"subject": "unique_participant", "session": "visit", "choice": "resp", "ground_truth": "answer",
             "rt": "RT", "stimuli": ("signed_motion",)}  # fmt: skip
    return made(d, root / "humans.arrow", roles)


def json_lines(root: Path, rng: Rng) -> Made:
    """A line for each person of an experiment on the web, with nested trials."""
    d = detection(rng, sessions=1)
    people = []
    for who in (0, 1):
        trials = [
            {"trial": int(d.trial[k]), "contrast": float(d.signed[k]), "response": words(d, "left", "right", None)[k],
             "correct": bool(d.correct[k]), "rt": None if d.missed[k] else int(1000 * d.seconds[k])}
            for k in np.flatnonzero(d.subject == who)
        ]  # fmt: skip
        people.append({"prolific_id": f"5f{who}", "group": "control", "trials": trials})
    path = root / "people.jsonl"
    path.write_text("\n".join(map(json.dumps, people)))
    roles = {"subject": "prolific_id", "trial": "trial", "choice": "response", "correct": "correct", "rt": "rt",
             "stimuli": ("contrast",)}  # fmt: skip
    return made(d, path, roles, sessions=2)


MAKERS: dict[str, Callable[[Path, Rng], Made]] = {
    "IBL, cache of ONE": alf_cache,
    "IBL, export of pandas": alf_behaviour_export,
    "BIDS events with screens": bids_events,
    "BIDS, one file": bids_one_file,
    "jsPsych buttons, JSON": lambda root, rng: jspsych_buttons(root, rng, "json"),
    "jsPsych buttons, CSV": lambda root, rng: jspsych_buttons(root, rng, "csv"),
    "jsPsych 6": jspsych_key_codes,
    "PsychoPy, blocks": psychopy_blocks,
    "E-Prime": e_prime,
    "NWB, foraging": nwb_foraging,
    "NWB, detection": nwb_detection,
    "MATLAB, element for each trial": lambda root, rng: matlab_trials(root, rng, "trials"),
    "MATLAB, element for each subject": lambda root, rng: matlab_trials(root, rng, "subjects"),
    "MATLAB, file for each subject": matlab_matrix_of_people,
    "pyControl": pycontrol,
    "semicolons, sep=": semicolons,
    "CSV, gzip": lambda root, rng: compressed(root, rng, "csv.gz"),
    "TSV, gzip": lambda root, rng: compressed(root, rng, "tsv.gz"),
    "comments among rows": commented,
    "R": r_table,
    "monkeys, targets": roitman,
    "words, reversed": reversed_words,
    "Confidence Database, conditions": lambda root, rng: confidence_study(root, rng, False),
    "Confidence Database, reversed": lambda root, rng: confidence_study(root, rng, True),
    "HDDM, conflict": hddm_conflict,
    **{
        f"hBayesDM, {task}": lambda root, rng, task=task: hbayesdm(root, rng, task)  # type: ignore[misc]
        for task in ("risk aversion", "delay discounting", "ultimatum", "reversal, blocks", "probabilistic selection",
                     "choice and time", "Iowa gambling")
    },
    **{
        f"two-step, {form}": lambda root, rng, form=form: two_step(root, rng, form)  # type: ignore[misc]
        for form in ("Gillan", "mice", "four")
    },
    "go/no-go of a mouse": detections_of_signals,
    "values of options": values_of_options,
    "outcomes in words": outcomes_in_words,
    "restless bandit": points,
    "games in files": horizon,
    "frame with an index": frame_of_pandas,
    "dict of lists": mapping,
    "list of files": list_of_files,
    "wagers": wager,
    "memory": memory,
    "Parquet, reversed": parquet_of_rats,
    "Feather": feather_of_humans,
    "JSON lines": json_lines,
}  # fmt: skip
