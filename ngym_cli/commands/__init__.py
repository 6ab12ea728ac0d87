"""The commands of the command line, one file each, without logic of their own.

Belongs here: flags, their help, one call, and what the shell completes. May use: all rooms, inside functions, so that
`ngym --help` stays quick.
"""
