"""Ideal observers: the best score that each task's noise allows. ``python -m experiments.ceilings --help``."""
