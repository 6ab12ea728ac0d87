"""Figures of runs and evaluations: one look, units on the axes, chance and ceiling drawn, n shown."""

from __future__ import annotations

from ngym_cli.figures.behaviour import condition_figure
from ngym_cli.figures.examples import example_trials
from ngym_cli.figures.style import Unavailable, styled

__all__ = ["Unavailable", "condition_figure", "example_trials", "styled"]
