"""Figures of runs and evaluations: one look, units on the axes, chance and ceiling drawn, n shown."""

from __future__ import annotations

from ngym_cli.plotting.behaviour import chronometric, condition_figure, conditions, psychometric
from ngym_cli.plotting.examples import example_trials
from ngym_cli.plotting.learning import learning_curve
from ngym_cli.plotting.style import Unavailable, styled

__all__ = [
    "Unavailable",
    "chronometric",
    "condition_figure",
    "conditions",
    "example_trials",
    "learning_curve",
    "psychometric",
    "styled",
]
