"""Figures of runs and evaluations in a common style: units on the axes, chance and ceiling drawn, n shown.

Belongs here: what `ngym plot` and `ngym report` draw, and which figures there are (`registry`). May use: `agents`,
`runs` and what these use. Matplotlib comes in with the modules that draw, not with this package.
"""
