"""Native tasks: class names; each lives in the module of the same name in lower case."""

TASKS = (
    "Bandit",
    "DelayComparison",
    "GoNogo",
    "PerceptualDecisionMaking",
    "ReachingDelayResponse",
    "ReadySetGo",
)
