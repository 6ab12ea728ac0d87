"""Messages for people and programs: nearest valid names, the console's logger, values as plain data.

Belongs here: text and plain data, without knowledge of tasks. May use: the standard library.
"""
