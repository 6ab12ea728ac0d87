"""Python interface: training, sweeps, runs and papers as functions and objects, with the names of the command line.

Errors are exceptions (`ngym_cli.UserError`) with the words of the command line. Imports no torch before it is needed.
"""
