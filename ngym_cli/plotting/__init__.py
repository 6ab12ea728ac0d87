"""Figures of runs and evaluations: one look, units on the axes, chance and ceiling drawn, n shown."""

from __future__ import annotations

from ngym_cli.plotting.behaviour import condition_figure
from ngym_cli.plotting.examples import example_trials
from ngym_cli.plotting.style import Unavailable, styled

__all__ = ["Unavailable", "condition_figure", "example_trials", "styled"]
