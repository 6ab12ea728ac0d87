"""Files on disk: read with suspicion, written as a whole or not at all, by one process at a time.

Belongs here: what knows bytes and paths but nothing of runs. May use: `errors`.
"""
