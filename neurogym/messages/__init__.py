"""Texts for people and programs: nearest names, options as the caller writes them, the console's logger, plain data.

Belongs here: text and plain data, without knowledge of tasks. May use: the standard library.
"""
