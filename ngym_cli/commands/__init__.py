"""Commands, each in a file with flags, help and a single call into the other packages.

Imports stand inside functions, so that `ngym --help` stays quick.
"""
