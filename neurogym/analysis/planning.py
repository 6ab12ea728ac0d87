"""The two-step task: stay probabilities, model-based and model-free control."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.intervals import enough_groups, mean_interval
from neurogym.analysis.regression import ChoiceRegression, regress_choice
from neurogym.analysis.results import Estimate, Result, normal_quantile


@dataclass(frozen=True)
class TwoStep(Result):
    """Stay probabilities as signs of two kinds of control (Daw et al. 2011, 10.1016/j.neuron.2011.02.027).

    Attributes:
        stay: probability of repeating the first choice after ``rewarded_common``, ``rewarded_rare``,
            ``unrewarded_common`` and ``unrewarded_rare`` trials, with Wilson intervals.
        n: trials behind each.
        model_free: main effect of reward: mean stay probability after reward minus after none.
        model_based: interaction of reward and transition: half of (rewarded common - rewarded rare) - (unrewarded
            common - unrewarded rare).
        regression: logistic regression of staying on ``reward``, ``transition`` (+1 common) and ``interaction``, all
            coded -1 and 1.
    """

    stay: dict[str, Estimate]
    n: dict[str, int]
    model_free: Estimate
    model_based: Estimate
    regression: ChoiceRegression


def two_step(
    choice: ArrayLike, common: ArrayLike, rewarded: ArrayLike, *, session: ArrayLike | None = None, level: float = 0.95
) -> TwoStep:
    """Analyse the effect of a trial's reward and transition on the probability of repeating the first choice.

    Args:
        choice: first-stage choice, shape (trials,); ``nan`` where there was none.
        common: whether the transition was the common one, shape (trials,).
        rewarded: whether the trial was rewarded, shape (trials,).
        session: trials of different sessions do not follow each other, shape (trials,); intervals come from the
            sessions where there are enough of them.
        level: coverage of the intervals.

    Raises:
        ValueError: no two answered trials follow each other.
    """
    chosen, was_common = np.asarray(choice, float), np.asarray(common, bool)
    won = np.asarray(rewarded, float) > 0
    session = np.zeros(len(chosen), int) if session is None else np.asarray(session)
    pairs = (session[1:] == session[:-1]) & np.isfinite(chosen[1:]) & np.isfinite(chosen[:-1])
    if not pairs.any():
        raise ValueError("stay probabilities need answered trials that follow each other, got none")
    stay = (chosen[1:] == chosen[:-1])[pairs]
    reward, transition = won[:-1][pairs], was_common[:-1][pairs]
    estimates, counts, linked = {}, {}, enough_groups(session[1:][pairs])
    for reward_name, rewarded_rows in (("rewarded", reward), ("unrewarded", ~reward)):
        for transition_name, transition_rows in (("common", transition), ("rare", ~transition)):
            rows, name = rewarded_rows & transition_rows, f"{reward_name}_{transition_name}"
            counts[name] = int(rows.sum())
            estimates[name] = mean_interval(stay, linked, level, among=rows)
    signs = 2.0 * reward - 1, 2.0 * transition - 1
    return TwoStep(
        estimates,
        counts,
        _contrast(estimates, (0.5, 0.5, -0.5, -0.5), level),
        _contrast(estimates, (0.5, -0.5, -0.5, 0.5), level),
        regress_choice(
            {"reward": signs[0], "transition": signs[1], "interaction": signs[0] * signs[1]},
            stay,
            level=level,
            groups=linked,
        ),
    )


def _contrast(stay: dict[str, Estimate], weights: tuple[float, ...], level: float) -> Estimate:
    """Return a weighted sum of proportions with the hybrid score interval.

    The distances of the proportions to their Wilson limits add in squares (Newcombe 1998, Stat. Med. 17:873).
    """
    value = low2 = high2 = 0.0
    for estimate, weight in zip(stay.values(), weights, strict=True):
        down, up = weight * (estimate.value - estimate.low), weight * (estimate.high - estimate.value)
        value += weight * estimate.value
        low2 += (down if weight > 0 else up) ** 2
        high2 += (up if weight > 0 else down) ** 2
    low, high = value - np.sqrt(low2), value + np.sqrt(high2)
    return Estimate(value, float(low), float(high), float(high - low) / (2 * normal_quantile(level)))
