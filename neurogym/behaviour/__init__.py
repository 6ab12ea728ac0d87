"""Behaviour of animals, humans and networks: tables, statistics and models of choices."""
