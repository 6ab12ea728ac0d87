"""Collections of tasks: name to its functions, in their published order."""

COLLECTIONS: dict[str, tuple[str, ...]] = {}
