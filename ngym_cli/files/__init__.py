"""Files on disk: validated when read, written completely or not at all, by a single process at a time.

Belongs here: what knows bytes and paths but nothing of runs. May use: `errors`.
"""
