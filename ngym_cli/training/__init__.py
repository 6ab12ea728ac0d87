"""A run while it goes on: the loop, its checkpoints, its records and its live display.

Belongs here: what happens between the first step and the last. May use: `evaluation`, `figures`, `agents`, `runs` and
what these use.
"""
