"""Files of programs that run or record experiments: ALF, BIDS, jsPsych, PsychoPy, E-Prime, NWB, MATLAB, pyControl."""

import csv
import io
import json
from typing import Any

import numpy as np

from tests.neurogym.behaviour import laboratories as lab

tables = lab.Tables()


def alf_cache(root, rng):
    """Cache of ONE: a revision folder, identifiers in the names of files, further columns."""
    import pyarrow as pa
    from pyarrow import parquet

    d = lab.detection(rng)
    columns = lab.ibl_columns(d) | {
        "goCueTrigger_times": np.arange(len(d.right)) * 3.0,
        "quiescencePeriod": rng.uniform(0.4, 0.7, len(d.right)),
    }
    for k in range(4):
        rows = (d.subject == k // 2) & (d.session == k % 2)
        folder = root / "alab" / "Subjects" / f"KS0{k // 2}2" / f"2021-03-1{k % 2}" / "002" / "alf" / "#2025-03-03#"
        folder.mkdir(parents=True)
        table = pa.table({name: values[rows] for name, values in columns.items()})
        parquet.write_table(table, folder / "_ibl_trials.table.0f1c7a2e-1b5c-4f7e-8e9d-8a1c2d3e4f50.pqt")
    roles = lab.roles_of(
        "choice=choice correct=feedbackType reward=rewardVolume rt=rt subject=subject session=session "
        "stimuli=contrastRight-contrastLeft"
    )
    return lab.made(d, root, roles)


@tables.add("IBL, export of pandas", "trials.csv", "choice=choice correct=feedbackType reward=rewardVolume")
def alf_behaviour_export(d, rng):
    """Trials of many sessions written by pandas with the index, and the signed contrast beside both sides."""
    columns = {k: v for k, v in lab.ibl_columns(d).items() if "times" not in k}
    return {
        "": np.arange(len(d.right)),
        **columns,
        "signed_contrast > stimuli": d.signed,
        "reaction_time > rt": np.where(d.missed, np.nan, d.seconds),
        "subject >": np.array(["CSHL_001", "NYU-11"])[d.subject],
        "eid > session": np.array(["aa-1", "aa-2", "bb-1", "bb-2"])[2 * d.subject + d.session],
        "trial": d.trial,
    }


def bids_events(root, rng):
    """Events of a scanner session: fixation and feedback have rows of their own."""
    d = lab.detection(rng)
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
            "onset": np.arange(n) * 1.5,
            "duration": np.ones(n),
            "trial_type": [line[0] for line in lines],
            "contrast > stimuli": [line[1] for line in lines],
            "response > choice": [line[2] for line in lines],
            "response_time > rt": [line[3] for line in lines],
        }
        lab.write_csv(folder / f"sub-A{k // 2}_task-det_run-0{k % 2 + 1}_events.tsv", table, "\t", "n/a")
    return lab.made(d, root, lab.roles_in(table, "subject=subject session=session"), rows=600)


@tables.add("BIDS, one file", "task-dots_beh.tsv", sessions=1, form={"separator": "\t", "missing": "n/a"})
def bids_one_file(d, rng):
    return {
        "participant_id > subject": np.array(["sub-01", "sub-02"])[d.subject],
        "onset": np.arange(len(d.right)) * 3.0,
        "duration": np.full(len(d.right), 1.0),
        "trial_type": np.where(np.abs(d.signed) < 0.2, "hard", "easy"),
        "signed_coherence > stimuli": d.signed,
        "response > choice": np.where(d.missed, -1, d.right),
        "accuracy > correct": np.where(d.missed, np.nan, d.correct),
        "response_time > rt": np.where(d.missed, np.nan, d.seconds),
    }


def jspsych_buttons(root, rng, kind):
    """Buttons by number, a file for each person, the person in the name of the file only."""
    d = lab.detection(rng, sessions=1)
    for who in (0, 1):
        rows: list[dict[str, Any]] = [
            {"trial_type": "instructions", "trial_index": 0, "time_elapsed": 4000, "rt": 3990, "view_history": "[1]"}
        ]
        for k in np.flatnonzero(d.subject == who):
            missed = bool(d.missed[k])
            rows.append(
                {
                    "trial_type": "image-button-response",
                    "trial_index": len(rows),
                    "time_elapsed": 5000 + 10 * len(rows),
                    "internal_node_id": f"0.0-{len(rows)}.0",
                    "stimulus": f"img/{k % 7}.png",
                    "rt": None if missed else round(1000 * float(d.seconds[k]), 1),
                    "response": None if missed else int(d.right[k]),
                    "morph_level": float(d.signed[k]),
                    "correct": bool(d.correct[k]),
                }
            )
        rows.append(
            {
                "trial_type": "survey-text",
                "trial_index": len(rows),
                "time_elapsed": 10**6,
                "rt": 20000,
                "response": {"Q0": "no comment"},
            }
        )
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
    return lab.made(d, root, roles, sessions=2, rows=300, given={"subject": "file"})


def _jspsych_word(value: Any) -> str:
    if value is None:
        return "null"
    return json.dumps(value) if isinstance(value, bool | dict) else str(value)


def jspsych_key_codes(root, rng):
    """Version 6: key codes in ``key_press``, -1 without an answer, phases in ``test_part``."""
    d = lab.detection(rng, sessions=1)
    rows = []
    for who in (0, 1):
        for k in np.flatnonzero(d.subject == who):
            common = {"participant": f"s{who}", "trial_type": "html-keyboard-response", "time_elapsed": 9}
            rows.append({**common, "trial_index": len(rows), "test_part": "fixation", "key_press": None, "rt": None})
            rows.append(
                {
                    **common,
                    "trial_index": len(rows),
                    "test_part": "test",
                    "contrast": float(d.signed[k]),
                    "key_press": -1 if d.missed[k] else 74 if d.right[k] else 70,
                    "rt": -1 if d.missed[k] else int(1000 * d.seconds[k]),
                    "correct": bool(d.correct[k]),
                }
            )
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = {name: [_jspsych_word(row.get(name)) for row in rows] for name in names}
    roles = lab.roles_of("subject=participant choice=key_press correct=correct rt=rt stimuli=contrast")
    return lab.made(d, lab.write_csv(root / "jspsych6.csv", table), roles, sessions=2, rows=300)


def psychopy_blocks(root, rng):
    """Blocks around trials, components with names of their own, wide rows of routines in between."""
    d = lab.detection(rng, sessions=1)
    for who in (0, 1):
        lines: list[dict[str, Any]] = [{"key_instr.keys": "space", "key_instr.rt": 8.2}]
        for n, k in enumerate(np.flatnonzero(d.subject == who)):
            lines.append(
                {
                    "blocks.thisN": n // 50,
                    "trials_loop.thisN": n % 50,
                    "trials_loop.thisTrialN": n % 50,
                    "ori": float(d.signed[k] * 10),
                    "corrKey": "m" if d.target[k] else "z",
                    "resp.keys": "None" if d.missed[k] else "m" if d.right[k] else "z",
                    "resp.corr": int(d.correct[k]),
                    "resp.rt": None if d.missed[k] else float(d.seconds[k]),
                    "stim.started": 3.0 * n,
                }
            )
            if n % 50 == 49:
                lines.append({"blocks.thisN": n // 50, "key_break.keys": "space", "key_break.rt": 3.1})
        names = list(dict.fromkeys(name for line in lines for name in line))
        table = {name: [line.get(name) for line in lines] for name in names}
        extra = {
            "participant": [f"P{who}"] * len(lines),
            "date": [f"2024-02-1{who}_11h00.00.000"] * len(lines),
            "expName": ["tilt"] * len(lines),
            "psychopyVersion": ["2023.2.3"] * len(lines),
        }
        lab.write_csv(root / f"P{who}_tilt_2024.csv", table | extra)
    roles = lab.roles_of("subject=participant choice=resp.keys correct=resp.corr rt=resp.rt stimuli=ori")
    return lab.made(d, root, roles, sessions=2, rows=300)


@tables.add(
    "E-Prime",
    "merged.txt",
    form={"separator": "\t", "before": "C:\\data\\merged.emrg2\r\n", "ending": "\r\n", "encoding": "utf-16"},
)
def e_prime(d, rng):
    """Merged export of E-Prime: UTF-16, a first line with the path, answers and times of the component."""
    return {
        "ExperimentName": ["Tilt"] * len(d.right),
        "Subject > subject": d.subject + 11,
        "Session > session": d.session + 1,
        "Trial > trial": d.trial + 1,
        "Tilt > stimuli": d.signed,
        "Probe.ACC > correct": d.correct.astype(int),
        "Probe.CRESP > ground_truth": np.where(d.target, 2, 1),
        "Probe.RESP > choice": lab.words(d, 1, 2, None),
        "Probe.RT > rt": np.where(d.missed, 0, (1000 * d.seconds).round()).astype(int),
    }


def nwb_foraging(root, rng):
    """Dynamic foraging: 2 is an ignored trial, rewards of each side in columns of their own."""
    subject, choice, win = lab.bandit_rows(rng)
    n = len(subject)
    ignored, blocks = rng.random(n) < 0.07, np.repeat([0.1, 0.4, 0.1, 0.4], -(-n // 4))[:n]
    columns = {
        "animal_response": np.where(ignored, 2, choice).astype(float),
        "rewarded_historyL": (choice == 0) & win & ~ignored,
        "rewarded_historyR": (choice == 1) & win & ~ignored,
        "reward_probabilityL": blocks,
        "delay_duration": rng.random(n),
        "reward_probabilityR": 0.5 - blocks,
        "ITI_duration": rng.random(n),
        "auto_waterL": np.zeros(n),
        "auto_waterR": np.zeros(n),
        "bait_left": rng.random(n) < 0.5,
        "bait_right": rng.random(n) < 0.5,
    }
    for who in (0, 1):
        trials = {name: values[subject == who] for name, values in columns.items()}
        lab.write_nwb(root / f"{700 + who}.nwb", f"{700 + who}", trials)
    return lab.Made(
        root,
        lab.roles_of("subject=subject choice=animal_response reward=reward stimuli="),
        sessions=2,
        misses=int(ignored.sum()),
        means={"reward": float(win[~ignored].mean())},
        absent=("correct", "ground_truth", "rt"),
    )


def nwb_detection(root, rng):
    d = lab.detection(rng, sessions=1)
    columns = {
        "evidence_strength": d.signed,
        "response": np.array(lab.words(d, "L", "R", "no_response"), object),
        "is_correct": d.correct,
        "reaction_time": np.where(d.missed, np.nan, d.seconds),
    }
    for who in (0, 1):
        trials = {name: values[d.subject == who] for name, values in columns.items()}
        lab.write_nwb(root / f"rat-{who}.nwb", f"rat-{who}", trials, **{"general/session_id": f"rat-{who}-day1"})
    roles = lab.roles_of(
        "subject=subject session=session choice=response correct=is_correct rt=reaction_time stimuli=evidence_strength"
    )
    return lab.made(d, root, roles, sessions=2)


def matlab_trials(root, rng, name):
    """Structure array with an element for each trial, or for each subject."""
    from scipy.io import savemat

    d = lab.detection(rng)
    columns = {
        "animal": np.array(["anna", "bert"], object)[d.subject],
        "day": d.session + 1,
        "trialNumber": d.trial + 1,
        "stimStrength": d.signed,
        "choice": np.where(d.missed, 0, np.where(d.right, 1, -1)),
        "correct": np.where(d.missed, np.nan, d.correct),
        "rt": np.where(d.missed, np.nan, d.seconds),
    }
    if name == "trials":
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        savemat(root / "trials.mat", {"trials": np.array(rows, object)})
    else:
        subjects = []
        for who in (0, 1):
            fields = {k: v[d.subject == who] for k, v in columns.items() if k != "animal"}
            subjects.append({"animal": ["anna", "bert"][who], **fields})
        savemat(root / "trials.mat", {"data": np.array(subjects, object), "params": {"version": 2}})
    roles = lab.roles_of(
        "subject=animal session=day trial=trialNumber choice=choice correct=correct rt=rt stimuli=stimStrength"
    )
    return lab.made(d, root / "trials.mat", roles)


def matlab_matrix_of_people(root, rng):
    """A ``results`` structure of row vectors; answers 1 and 2, 0 without one, times in ms."""
    from scipy.io import savemat

    d = lab.detection(rng, sessions=1)
    for who in (0, 1):
        k = d.subject == who
        savemat(
            root / f"subj{who + 1}.mat",
            {
                "results": {
                    "response": np.where(d.missed, 0, np.where(d.right, 2, 1))[k][None],
                    "accuracy": d.correct[k][None] * 1.0,
                    "RT": np.where(d.missed, 0, 1000 * d.seconds)[k][None],
                    "orientation": d.signed[k][None],
                    "date": "01-Jan-2020",
                }
            },
        )
    roles = {"subject": "file", "choice": "response", "correct": "accuracy", "rt": "RT", "stimuli": ("orientation",)}
    return lab.made(d, root, roles, sessions=2)


def pycontrol(root, rng):
    subject, choice, win = lab.bandit_rows(rng)
    missed = rng.random(len(subject)) < 0.03
    table = {
        "subject_ID > subject": np.array(["m1", "m2"])[subject],
        "start_date": ["2022-05-05"] * len(subject),
        "n_trial > trial": np.tile(np.arange(1, 151), 2),
        "choice >": [None if m else "right_poke" if c else "left_poke" for m, c in zip(missed, choice, strict=True)],
        "outcome > reward": [None if m else bool(w) for m, w in zip(missed, win, strict=True)],
        "reward_block": np.repeat(["left", "right"], 75).tolist() * 2,
    }
    return lab.Made(
        lab.write_csv(root / "sessions.tsv", table, "\t"),
        lab.roles_in(table, "stimuli="),
        sessions=2,
        misses=int(missed.sum()),
        means={"reward": float(win[~missed].mean())},
        absent=("correct", "ground_truth"),
    )


MAKERS = tables.makers | {
    "IBL, cache of ONE": alf_cache,
    "BIDS events with screens": bids_events,
    "jsPsych buttons, JSON": lambda root, rng: jspsych_buttons(root, rng, "json"),
    "jsPsych buttons, CSV": lambda root, rng: jspsych_buttons(root, rng, "csv"),
    "jsPsych 6": jspsych_key_codes,
    "PsychoPy, blocks": psychopy_blocks,
    "NWB, foraging": nwb_foraging,
    "NWB, detection": nwb_detection,
    "MATLAB, element for each trial": lambda root, rng: matlab_trials(root, rng, "trials"),
    "MATLAB, element for each subject": lambda root, rng: matlab_trials(root, rng, "subjects"),
    "MATLAB, file for each subject": matlab_matrix_of_people,
    "pyControl": pycontrol,
}
