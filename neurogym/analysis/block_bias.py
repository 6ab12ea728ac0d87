"""Choices in blocks of unequal sides, and the criteria for calling a subject trained.

The International Brain Laboratory 2021, Standardized and reproducible measurement of decision-making in mice,
10.7554/eLife.63711.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neurogym.analysis import from_trials
from neurogym.analysis.intervals import clusters, mean_interval
from neurogym.analysis.psychometric import PsychometricFit
from neurogym.analysis.results import Estimate, Result, UndeterminedError
from neurogym.analysis.trial_tables import TrialData, groups, is_correct, numbers, require, responded, select

#: The criteria of the paper's last stage of training: largest lapse, least shift (% contrast), least easy accuracy.
MOST_LAPSE, LEAST_SHIFT, LEAST_EASY = 0.1, 5.0, 0.9


@dataclass(frozen=True)
class BlockPsychometrics(Result):
    """Psychometric functions by block, and the training criteria.

    Attributes:
        fits: by the value of the block's column, as text.
        shift: largest minus smallest point of subjective equality of the blocks, in the unit of the strength.
        lapse: largest lapse of any block, at either end.
        easy: proportion correct at the highest strength, all blocks together, with its Wilson interval.
    """

    fits: dict[str, PsychometricFit]
    shift: float
    lapse: float
    easy: Estimate

    def criteria(
        self, shift: float = LEAST_SHIFT, lapse: float = MOST_LAPSE, easy: float = LEAST_EASY
    ) -> dict[str, tuple[float, float, bool]]:
        """Return value, limit and pass or fail for each criterion, by name.

        Args:
            shift: that the bias must exceed.
            lapse: that lapses must stay below.
            easy: accuracy that easy trials must exceed.
        """
        return {
            "bias shift": (self.shift, shift, self.shift > shift),
            "lapses": (self.lapse, lapse, self.lapse < lapse),
            "easy accuracy": (self.easy.value, easy, self.easy.value > easy),
        }


def block_psychometrics(data: TrialData, block: str, strength: str = "coh", **options: Any) -> BlockPsychometrics:
    """Fit a psychometric function in each kind of block.

    Args:
        data: trial table with ``choice``, ``outcome``, the strength and the block.
        block: column with the block of each trial, such as the probability of a side.
        strength: column with the unsigned strength.
        **options: see `fit_psychometric`.

    Raises:
        ValueError: if there is a single kind of block, or one cannot be fitted.
    """
    table = require(data, "choice", "outcome", strength, block)
    fits = {
        str(values[block]): from_trials.psychometric(piece, strength, **options)
        for values, piece in groups(table, block)
    }
    if len(fits) < 2:
        raise UndeterminedError(f"all trials are of one block: {', '.join(fits)}")
    equal = [fit.threshold.value for fit in fits.values()]
    lapse = max(max(fit.guess.value, fit.lapse.value) for fit in fits.values())
    answered = select(table, responded(table))
    size = np.abs(numbers(answered[strength]))
    accuracy = mean_interval(is_correct(answered), clusters(answered), among=size == size.max())
    return BlockPsychometrics(fits, max(equal) - min(equal), lapse, accuracy)
