"""Templates of ``ngym new``: examples that work unchanged and are meant to be edited."""
