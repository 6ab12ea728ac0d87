"""Contributed tasks: class names; each lives in the module of the same name in lower case."""

TASKS: tuple[str, ...] = (
    "AngleReproduction",
    "CVLearning",
    "ChangingEnvironment",
    "ContextSwitch",
    "IBL",
    "IBLBlock",
    "LeverPress",
    "LeverPressWithPoke",
    "LeverPressWithPokeRest",
    "MatchingPenny",
    "MemoryRecall",
    "Pneumostomeopening",
)
