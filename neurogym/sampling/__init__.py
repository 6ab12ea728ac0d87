"""Random sources of a session: schedules of conditions, sequences as conditions, and generators with old names.

Belongs here: sources of random numbers and orders that know nothing of trials. May use: `messages`.
"""
