"""Tables of choices with outcomes: bandits, two-step tasks, offers, signals, wagers, games."""

from functools import partial

import numpy as np

from tests.neurogym.behaviour import laboratories as lab

tables = lab.Tables()


def trials(n):
    """Return the numbers of the trials of two subjects."""
    return np.tile(np.arange(1, n // 2 + 1), 2)


def alternatives(rng, n):
    """Return columns of answers that are right in four of five trials, about."""
    response = rng.integers(0, 2, n)
    stimulus = np.where(rng.random(n) < 0.8, response, 1 - response)
    return {"stimulus > ground_truth": stimulus, "response > choice": response}


#: Further tasks of hBayesDM, whose offers are no outcomes: columns of n trials with random choices and wins.
HBAYESDM = {
    "risk aversion": lambda rng, n, choice, win: {
        "trial >": trials(n),
        "gain > stimuli": rng.integers(1, 13, n),
        "loss > stimuli": rng.integers(0, 13, n),
        "cert > stimuli": rng.integers(0, 5, n),
        "gamble > choice": choice,
    },
    "delay discounting": lambda rng, n, choice, win: {
        "trial >": trials(n),
        "delay_later > stimuli": rng.choice([6.0, 170], n),
        "amount_later > stimuli": rng.choice([10.5, 38.3], n),
        "delay_sooner": np.zeros(n),
        "amount_sooner": np.full(n, 10.0),
        "choice >": choice,
    },
    "ultimatum": lambda rng, n, choice, win: {
        "trial": trials(n),
        "offer > stimuli": rng.integers(1, 20, n),
        "accept > choice": choice,
    },
    "reversal, blocks": lambda rng, n, choice, win: {
        "block > session": np.tile(np.repeat([1, 2, 3], 50), 2),
        "trial >": np.tile(np.arange(1, 51), 6),
        "choice >": choice + 1,
        "outcome > reward": np.where(win, 1, -1),
    },
    "probabilistic selection": lambda rng, n, choice, win: {
        "type": rng.choice([12, 34, 56], n),
        "choice >": choice,
        "reward >": win * 1,
    },
    "choice and time": lambda rng, n, choice, win: {
        "choice >": choice + 1,
        "RT > rt": 0.3 + rng.gamma(2, 0.2, n),
        "condition": rng.integers(1, 3, n),
    },
    "Iowa gambling": lambda rng, n, choice, win: {
        "trial >": trials(n),
        "deck > choice": rng.integers(1, 5, n),
        "gain >": np.full(n, 100),
        "loss >": -1250 * (rng.random(n) < 0.1),
    },
    "ambiguity": lambda rng, n, choice, win: {
        "prob": rng.choice([0.13, 0.25, 0.38, 0.5], n),
        "ambig": rng.choice([0, 0.24, 0.5, 0.74], n),
        "reward_var": rng.choice([5.0, 9.5, 18, 34, 65], n),
        "reward_fix": np.full(n, 5),
        "choice >": choice,
    },
    "risk with happiness": lambda rng, n, choice, win: {
        "gamble_type": rng.choice(["gain", "loss", "mixed"], n),
        "cert > stimuli": rng.integers(-50, 50, n),
        "gain > stimuli": rng.integers(0, 100, n),
        "loss > stimuli": -rng.integers(0, 100, n),
        "RT > rt": rng.integers(500, 3000, n),
        "gamble > choice": choice,
        "outcome > reward": np.where(win, 40, -20),
        "happy": rng.integers(0, 800, n),
        "RT_happy": rng.integers(500, 3000, n),
    },
    "two alternatives": lambda rng, n, choice, win: alternatives(rng, n),
}
#: Tasks whose columns say nothing of stimuli.
NO_STIMULI = ("reversal, blocks", "probabilistic selection", "choice and time", "Iowa gambling")


def hbayesdm(root, rng, task):
    subject, choice, win = lab.bandit_rows(rng)
    table = {"subjID > subject": subject + 1, **HBAYESDM[task](rng, len(subject), choice, win)}
    roles = lab.roles_in(table, "stimuli=" * (task in NO_STIMULI))
    named = {role: table[name] for name in table for role in [lab.column_and_role(name)[1]]}
    means = {"reward": float(named["reward"].mean())} if "reward" in named else {}
    if "ground_truth" in named:
        means["correct"] = float((named["ground_truth"] == named["choice"]).mean())
    absent = {"correct", "reward", "rt", "gain", "loss"} - named.keys()
    path = lab.write_csv(root / "example.txt", table, "\t")
    sessions = 6 if "session" in named else 2
    return lab.Made(path, roles, sessions=sessions, misses=0, absent=tuple(absent), means=means)


def two_step(root, rng, form):
    """Two-step tables of Decker and Gillan, of mice, and with four options of the second stage."""
    subject, choice, win = lab.bandit_rows(rng)
    n = len(subject)
    missed = rng.random(n) < 0.04
    common = rng.random(n) < 0.7
    state, second = np.where(common, choice, 1 - choice), rng.integers(0, 2, n)
    means = {"reward": float(win[~missed].mean()), "state": float(state[~missed].mean())}
    if form == "Gillan":
        table = {
            "subj > subject": subject + 1,
            "trial": trials(n),
            "rt_1 > rt": np.where(missed, -1, rng.integers(300, 1500, n)),
            "choice1 > choice": np.where(missed, -1, choice + 1),
            "common": np.where(missed, -1, common),
            "rt_2": np.where(missed, -1, rng.integers(300, 1500, n)),
            "choice2 >": np.where(missed, -1, second + 1),
            "state2 > state": np.where(missed, -1, state + 2),
            "money > reward": np.where(missed, -1, win),
        }
    elif form == "mice":
        table = {
            "mouse > subject": np.array(["a", "b"])[subject],
            "trial": trials(n),
            "choice >": [None if m else "right" if c else "left" for m, c in zip(missed, choice, strict=True)],
            "second_step > state": [None if m else "up" if c else "down" for m, c in zip(missed, state, strict=True)],
            "outcome > reward": np.where(missed, 0, win),
        }
    else:
        table = {
            "subjID > subject": subject + 1,
            "trial": trials(n),
            "level1_choice > choice": np.where(missed, np.nan, 2 - choice),  # the reversed coding
            "level2_choice > choice2": np.where(missed, np.nan, 2 * state + second + 1),
            "reward >": np.where(missed, np.nan, win),
        }
    roles = lab.roles_in(table, "stimuli=")
    path = lab.write_csv(root / "steps.csv", table, "\t" if form == "four" else ",", missing="NA")
    return lab.Made(path, roles, sessions=2, misses=int(missed.sum()), means=means, absent=("correct",))


def detections_of_signals(root, rng):
    """Go/no-go of a mouse: a miss is an error, and not licking is an answer."""
    n = 600
    subject, go = np.repeat([0, 1], n // 2), rng.random(n) < 0.5
    lick = rng.random(n) < np.where(go, 0.85, 0.25)
    outcome = np.where(go, np.where(lick, "Hit", "Miss"), np.where(lick, "FA", "CR"))
    table = {
        "animal_id > subject": np.array(["x", "y"])[subject],
        "session": np.ones(n, int),
        "stimulus > ground_truth": np.where(go, "go", "nogo"),
        "lick > choice": lick * 1,
        "outcome > correct": outcome,
    }
    path, means = lab.write_csv(root / "licks.csv", table), {"correct": float((lick == go).mean())}
    return lab.Made(path, lab.roles_in(table), sessions=2, misses=0, means=means)


@tables.add(
    "values of options",
    "snacks.csv",
    "stimuli=value_right-value_left",
    sessions=1,
    absent=("reward", "correct", "ground_truth"),
)
def values_of_options(d, rng):
    """Choices between two snacks with ratings of each, fixations beside."""
    n = len(d.right)
    middle = rng.uniform(3, 6, n)
    return {
        "SubjID > subject": d.subject + 101,
        "Trial > trial": d.trial + 1,
        "value_left": middle - 2 * d.signed,
        "value_right": middle + 2 * d.signed,
        "choice >": lab.words(d, "left", "right", "no response"),
        "rt >": np.where(d.missed, np.nan, 1000 * d.seconds),
        "fix_duration_left": rng.random(n),
        "fix_duration_right": rng.random(n),
    }


def outcomes_in_words(root, rng):
    subject, choice, win = lab.bandit_rows(rng, arms=3)
    missed = rng.random(len(subject)) < 0.04
    table = {
        "participant_number > subject": subject + 1,
        "trial_number > trial": np.tile(np.arange(1, 151), 2),
        "chosen > choice": [None if m else "ABC"[c] for m, c in zip(missed, choice, strict=True)],
        "feedback > reward": [None if m else "win" if w else "loss" for m, w in zip(missed, win, strict=True)],
        "reaction_time_ms > rt": np.where(missed, np.nan, rng.integers(300, 900, len(subject))),
    }
    return lab.Made(
        lab.write_csv(root / "words.csv", table),
        lab.roles_in(table, "stimuli="),
        sessions=2,
        misses=int(missed.sum()),
        means={"reward": float(win[~missed].mean())},
        absent=("correct", "ground_truth"),
    )


def points(root, rng):
    """Restless bandit of four arms with payoffs up to 100; 0 without an answer."""
    subject, choice, _ = lab.bandit_rows(rng, arms=4)
    n = len(subject)
    missed, payoff = rng.random(n) < 0.05, rng.integers(1, 100, n)
    table = {
        "ID > subject": subject + 1,
        "trial >": np.tile(np.arange(1, 151), 2),
        "choice >": np.where(missed, 0, choice + 1),
        "payoff > reward": np.where(missed, 0, payoff),
        "rt >": np.where(missed, 0.0, 0.3 + rng.gamma(2, 0.2, n)),
        "payoff1": rng.integers(1, 100, n),
        "payoff2": rng.integers(1, 100, n),
        "payoff3": rng.integers(1, 100, n),
        "payoff4": rng.integers(1, 100, n),
    }
    return lab.Made(
        lab.write_csv(root / "daw.csv", table),
        lab.roles_in(table, "stimuli="),
        sessions=2,
        misses=int(missed.sum()),
        means={"reward": float(payoff[~missed].mean())},
    )


def horizon(root, rng):
    """Gaussian bandits in short games, numbered in ``task``, from one file for each person."""
    subject, choice, _ = lab.bandit_rows(rng, n=200)
    n = len(subject)
    reward = rng.normal(0, 5, n).round(1)
    for who in (0, 1):
        k = subject == who
        table = {
            "task > session": np.repeat(np.arange(1, 21), 10),
            "trial >": np.tile(np.arange(1, 11), 20),
            "choice >": choice[k] + 1,
            "reward >": reward[k],
            "RT > rt": rng.integers(200, 900, k.sum()),
            "mu1": np.repeat(rng.normal(0, 9, 20), 10),
            "mu2": np.repeat(rng.normal(0, 9, 20), 10),
        }
        lab.write_csv(root / f"person{who}.csv", table)
    return lab.Made(
        root,
        lab.roles_in(table, "subject=file stimuli="),
        sessions=40,
        misses=0,
        means={"reward": float(reward.mean())},
    )


def wager(root, rng):
    """Answers by arrow keys with wagers; rows of instructions are marked as practice."""
    d = lab.detection(rng, sessions=1)
    n = len(d.right)
    practice = np.zeros(n, int)
    practice[:10] = practice[n // 2 : n // 2 + 10] = 1
    main = practice == 0
    table = {
        "workerId > subject": np.array(["A1X", "B2Y"])[d.subject],
        "practice": practice,
        "coherence > stimuli": d.signed,
        "keypress > choice": lab.words(d, "ArrowLeft", "ArrowRight", "none"),
        "correctness > correct": d.correct * 1,
        "wager > confidence": rng.integers(1, 4, n),
        "latency > rt": np.where(d.missed, np.nan, d.seconds),
    }
    return lab.Made(
        lab.write_csv(root / "wager.csv", table),
        lab.roles_in(table),
        sessions=2,
        misses=int((d.missed & main).sum()),
        rows=int(main.sum()),
        means={"correct": float(d.correct[main & ~d.missed].mean())},
    )


MAKERS = tables.makers | {
    **{f"hBayesDM, {task}": partial(hbayesdm, task=task) for task in HBAYESDM},
    **{f"two-step, {form}": partial(two_step, form=form) for form in ("Gillan", "mice", "four")},
    "go/no-go of a mouse": detections_of_signals,
    "outcomes in words": outcomes_in_words,
    "restless bandit": points,
    "games in files": horizon,
    "wagers": wager,
}
