"""Tables of less usual programs, codings and roles: three options, microseconds, flags of time-outs, offers."""

import json

import numpy as np

from tests.neurogym.behaviour import laboratories as lab

tables = lab.Tables()


@tables.add("IBL, DataJoint", "trials.csv", "stimuli=trial_stim_contrast_right-trial_stim_contrast_left")
def datajoint(d, rng):
    """Export of the IBL's DataJoint tables: turns of the wheel in words, contrasts of both sides without gaps."""
    size, side = np.abs(d.signed), d.target
    return {
        "subject_nickname > subject": np.array(["IBL-T1", "ZM_1897"])[d.subject],
        "session_start_time > session": np.array(["2019-10-01 10:00:00", "2019-10-02 10:00:00"])[d.session],
        "trial_id > trial": d.trial + 1,
        "trial_stim_contrast_left": np.where(side, 0.0, size),
        "trial_stim_contrast_right": np.where(side, size, 0.0),
        "trial_stim_prob_left": np.full(len(size), 0.5),
        "trial_response_choice > choice": lab.words(d, "CW", "CCW", "No Go"),
        "trial_feedback_type > correct": np.where(d.correct, 1, -1),
        "trial_reward_volume > reward": np.where(d.correct, 3.0, 0.0),
    }


def three_options(root, rng):
    """Three alternatives in words with the correct one, a strength, and misses."""
    n = 600
    subject, target = np.repeat([0, 1], n // 2), rng.integers(0, 3, n)
    strength = rng.choice([0.1, 0.3, 0.6], n)
    choice = np.where(rng.random(n) < 1 / 3 + strength, target, rng.integers(0, 3, n))
    missed = rng.random(n) < 0.04
    names = np.array(["left", "middle", "right"])
    table = {
        "subject >": subject + 1,
        "coherence > stimuli": strength,
        "correct_response > ground_truth": names[target],
        "response > choice": np.where(missed, "missed", names[choice]),
        "rt >": np.where(missed, np.nan, 0.3 + rng.gamma(2, 0.2, n)),
    }
    return lab.Made(
        lab.write_csv(root / "three.csv", table),
        lab.roles_in(table),
        sessions=2,
        misses=int(missed.sum()),
        means={"correct": float((choice == target)[~missed].mean())},
    )


@tables.add("microseconds", "arduino.txt", form={"separator": "|", "missing": "NULL"})
def microseconds(d, rng):
    """Times in microseconds, as some programs for MATLAB and Arduino write; bars between entries, NULL without one."""
    return {
        "mouse > subject": d.subject + 1,
        "sess > session": d.session + 1,
        "evidence > stimuli": d.signed,
        "choice >": lab.words(d, "L", "R", None),
        "correct >": [None if m else int(c) for m, c in zip(d.missed, d.correct, strict=True)],
        "rt_us > rt": [None if m else round(1e6 * float(s)) for m, s in zip(d.missed, d.seconds, strict=True)],
    }


def flag_of_timeouts(root, rng):
    """A default choice beside a flag of time-outs, which alone says that there was no answer."""
    d = lab.detection(rng)
    table = {
        "participant > subject": d.subject + 1,
        "session >": d.session + 1,
        "contrast > stimuli": d.signed,
        "choice >": np.where(d.missed, 0, d.right),
        "timeout": d.missed.astype(int),
        "correct >": np.where(d.missed, 0, d.correct),
        "rt >": np.where(d.missed, 2.0, np.minimum(d.seconds, 1.9)),
    }
    expected = lab.made(d, lab.write_csv(root / "timeouts.csv", table), lab.roles_in(table))
    expected.means["rt"] = float(np.minimum(d.seconds, 1.9)[~d.missed].mean())
    return expected


@tables.add("PsychoPy, lists of keys", "keys.csv", sessions=1)
def lists_of_keys(d, rng):
    """PsychoPy with all keys kept: keys and times as lists in brackets."""
    return {
        "participant > subject": np.array(["01", "02"])[d.subject],
        "trials.thisN": d.trial,
        "signed_coherence > stimuli": d.signed,
        "key_resp.keys > choice": [
            "" if m else "['right']" if r else "['left']" for m, r in zip(d.missed, d.right, strict=True)
        ],
        "key_resp.corr > correct": d.correct.astype(int),
        "key_resp.rt > rt": ["" if m else f"[{float(s)!r}]" for m, s in zip(d.missed, d.seconds, strict=True)],
    }


@tables.add("choices in degrees", "motion.csv")
def angles(d, rng):
    """Choices as directions in degrees, as are the targets; -1 without an answer."""
    return {
        "monkey > subject": np.array(["J", "K"])[d.subject],
        "date > session": np.array(["200101", "200102"])[d.session],
        "coh > stimuli": np.abs(d.signed),
        "direction > ground_truth": np.where(d.target, 0, 180),
        "choice_direction > choice": np.where(d.missed, -1, np.where(d.right, 0, 180)),
        "correct >": d.correct.astype(int),
        "reaction_time > rt": np.where(d.missed, np.nan, 1000 * d.seconds),
    }


@tables.add("truth values of R", "r.txt", form={"separator": "\t", "missing": "NA"})
def truths_of_r(d, rng):
    """Truth values of R as T and F, entries NA, a decimal point, a file of tabs."""
    return {
        "id > subject": np.array(["s01", "s02"])[d.subject],
        "session >": d.session + 1,
        "trial >": d.trial + 1,
        "intensity > stimuli": d.signed,
        "chose_right > choice": lab.words(d, "F", "T", None),
        "correct >": [None if m else "T" if c else "F" for m, c in zip(d.missed, d.correct, strict=True)],
        "RT > rt": np.where(d.missed, np.nan, d.seconds),
    }


def cells_of_words(root, rng):
    """MATLAB structure whose answers are a cell array of words, with a logical column."""
    from scipy.io import savemat

    d = lab.detection(rng)
    savemat(
        root / "session.mat",
        {
            "T": {
                "rat": np.array(["W068", "W070"], object)[d.subject][:, None],
                "session": (d.session + 1.0)[:, None],
                "delta_clicks": (8 * d.signed)[:, None],
                "side": np.array(lab.words(d, "left", "right", "none"), object)[:, None],
                "hit": d.correct[:, None],
            }
        },
    )
    roles = {"subject": "rat", "session": "session", "choice": "side", "correct": "hit", "stimuli": ("delta_clicks",)}
    return lab.made(d, root / "session.mat", roles)


@tables.add("clicks, reversed", "clicks.csv", "stimuli=right_clicks-left_clicks", form={"missing": "NaN"})
def clicks(d, rng):
    """Numbers of clicks on either side, the reversed coding: 1 reports the left."""
    base = rng.integers(15, 25, len(d.right))
    return {
        "ratname > subject": np.array(["A", "B"])[d.subject],
        "sessid > session": d.session + 500,
        "left_clicks": base - 8 * d.signed,
        "right_clicks": base + 8 * d.signed,
        "pokedL > choice": np.where(d.missed, np.nan, 1 - d.right),
        "hit > correct": d.correct * 1,
    }


def series(root, rng):
    """Mapping of pandas Series with another index than 0, 1, ..., answers categorical."""
    import pandas

    d = lab.detection(rng)
    index = np.arange(len(d.right)) + 17
    columns = {
        "subject": np.array(["a", "b"])[d.subject],
        "session": d.session,
        "stim": d.signed,
        "rt": d.seconds,
        "choice": pandas.Categorical(lab.words(d, "low", "high", None)),
        "correct": d.correct,
    }
    table = {name: pandas.Series(values, index=index) for name, values in columns.items()}
    roles = lab.roles_of("subject=subject session=session choice=choice correct=correct rt=rt stimuli=stim")
    return lab.made(d, table, roles)


def nested_answers(root, rng):
    """JSON of a server: trials in lists beside what is known of a person, answers with a side and a time inside."""
    d = lab.detection(rng, sessions=1)
    people = []
    for who in (0, 1):
        trials = [
            {
                "block": "main",
                "morph": float(d.signed[k]),
                "correct": bool(d.correct[k]),
                "response": {
                    "side": lab.words(d, "left", "right", None)[k],
                    "rt": None if d.missed[k] else round(1000 * float(d.seconds[k])),
                },
            }
            for k in np.flatnonzero(d.subject == who)
        ]
        people.append({"participant": f"p{who}", "age": 30 + who, "trials": trials})
    path = root / "server.json"
    path.write_text(json.dumps(people))
    roles = lab.roles_of("subject=participant choice=response.side correct=correct rt=response.rt stimuli=morph")
    return lab.made(d, path, roles, sessions=2)


@tables.add("times coded 999", "coded.csv", notes=("0 is read as no answer",))
def coded_times(d, rng):
    """Button 0 beside 1 and 2 where the time is coded 999."""
    return {
        "SubjectID > subject": d.subject + 1,
        "Sess": d.session + 1,
        "Coherence > stimuli": d.signed,
        "Resp > choice": np.where(d.missed, 0, d.right + 1),
        "Acc > correct": d.correct * 1,
        "RT > rt": np.where(d.missed, 999, d.seconds),
    }


@tables.add("third button, percent signs", "buttons.csv", notes=("3 is read as no answer",))
def third_button(d, rng):
    """Button 3 beside 1 and 2 where there is no time; strength with percent signs."""
    return {
        "id > subject": np.array(["x1", "x2"])[d.subject],
        "session": d.session + 1,
        "corr > correct": d.correct * 100,
        "stim_strength > stimuli": [f"{100 * value:g}%" for value in d.signed],
        "button > choice": np.where(d.missed, 3, d.right + 1),
        "RT (s) > rt": np.where(d.missed, np.nan, d.seconds),
    }


def what_was_given(root, rng):
    """Outcomes named by what was given; the probabilities behind them are no stimuli."""
    n = 600
    lick, win, missed = rng.integers(0, 2, n), rng.random(n) < 0.4, rng.random(n) < 0.05
    table = {
        "animal > subject": np.repeat(["m1", "m2"], n // 2),
        "date": np.repeat(["2021-03-01", "2021-03-02"], n // 2),
        "lick > choice": np.where(missed, "none", np.array(["L", "R"])[lick]),
        "outcome": np.where(win, "water", "noise"),
        "p_left": rng.choice([0.1, 0.7], n),
        "p_right": rng.choice([0.1, 0.7], n),
    }
    return lab.Made(
        lab.write_csv(root / "licks.csv", table),
        lab.roles_in(table, "stimuli="),
        sessions=2,
        misses=int(missed.sum()),
        means={"reward": float(win[~missed].mean())},
    )


MAKERS = tables.makers | {
    "three options": three_options,
    "flag of time-outs": flag_of_timeouts,
    "MATLAB, cells of words": cells_of_words,
    "mapping of Series": series,
    "JSON, answers nested": nested_answers,
    "outcomes by what was given": what_was_given,
}
