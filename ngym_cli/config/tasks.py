"""Tasks and wrappers by name: an id, an old name, several tasks together, a user's own class; recommended settings."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ngym_cli.config import extensions
from ngym_cli.errors import unknown


@dataclass(frozen=True)
class Task:
    """Task with the name chosen by the user.

    Attributes:
        name: as given.
        id: registered id of the task; for a user's own task the name.
        entry: the class, or the function that makes the task.
        own: whether the task is the user's own, from a file, a module or another package.
        several: whether the name stands for several tasks in one session, with trials of all of them.
    """

    name: str
    id: str
    entry: Callable[..., Any]
    own: bool
    several: bool = False

    @property
    def metadata(self) -> dict[str, Any]:
        """Metadata of the task's class."""
        return dict(getattr(self.entry, "metadata", {}) or {})


def find_task(name: str) -> Task:
    """Return the task of a name.

    Raises:
        UserError: if no task has this name, with the nearest one, or if the user's code cannot be imported.
    """
    if extensions.is_reference(name) or name.endswith(".py"):
        entry: Any = extensions.find_extension("task", name)
        return Task(name, name, entry, own=True)
    import gymnasium as gym

    from neurogym.envs import registration
    from neurogym.envs.collections import COLLECTIONS

    if "+" in name or name in COLLECTIONS:
        from neurogym.envs.multi import make_multi

        for single in name.split("+"):
            if single not in COLLECTIONS:
                find_task(single)
        return Task(name, name, functools.partial(make_multi, name), own=False, several=True)

    try:
        id_ = registration.resolve(name)
    except (gym.error.Error, ValueError):
        entry = extensions.find_extension("task", name)
        if entry is not None:
            return Task(name, name, entry, own=True)
        raise unknown("task", name, task_names()) from None
    return Task(name, id_, registration.entry(id_), own=False)


def built_in(name: object) -> tuple[str, Mapping[str, Any]]:
    """Return id and metadata of a built-in task; of a user's own task, whose code is not imported, nothing.

    Args:
        name: name of a task.

    Returns:
        An empty id and no metadata for a user's own task and for unknown names.
    """
    import gymnasium as gym

    from neurogym.envs import registration

    if isinstance(name, str) and ":" not in name:
        with contextlib.suppress(gym.error.Error, ValueError, ImportError):
            id_ = registration.resolve(name)
            return id_, registration.metadata(id_)
    return "", {}


def is_supervised_by_default(name: object) -> bool:
    """Return whether a built-in task is learned by supervision by default; False for all other names."""
    return bool(built_in(name)[1].get("supervised"))


def usual_algorithm(task: object) -> str:
    """Return the name of the default algorithm of a task.

    Args:
        task: name of the task.
    """
    return "supervised" if is_supervised_by_default(task) else "recurrent_ppo"


def task_names() -> list[str]:
    """Return every id, old name, and name offered by another package; no task is imported."""
    from neurogym.compat.changes import ALIASES
    from neurogym.envs import registration

    return sorted({*registration.every_task(), *ALIASES, *extensions.offered("task")})


#: Configuration key that asks for the recommended settings; a complete configuration has the settings in its place.
RECOMMENDED_KEY = "recommended"

#: Wrappers that show the agent its last reward and action.
HISTORY = [{"name": "pass_reward"}, {"name": "pass_action"}]


@dataclass(frozen=True)
class Recommended:
    """Settings that a task needs, and why.

    Attributes:
        settings: part of a configuration; settings of the user have priority.
        reason: why the task needs the settings.
    """

    settings: Mapping[str, Any]
    reason: str

    @property
    def words(self) -> str:
        """The settings as flags of ``ngym run``."""
        wrappers = ",".join(entry["name"] for entry in self.settings.get("wrappers", ()))
        stages = ", ".join(stage["name"] for stage in self.settings.get("stages", ()))
        flags = [f"--wrappers {wrappers}"] if wrappers else []
        flags += [f"--{key} {self.settings[key]}" for key in ("network", "units", "dt") if key in self.settings]
        return " ".join([*flags, *([f"stages {stages}"] if stages else [])])


#: What most tasks with linked trials need.
LAST_OUTCOME = Recommended(
    {"wrappers": HISTORY},
    "what is rewarded depends on earlier trials, which the last action and the last reward report",
)

#: Durations (ms) of the first stages of DualTask and of those that follow; they vary, so that none is learned by heart.
SHORT_DELAYS = {
    **dict.fromkeys(("stim1", "stim2", "distractor", "distractor_decision", "decision", "iti"), 200),
    "delay1": "uniform:100:600",
    "distractor_delay": "uniform:100:300",
    "delay2": "uniform:100:400",
    "delay3": "uniform:100:400",
}
LONGER_DELAYS = {
    **dict.fromkeys(("stim1", "stim2"), "uniform:200:1000"),
    **dict.fromkeys(("distractor", "iti"), "uniform:200:600"),
    **dict.fromkeys(("distractor_decision", "decision"), "uniform:200:400"),
    **dict.fromkeys(("delay2", "delay3"), "uniform:100:1000"),
    "delay1": "uniform:100:1500",
    "distractor_delay": "uniform:100:600",
}
NEARLY_USUAL_DELAYS = {
    **dict.fromkeys(("stim1", "delay2", "stim2", "delay3"), "uniform:500:1000"),
    **dict.fromkeys(("distractor", "distractor_delay", "iti"), "uniform:300:600"),
    **dict.fromkeys(("distractor_decision", "decision"), "uniform:200:400"),
    "delay1": "uniform:1500:3000",
}

#: Settings that every run of a task has, unless the user names others: without them little or nothing is learned.
RECOMMENDED_BY_TASK: dict[str, Recommended] = {
    **dict.fromkeys(
        (
            "ChangingBandit-v0",
            "ChangingEnvironment-v0",
            "ContextSwitch-v0",
            "DawTwoStep-v0",
            "DriftingBandit-v0",
            "DynamicForaging-v0",
            "ReversalLearning-v0",
            "TwoStep-v0",
        ),
        LAST_OUTCOME,
    ),
    "CVLearning-v0": Recommended(
        {"wrappers": [{"name": "pass_action"}]},
        "a side that was chosen three times in a row is not rewarded any more, and the last action shows which it was",
    ),
    "DelayEstimation-v0": Recommended(
        {"units": 128}, "up to eight colours are remembered, each as two numbers, until a cue tells which is asked for"
    ),
    "DualTask-v0": Recommended(
        {
            "wrappers": HISTORY,
            "stages": [
                {"name": name, "performance": share, "window": 2_000, "task_args": rules, "timing": timing}
                for name, share, rules, timing in (
                    ("one rule", 0.9, {"first_rule": 1.0}, SHORT_DELAYS),
                    ("mostly one rule", 0.9, {"first_rule": 0.7, "block_dur": 20}, SHORT_DELAYS),
                    ("changing rules", 0.9, {"block_dur": 20}, SHORT_DELAYS),
                    ("longer delays", 0.9, {"block_dur": 20}, LONGER_DELAYS),
                    # without end: long blocks unlearn to change, and fixed delays are lost or learned by heart
                    ("nearly usual delays", 1.0, {"block_dur": 20}, NEARLY_USUAL_DELAYS),
                )
            ]
            + [{"name": "usual delays and long blocks (evaluations)"}],
        },
        "which rules hold follows from odours, action and reward of the last trial, a parity that no gradient leads to "
        "unless one rule is known; as in shaping, a rule is taught before it changes, and delays are short at first",
    ),
    "HierarchicalReasoning-v0": Recommended(
        {
            "wrappers": HISTORY,
            "stages": [
                {"name": "one rule", "performance": 0.9, "window": 2_000, "task_args": {"first_rule": 1.0}},
                {"name": "chosen rule", "performance": 0.9, "window": 2_000, "task_args": {"hidden": False}},
                {"name": "hidden rule"},
            ],
        },
        "which rule holds follows from the last action and the last reward; the judgement, side of the flashes against "
        "length of the interval against rule, is a parity that no gradient leads to unless one rule is known, and both "
        "are known before the rule is hidden",
    ),
    "RandomDotMotion-v0": Recommended(
        {"wrappers": [{"name": "motion_energy"}]},
        "motion lies between frames, and a single frame does not show it; detectors of motion compare two frames",
    ),
    "VisualSearch-v0": Recommended(
        {"network": "attention", "dt": 100},
        "each of four lines has to be compared with the remembered sample, which is learned once if all places of an "
        "image share the comparison; steps of 100 ms are enough for pictures that last 500 ms or longer",
    ),
}

#: Settings of runs with an algorithm other than the usual one of the task, unless the user names others, by task and
#: algorithm.
RECOMMENDED_BY_ALGORITHM: dict[tuple[str, str], Recommended] = {
    ("HierarchicalReasoning-v0", "supervised"): Recommended(
        {"wrappers": [{"name": "pass_action"}]},
        "the correct rule is hidden and is a matter of chance until it was reported; the correct response follows from "
        "the rule that was reported, which the last action shows",
    ),
}

#: Tasks with linked trials that are learned as well, or better, from their own observations.
WITHOUT_HISTORY = (
    "Bandit-v0",
    "LeverPressWithPokeRest-v0",
    "PatchLeaving-v0",
    "perceptualdecisionmaking.ibl20-v0",
)


def recommended(task: object) -> Recommended | None:
    """Return the recommended settings of a built-in task, or None where the task needs nothing but its name.

    Args:
        task: name of a task; None for a user's own task, whose code is not imported, and for unknown names.
    """
    id_, metadata = built_in(task)
    if id_ in WITHOUT_HISTORY:
        return None
    if "wrappers" in (RECOMMENDED_BY_TASK[id_].settings if id_ in RECOMMENDED_BY_TASK else ()):
        return None
    return LAST_OUTCOME if metadata.get("carries") else None


def with_defaults(data: Mapping[str, Any]) -> dict[str, object]:
    """Return settings with the default wrappers, network, units and stages of their task where they name none.

    Network, units and stages are of the task's usual algorithm; others may have settings of their own. An argument or
    timing that stages change leaves stages out.

    Args:
        data: settings of a configuration.
    """
    id_, alg = built_in(data.get("task"))[0], data.get("alg")
    defaults = RECOMMENDED_BY_TASK.get(id_)
    settings = dict(defaults.settings) if defaults else {}
    if any(_overlap(stage, data) for stage in settings.get("stages", ())):
        settings.pop("stages")
    if alg is not None and id_ and alg != usual_algorithm(id_):
        settings = {name: value for name, value in settings.items() if name not in ("network", "units", "stages")}
        special = RECOMMENDED_BY_ALGORITHM.get((id_, str(alg)))
        settings |= special.settings if special else {}
    return {**settings, **data}


def _overlap(stage: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
    """Return whether settings name an argument or a period that a stage changes."""
    tables = [(stage.get(table), data.get(table)) for table in ("task_args", "timing")]
    return any(isinstance(a, Mapping) and isinstance(b, Mapping) and bool(a.keys() & b.keys()) for a, b in tables)


def with_recommended(data: Mapping[str, Any], default_task: str) -> dict[str, object]:
    """Return settings in which the wish for recommended settings is replaced by these settings.

    Args:
        data: settings of a configuration, possibly with ``recommended``.
        default_task: task where the settings name none.

    Raises:
        ValueError: if the wish is not true or false.
    """
    data = dict(data)
    wanted = data.pop(RECOMMENDED_KEY, False)
    if not isinstance(wanted, bool):
        raise ValueError(f"{RECOMMENDED_KEY}: expected true or false, not {wanted!r}")
    settings = recommended(data.get("task", default_task)) if wanted else None
    if settings is None:
        return data
    return {**settings.settings, **data}
