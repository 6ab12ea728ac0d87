"""Recommended settings of tasks that need more than their name: wrappers, and settings of the learner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ngym_cli.config.tasks import built_in

#: Configuration key that asks for the recommended settings; a complete configuration has the settings in its place.
KEY = "recommended"

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
        tables = {"--set": "hyperparameters", "--network-arg": "network_args", "--task-arg": "task_args"}
        found = [f"--wrappers {wrappers}"] if wrappers else []
        found += [f"--{key.replace('_', '-')} {self.settings[key]}" for key in PLAIN if key in self.settings]
        found += [
            f"{flag} {name}={value:g}" if isinstance(value, float) else f"{flag} {name}={value}"
            for flag, table in tables.items()
            for name, value in self.settings.get(table, {}).items()
        ]
        return " ".join(found)


#: Settings that are no tables.
PLAIN = ("alg", "network", "units", "n_envs", "timesteps")

#: Settings of tasks for which the two wrappers of history alone are not enough, or not what is needed.
OWN: dict[str, Recommended] = {
    "ChangingBandit-v0": Recommended(
        {
            "wrappers": HISTORY,
            "n_envs": 512,
            "timesteps": 12_000_000,
            "network_args": {"memory": 100},
            "hyperparameters": {
                "n_steps": 100, "batch_size": 12_800, "n_epochs": 8, "learning_rate": 0.003, "final_rate": 0.1,
                "trial_gamma": 0.98, "gae_lambda": 0.7, "ent_coef": 0.003,
            },
        },
        "rollouts are whole sessions, and rewards of later trials count, because exploration is worthwhile for dozens "
        "of trials (Duan et al. 2016, arXiv:1611.02779; Wang et al. 2016, arXiv:1611.05763)",
    ),
    "RandomDotMotion-v0": Recommended(
        {"wrappers": [{"name": "motion_energy"}], "timesteps": 200_000},
        "motion lies between frames, and a single frame does not show it; detectors of motion compare two frames",
    ),
}  # fmt: skip

LINKED = "what is rewarded depends on earlier trials, which the last action and the last reward report"


def recommended(task: object) -> Recommended | None:
    """Return the recommended settings of a built-in task, or None where the task needs nothing but its name.

    Args:
        task: name of a task; None for a user's own task, whose code is not imported, and for unknown names.
    """
    id_, metadata = built_in(task)
    return OWN.get(id_) or (Recommended({"wrappers": HISTORY}, LINKED) if metadata.get("carries") else None)


def with_recommended(data: Mapping[str, Any], default_task: str) -> dict[str, Any]:
    """Return settings in which the wish for recommended settings is replaced by these settings.

    Args:
        data: settings of a configuration, possibly with ``recommended``.
        default_task: task where the settings name none.

    Raises:
        ValueError: if the wish is not true or false.
    """
    data = dict(data)
    wanted = data.pop(KEY, False)
    if not isinstance(wanted, bool):
        raise ValueError(f"{KEY}: expected true or false, not {wanted!r}")
    found = recommended(data.get("task", default_task)) if wanted else None
    if found is None:
        return data
    tables = {
        key: {**value, **data[key]}
        for key, value in found.settings.items()
        if isinstance(value, Mapping) and isinstance(data.get(key), Mapping)
    }
    return {**found.settings, **data, **tables}
