"""Posterior predictive checks: statistics of choices and times, next to those of behaviour simulated from draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Likelihood
from neurogym.behaviour.table import Behaviour, Session

#: Draws of which behaviour is simulated.
SIMULATIONS = 50
QUANTILES = {"time, 10 %": 0.1, "time, median": 0.5, "time, 90 %": 0.9}


def _repeats(choice: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return whether choices equal those of the subject in the trial before, for pairs of answered trials."""
    pairs = (choice[1:] >= 0) & (before[:-1] >= 0)
    return np.asarray(choice[1:][pairs] == before[:-1][pairs])


def statistics(
    rows: Sequence[tuple[np.ndarray, np.ndarray]], sessions: Sequence[Session], words: Sequence[str]
) -> dict[str, float]:
    """Return statistics of choices and times: shares of options, repeats, correct choices, quantiles of times.

    Args:
        rows: choice and time of each session.
        sessions: with the correct choices.
        words: names of the options.
    """
    choice, rt = (np.concatenate([row[k] for row in rows]) for k in range(2))
    truth = np.concatenate([each.truth for each in sessions])
    answered = choice >= 0
    result = {f"choice {word}": float((choice[answered] == k).mean()) for k, word in enumerate(words) if k}
    repeats = [_repeats(row[0], each.choice) for row, each in zip(rows, sessions, strict=True)]
    result["repeated choices"] = float(np.concatenate(repeats).mean())
    if (truth[answered] >= 0).any():
        result["correct choices"] = float((choice == truth)[answered & (truth >= 0)].mean())
    if not answered.all():
        result["omissions"] = float(1 - answered.mean())
    timed = answered & np.isfinite(rt) & (rt > 0)
    if timed.any():
        result |= {name: float(np.quantile(rt[timed], q)) for name, q in QUANTILES.items()}
    return result


def check(
    subjects: FloatArray, likelihoods: Sequence[Likelihood], tables: Mapping[str, Behaviour], seed: int
) -> dict[str, dict[str, float]]:
    """Return each statistic of the data, its mean and 95 % interval in simulations, and the predictive p value.

    Args:
        subjects: draws of the parameters, shape (chains, draws, subjects, parameters).
        likelihoods: of each subject.
        tables: sessions of each subject.
        seed: of the simulations.
    """
    rng = np.random.default_rng([seed, 41])
    points = subjects.reshape(-1, *subjects.shape[2:])
    chosen = rng.choice(len(points), min(len(points), SIMULATIONS), replace=False)
    sessions = [each for table in tables.values() for each in table.sessions]
    words = next(iter(tables.values())).choices
    observed = statistics([(each.choice, each.rt) for each in sessions], sessions, words)
    simulated = []
    for draw in points[chosen]:
        rows = zip(likelihoods, draw, tables.values(), strict=True)
        pairs = [pair for each, x, table in rows for pair in each.policy(x).simulate(table.sessions, rng)]
        simulated.append(statistics(pairs, sessions, words))
    record = {}
    for name, value in observed.items():
        draws = np.array([each[name] for each in simulated if name in each])
        if len(draws):
            low, high = np.quantile(draws, [0.025, 0.975])
            above = float((draws >= value).mean())
            record[name] = {
                "observed": value,
                "value": float(draws.mean()),
                "low": float(low),
                "high": float(high),
                "p": 2 * min(above, 1 - above),
            }
    return record
