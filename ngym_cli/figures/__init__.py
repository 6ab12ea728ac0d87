"""Figures of runs and evaluations: one look, units on the axes, chance and ceiling drawn, n shown.

Belongs here: what `ngym plot` and `ngym report` draw, and which figures there are (`registry`). May use: `agents`,
`runs` and what these use.
"""

from __future__ import annotations

from ngym_cli.figures.behaviour import condition_figure
from ngym_cli.figures.examples import example_trials
from ngym_cli.figures.style import Unavailable, styled

__all__ = ["Unavailable", "condition_figure", "example_trials", "styled"]
