"""Tables as particular laboratories write them: text, frames and files of columns, with their traps."""

import gzip
import json

import numpy as np

from tests.neurogym.behaviour import laboratories as lab

tables = lab.Tables()


def semicolons(root, rng):
    """Export of a German spreadsheet: decimal comma, first line for Excel, words with umlauts, -999 without a time."""
    d = lab.detection(rng)
    table = {
        "Subject > subject": np.array(["Jürgen", "Zoë"])[d.subject],
        "Session > session": d.session + 1,
        "Trial > trial": d.trial + 1,
        "Difference > stimuli": d.signed,
        "Response > choice": lab.words(d, "größer", "kleiner", "n/a"),
        "Correct > correct": d.correct.astype(int),
        "RT > rt": np.where(d.missed, -999.0, (1000 * d.seconds).round(1)),
    }
    form = {"decimal": ",", "encoding": "latin-1", "before": "sep=;\r\n", "ending": "\r\n"}
    return lab.made(d, lab.write_csv(root / "Daten.csv", table, ";", **form), lab.roles_in(table))


def compressed(root, rng, ending):
    d = lab.detection(rng)
    table = {
        "rat > subject": np.array(["A101", "A102"])[d.subject],
        "sessid > session": d.session + 9000,
        "n_left": (20 - 10 * d.signed),
        "n_right": (20 + 10 * d.signed),
        "wentRight > choice": np.where(d.missed, np.nan, d.right),
        "hit > correct": d.correct * 1,
    }
    path = lab.write_csv(root / "clicks.csv", table, "\t" if "tsv" in ending else ",", missing="NaN")
    zipped = root / f"clicks.{ending}"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    return lab.made(d, zipped, lab.roles_in(table, "stimuli=n_right-n_left"))


def commented(root, rng):
    """Comments at the top and among the rows, quoted words with commas, a mark of byte order."""
    d = lab.detection(rng)
    names = ['"Doe, J."', '"Roe, R."']
    table = {
        "participant > subject": np.array(names)[d.subject],
        "block type": ["main"] * len(d.right),
        "visit > session": d.session + 1,
        "stim_intensity > stimuli": d.signed,
        "key > choice": lab.words(d, "f", "j", "timeout"),
        "acc > correct": words_of_correct(d, "correct", "wrong"),
        "reaction time (ms) > rt": np.where(d.missed, np.nan, (1000 * d.seconds).round()),
    }
    path = lab.write_csv(root / "c.csv", table, before="# exported 2020\n% by a script\n", mark=b"\xef\xbb\xbf")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:50], "# the subject sneezed", *lines[50:]]) + "\n")
    return lab.made(d, path, lab.roles_in(table))


def words_of_correct(d, yes, no):
    """Return correctness in words; empty without an answer."""
    return [None if m else yes if c else no for m, c in zip(d.missed, d.correct, strict=True)]


def r_table(root, rng):
    """``write.table`` of R: names of rows, quotes, spaces; factors of which the first level is the right."""
    d = lab.detection(rng)
    header = '"id" "sess" "evidence" "response" "correct" "rt"'
    lines = []
    for k in range(len(d.right)):
        answer = f'"{"AB"[int(d.right[k])]}" {str(bool(d.correct[k])).upper()} {round(d.seconds[k], 3)}'
        start = [f'"{k + 1}"', f'"p{d.subject[k]}"', str(d.session[k] + 1), str(d.signed[k])]
        lines.append(" ".join([*start, "NA NA NA" if d.missed[k] else answer]))
    path = root / "study.dat"
    path.write_text("\n".join([header, *lines]) + "\n")
    roles = lab.roles_of("subject=id session=sess choice=response correct=correct rt=rt stimuli=evidence")
    return lab.made(d, path, roles)


@tables.add("monkeys, targets", "t1.csv", form={"missing": "NaN"})
def roitman(d, rng):
    """Monkeys of the vision laboratories: coherence without a sign, targets 1 and 2 for the reversed side."""
    return {
        "monkey > subject": d.subject + 1,
        "date > session": np.array([20000101, 20000102])[d.session],
        "dot_coh > stimuli": np.abs(d.signed) * 51.2,
        "dot_dir": np.where(d.target, 0, 180),
        "targ_cor > ground_truth": np.where(d.target, 1, 2),
        "targ_cho > choice": np.where(d.missed, 0, np.where(d.right, 1, 2)),
        "correct >": d.correct * 1,
        "rxtime > rt": np.where(d.missed, np.nan, (1000 * d.seconds).round()),
    }


@tables.add("words, reversed", "faces.csv")
def reversed_words(d, rng):
    """Answers in words whose alphabetical order is not that of the evidence, a numbered session, ms."""
    return {
        "subj_id > subject": d.subject + 1,
        "sessNum > session": d.session + 1,
        "trial_NR > trial": d.trial + 1,
        "morph > stimuli": -d.signed,
        "response > choice": lab.words(d, "house", "face", "none"),
        "accuracy > correct": np.where(d.missed, np.nan, d.correct),
        "RT > rt": np.where(d.missed, 9999, (1000 * d.seconds).round()),
    }


def confidence_study(root, rng, reverse):
    """Studies of the Confidence Database with conditions, one time for both, errors; or responses 1/0 reversed."""
    d = lab.detection(rng)
    n = len(d.right)
    table = {
        "Subj_idx > subject": d.subject + 1,
        "Stimulus > ground_truth": np.where(d.target, 1, 0),
        "Response > choice": [None if m else int(r) for m, r in zip(d.missed, d.right != reverse, strict=True)],
        "Confidence > confidence": np.where(d.missed, np.nan, rng.integers(1, 7, n)),
        "RT_decConf > rt": np.where(d.missed, np.nan, d.seconds),
        "Day > session": d.session + 1,
        "ErrorDirectionJudgment > correct": np.where(d.missed, np.nan, np.where(d.correct, 1, -1)),
        "Contrast": np.abs(d.signed),
        "Difficulty": np.where(np.abs(d.signed) < 0.3, "hard", "easy"),
        "Age": np.array([21, 34])[d.subject],
    }
    return lab.made(
        d,
        lab.write_csv(root / "data_Doe_2019.csv", table, missing="NaN"),
        lab.roles_in(table),
        notes=("Stimulus is read as the correct choice: 0 = 1, 1 = 0",) if reverse else (),
    )


@tables.add(
    "HDDM, conflict",
    "theta.csv",
    "stimuli=",
    sessions=1,
    misses=0,
    absent=("confidence", "ground_truth", "correct", "reward"),
)
def hddm_conflict(d, rng):
    """Example of HDDM: ``conf`` is conflict in words, ``stim`` has three kinds, a covariate, no correctness."""
    n = len(d.right)
    return {
        "subj_idx > subject": d.subject,
        "stim": rng.choice(["LL", "WL", "WW"], n),
        "rt >": d.seconds,
        "response > choice": d.right.astype(float),
        "theta": rng.normal(0, 0.3, n),
        "dbs": rng.integers(0, 2, n),
        "conf": rng.choice(["HC", "LC"], n),
    }


def frame_of_pandas(root, rng):
    """Frame with subject and session as its index, nullable and categorical columns."""
    import pandas

    d = lab.detection(rng)
    table = pandas.DataFrame(
        {
            "mouse_name": pandas.Categorical(np.array(["m2", "m1"])[d.subject]),
            "session_date": np.array(["2020-01-02", "2020-01-01"], "datetime64[D]")[d.session],
            "trial": d.trial,
            "signed_coherence": d.signed,
            "choice": pandas.array(np.where(d.missed, None, d.right * 1), "Int64"),
            "outcome": pandas.array(np.where(d.missed, None, d.correct), "boolean"),
            "response_time": np.where(d.missed, np.nan, d.seconds),
        }
    ).set_index(["mouse_name", "session_date"])
    roles = lab.roles_of(
        "subject=mouse_name session=session_date trial=trial choice=choice rt=response_time reward=outcome "
        "stimuli=signed_coherence"
    )
    return lab.made(d, table, roles)


def mapping(root, rng):
    d = lab.detection(rng)
    table = {
        "subject": ["fish1" if s else "fish0" for s in d.subject],
        "session": d.session.tolist(),
        "evidence": d.signed.tolist(),
        "response": lab.words(d, "ccw", "cw", None),
        "correct": d.correct.tolist(),
        "rt": [None if m else float(s) for m, s in zip(d.missed, d.seconds, strict=True)],
    }
    roles = lab.roles_of("subject=subject session=session choice=response correct=correct rt=rt stimuli=evidence")
    return lab.made(d, table, roles)


def list_of_files(root, rng):
    """One file for each session of each animal; the animal in a column, the session in the name of the file."""
    d = lab.detection(rng)
    paths = []
    for k in range(4):
        rows = (d.subject == k // 2) & (d.session == k % 2)
        table = {
            "animal > subject": [f"rat{k // 2}"] * int(rows.sum()),
            "trial >": d.trial[rows] + 1,
            "stim > stimuli": d.signed[rows],
            "choice >": np.array(lab.words(d, "L", "R", "omission"), object)[rows],
            "correct >": d.correct[rows] * 1,
            "response_latency > rt": np.where(d.missed, np.nan, d.seconds)[rows],
        }
        paths.append(lab.write_csv(root / f"2020010{k % 2 + 1}_rat{k // 2}.csv", table))
    return lab.made(d, [str(path) for path in paths], lab.roles_in(table, "session=file"))


def memory(root, rng):
    """Recognition: old and new items, an age that is no stimulus, responses as words."""
    n = 300
    subject, old = np.repeat([0, 1], n // 2), rng.random(n) < 0.5
    says = np.where(rng.random(n) < 0.8, old, ~old)
    table = {
        "participant > subject": subject + 1,
        "age": np.array([20, 65])[subject],
        "category > ground_truth": np.where(old, "old", "new"),
        "response > choice": np.where(says, "old", "new"),
        "conf > confidence": rng.integers(1, 5, n),
        "rt >": 0.4 + rng.gamma(2, 0.3, n),
    }
    return lab.Made(
        lab.write_csv(root / "memory.csv", table),
        lab.roles_in(table),
        sessions=2,
        misses=0,
        means={"correct": float((says == old).mean())},
    )


def parquet_of_rats(root, rng):
    """Two sounds; the reversed coding: 1 is left, 0 is right; -1 is a violation."""
    import pyarrow as pa
    from pyarrow import parquet

    d = lab.detection(rng)
    base = rng.normal(0, 1, len(d.right))
    table = pa.table(
        {
            "ratid": np.array(["W1", "W2"])[d.subject],
            "sessdate": np.array(["2017-01-01", "2017-01-02"])[d.session],
            "s_a": base - d.signed,
            "s_b": base + d.signed,
            "choice": np.where(d.missed, -1, 1 - d.right),
            "hit": np.where(d.missed, np.nan, d.correct),
            "violation": d.missed,
        }
    )
    parquet.write_table(table, root / "rats.parquet")
    roles = {"subject": "ratid", "session": "sessdate", "choice": "choice", "correct": "hit", "stimuli": ("s_a", "s_b")}
    return lab.made(d, root / "rats.parquet", roles)


def feather_of_humans(root, rng):
    import pyarrow as pa
    from pyarrow import feather

    d = lab.detection(rng)
    table = pa.table(
        {
            "unique_participant": pa.array(np.array(["u1", "u2"])[d.subject]).dictionary_encode(),
            "visit": d.session,
            "signed_motion": d.signed,
            "resp": pa.array(lab.words(d, False, True, None)),
            "answer": d.target,
            "RT": pa.array(np.where(d.missed, np.nan, d.seconds * 1000), pa.float32()),
            "frames": [[1, 2]] * len(d.right),
        }
    )
    feather.write_feather(table, root / "humans.arrow")
    roles = lab.roles_of(
        "subject=unique_participant session=visit choice=resp ground_truth=answer rt=RT stimuli=signed_motion"
    )
    return lab.made(d, root / "humans.arrow", roles)


def json_lines(root, rng):
    """A line for each person of an experiment on the web, with nested trials."""
    d = lab.detection(rng, sessions=1)
    people = []
    for who in (0, 1):
        trials = [
            {
                "trial": int(d.trial[k]),
                "contrast": float(d.signed[k]),
                "response": lab.words(d, "left", "right", None)[k],
                "correct": bool(d.correct[k]),
                "rt": None if d.missed[k] else int(1000 * d.seconds[k]),
            }
            for k in np.flatnonzero(d.subject == who)
        ]
        people.append({"prolific_id": f"5f{who}", "group": "control", "trials": trials})
    path = root / "people.jsonl"
    path.write_text("\n".join(map(json.dumps, people)))
    roles = lab.roles_of("subject=prolific_id trial=trial choice=response correct=correct rt=rt stimuli=contrast")
    return lab.made(d, path, roles, sessions=2)


MAKERS = tables.makers | {
    "semicolons, sep=": semicolons,
    "CSV, gzip": lambda root, rng: compressed(root, rng, "csv.gz"),
    "TSV, gzip": lambda root, rng: compressed(root, rng, "tsv.gz"),
    "comments among rows": commented,
    "R": r_table,
    "Confidence Database, conditions": lambda root, rng: confidence_study(root, rng, False),
    "Confidence Database, reversed": lambda root, rng: confidence_study(root, rng, True),
    "frame with an index": frame_of_pandas,
    "dict of lists": mapping,
    "list of files": list_of_files,
    "memory": memory,
    "Parquet, reversed": parquet_of_rats,
    "Feather": feather_of_humans,
    "JSON lines": json_lines,
}
