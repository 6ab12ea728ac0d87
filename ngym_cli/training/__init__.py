"""Course of a run: the training loop, checkpoints, records and live display.

Belongs here: what happens between the first step and the last. May use: `evaluation`, `figures`, `agents`, `runs` and
what these use.
"""
