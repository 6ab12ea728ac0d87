"""Parameters of a task that can be changed during a session: dictionaries and constructor arguments.

Belongs here: what follows from a change of a parameter. May use: `messages`, `metadata`, `sampling`, `spaces`.
"""
