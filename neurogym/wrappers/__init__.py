"""Wrappers that change which trials are made, what trials show, or what the agent sees.

The table names every wrapper and its module; each module is imported on first use.

Belongs here: one wrapper per file, and what they have in common (`base`, `stack`). May use: `trials` and all below.
"""

from __future__ import annotations

import functools
import pkgutil
import re
from typing import Any

from neurogym.messages.names import unknown

#: Class name to module, of this package unless its name has a dot.
WRAPPERS = {
    "BiasCorrection": "outcomes",
    "CatchTrials": "outcomes",
    "Combine": "neurogym.envs.multi",
    "ComputeMeanPerf": "compute_mean_perf",
    "CurriculumLearning": "phased",
    "DynamicNoise": "noise",
    "Identity": "ttl_pulse",
    "LearnTransMatrix": "learn_trans_matrix",
    "MissTrialReward": "outcomes",
    "Modality": "modality",
    "Monitor": "monitor",
    "MotionEnergy": "motion_energy",
    "MultiEnvs": "neurogym.envs.multi",
    "Noise": "noise",
    "PassAction": "pass_reward",
    "PassGT": "pass_reward",
    "PassReward": "pass_reward",
    "PerfPhases": "compute_mean_perf",
    "PerfectIntegrator": "perfect_integrator",
    "Persistence": "trial_history",
    "RandomGroundTruth": "random_ground_truth",
    "ReactionTime": "reaction_time",
    "ScheduleAttr": "schedule_attr",
    "ScheduleEnvs": "neurogym.envs.multi",
    "Shaping": "phased",
    "SideBias": "random_ground_truth",
    "StimAccSignal": "noise",
    "TTLPulse": "ttl_pulse",
    "TimeOut": "outcomes",
    "TransferLearning": "neurogym.envs.multi",
    "TrHReset": "trial_history",
    "TrialHistory": "trial_history",
    "TrialHistoryEvolution": "trial_history_evolution",
    "TrialHistoryV2": "trial_history",
    "TrialHistory_NAlt": "trial_history",
    "VariableMapping": "variable_mapping",
    "VariableReactionTime": "reaction_time",
    "Variable_nch": "variable_nch",
}

__all__ = ["WRAPPERS", "all_wrappers", "key_of", "module_of", "wrapper_class", *WRAPPERS]


def __getattr__(name: str) -> Any:
    """Import a wrapper on first use."""
    if name in WRAPPERS:
        return pkgutil.resolve_name(f"{module_of(name)}:{name}")
    raise AttributeError(f"module 'neurogym.wrappers' has no attribute {name!r}")


def module_of(name: str) -> str:
    """Module of a wrapper, by its class name."""
    module = WRAPPERS[name]
    return module if "." in module else f"neurogym.wrappers.{module}"


def all_wrappers() -> list[str]:
    """Sorted class names of all wrappers."""
    return sorted(WRAPPERS)


def key_of(name: str) -> str:
    """The name used on a command line: ``PassReward`` is ``pass_reward``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def wrapper_class(name: str) -> Any:
    """A wrapper by class name or command-line name; an optional ``-v0`` is ignored.

    Raises:
        ValueError: If there is no such wrapper; the message names the nearest.
    """
    plain = name.removesuffix("-v0")
    keys = _names()
    if plain not in keys:
        raise ValueError(unknown("wrapper", name, (key_of(cls) for cls in WRAPPERS)))
    return __getattr__(keys[plain])


@functools.cache
def _names() -> dict[str, str]:
    """Command-line name or class name to class name."""
    return {key_of(cls): cls for cls in WRAPPERS} | {cls: cls for cls in WRAPPERS}
