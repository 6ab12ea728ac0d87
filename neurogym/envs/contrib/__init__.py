"""Contributed tasks: names of the classes in each module of this package."""

MODULES: dict[str, tuple[str, ...]] = {
    "anglereproduction": ("AngleReproduction",),
    "contextswitch": ("ChangingEnvironment", "ContextSwitch"),
    "cvlearning": ("CVLearning",),
    "ibl": ("IBL", "IBLBlock"),
    "leverpress": ("LeverPress", "LeverPressWithPoke", "LeverPressWithPokeRest"),
    "matchingpenny": ("MatchingPenny",),
    "memoryrecall": ("MemoryRecall",),
    "pneumostomeopening": ("Pneumostomeopening",),
}
#: Class of each task to the path of the module.
TASKS = dict(sorted((name, f"{__name__}.{module}") for module, names in MODULES.items() for name in names))
