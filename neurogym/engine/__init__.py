"""The trial engine: trials are made as tables, and a step looks up.

Belongs here: making trials, sessions, and the step. May use: `trials`, `rules`, `state`, `wrappers`.
"""
