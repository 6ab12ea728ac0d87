"""What a session draws from: schedules of conditions, sequences as conditions, generators under their old names.

Belongs here: sources of random numbers and orders that know nothing of trials. May use: `messages`.
"""
