"""Single trials of an agent, step by step: what it saw, what its units did, what it preferred, did and got."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Discrete

from ngym_cli.config.values import parse_assignments, split_entries
from ngym_cli.errors import UserError, unknown
from ngym_cli.figures.wording import Wording

if TYPE_CHECKING:
    from ngym_cli.figures.source import Source

#: Trials that are tried for those that were asked for.
MOST_TRIALS = 2_000

#: Conditions that are answers, the agent's or another modality's.
ANSWERS = ("ground_truth", "other_choice")


@dataclass(frozen=True)
class Trial:
    """One trial; row t of each array belongs to the same step.

    Attributes:
        observations: shape (steps, channels); of images the mean of each colour.
        actions: what the agent did, shape (steps, components).
        rewards: what it got, shape (steps,).
        ground_truth: what was right, shape (steps, components), or None where the task does not say.
        activity: of the hidden units, shape (steps, units), or None for an agent without memory.
        values: that the agent expected, shape (steps,), or None.
        policy: probability of each action, shape (steps, actions), or None.
        periods: name to first step and the step after the last; in the order of their beginning.
        record: the row of the trial table: conditions, outcome, choice, ...
        dt: length of a step, ms.
    """

    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    ground_truth: np.ndarray | None
    activity: np.ndarray | None
    values: np.ndarray | None
    policy: np.ndarray | None
    periods: dict[str, tuple[int, int]]
    record: dict[str, Any]
    dt: float

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.rewards)


def conditions_wanted(text: str | None) -> dict[str, str]:
    """Read ``coh=51.2,outcome=error``.

    Raises:
        UserError: if an entry is not ``NAME=VALUE``.
    """
    return parse_assignments(split_entries(text or ""), "--where (such as coh=51.2,outcome=error)", str)


def record(source: Source, trials: int, seed: int, wanted: Mapping[str, str], stochastic: bool = False) -> list[Trial]:
    """Run the agent of a run until so many trials of the wanted kind have ended.

    Args:
        source: the run.
        trials: how many.
        seed: of the environment and of drawn actions.
        wanted: column of the trial's record to the value that it must have.
        stochastic: draw actions instead of taking the most probable.

    Raises:
        UserError: if the record has no such column, or no such trial was met.
    """
    from ngym_cli.agents.acting import rollout
    from ngym_cli.agents.trained import agent_for
    from ngym_cli.environments.probes import PeriodProbe
    from ngym_cli.environments.stack import build_batch
    from ngym_cli.environments.trial_batch import trials_of

    venv = build_batch(source.config, 1, PeriodProbe)
    found: list[Trial] = []
    steps: list[dict[str, Any]] = []
    batch, met = trials_of(venv), 0
    try:
        venv.seed(seed)
        agent = agent_for(source.actor, 1, seed, not stochastic)
        for step in rollout(venv, agent):
            steps.append({"seen": _channels(step.seen[0]), "act": step.act, "reward": float(step.rewards[0]),
                          "truth": batch.ground_truth})  # fmt: skip
            if batch.finished is not None:
                row = {name: np.asarray(values)[0] for name, values in batch.finished.items()}
                met += 1
                if _matches(row, wanted):
                    found.append(_trial(steps, row, source))
                steps = []
            if len(found) == trials or met == MOST_TRIALS:
                break
    finally:
        venv.close()
    if not found:
        asked = ", ".join(f"{name}={value}" for name, value in wanted.items())
        raise UserError(f"none of {met:,} trials has {asked}")
    return found


def _channels(observation: np.ndarray) -> np.ndarray:
    """Return one row of channels; an image (colours first) as the mean of each colour."""
    return observation.reshape(len(observation), -1).mean(axis=1) if observation.ndim == 3 else np.ravel(observation)


def _matches(row: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    for name, value in wanted.items():
        if name not in row:
            raise unknown("column of the trial's record", name, [str(key) for key in row])
        try:
            same = float(row[name]) == float(value)
        except (TypeError, ValueError):
            same = str(row[name]) == value
        if not same:
            return False
    return True


def _trial(steps: list[dict[str, Any]], row: dict[str, Any], source: Source) -> Trial:
    acts = [step["act"] for step in steps]
    dt = source.facts.dt
    periods = {}
    for name in sorted(
        (n.removeprefix("onset_") for n in row if n.startswith("onset_")), key=lambda n: row[f"onset_{n}"]
    ):
        if not np.isfinite(row[f"onset_{name}"]):
            continue
        begin = round(row[f"onset_{name}"] / dt)
        end = min(begin + round(row.get(f"period_{name}", 0) / dt), len(steps))
        if begin < end:
            periods[name] = begin, end

    truth = [step["truth"] for step in steps]
    logits = _of_all_steps([act.logits for act in acts])
    discrete = isinstance(source.facts.action_space, Discrete)
    return Trial(
        observations=np.stack([step["seen"] for step in steps]),
        actions=np.stack([np.ravel(act.actions[0]) for act in acts]),
        rewards=np.array([step["reward"] for step in steps]),
        ground_truth=None if truth[0] is None else np.stack([np.ravel(each[0]) for each in truth]),
        activity=_of_all_steps([act.activity for act in acts]),
        values=_of_all_steps([act.values for act in acts]),
        policy=_softmax(logits) if logits is not None and discrete else None,
        periods=periods,
        record=row,
        dt=dt,
    )


def conditions_in_words(trial: Trial, source: Source, words: Wording) -> list[str]:
    """Return the conditions of a trial that are single values, a phrase each, without answers and gaps."""
    known = {name: np.asarray(trial.record[name]) for name in source.facts.conditions if name in trial.record}
    single = {name: value.item() for name, value in known.items() if not value.ndim and name not in ANSWERS}
    return [words.phrase(name, value) for name, value in single.items() if value is not None and value == value]


def _of_all_steps(parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """Return what the one environment has at each step, shape (steps, ...); None if the agent has no such thing."""
    known = [part[0] for part in parts if part is not None]
    return np.stack(known) if known else None


def _softmax(logits: np.ndarray) -> np.ndarray:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)
