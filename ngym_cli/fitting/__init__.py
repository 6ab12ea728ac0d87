"""Fitting models of choices to the behaviour of animals, humans and networks."""
