"""Catalogue: listings, pages about tasks and wrappers, and a user's own tasks.

Belongs here: what `ngym list`, `info`, `new` and `check` show. May use: all rooms but `commands`.
"""
