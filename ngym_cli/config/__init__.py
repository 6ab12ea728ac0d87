"""Configuration of a run: the typed model, flags, files, written values, tasks and wrappers by name, and trust.

Imports no torch.
"""
