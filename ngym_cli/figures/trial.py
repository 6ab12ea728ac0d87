"""Trial as arrays, recorded from an agent of a run or from the oracle of a task.

Drawings (``trial_drawing``), text (``watch``) and pages are made from the same ``Trial``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Discrete

from neurogym.recording.rollout import Oracle, RolloutStep, rollout
from neurogym.spaces import Action, names_of
from ngym_cli.config.values import parse_assignments, split_entries
from ngym_cli.environments.probes import ONSET, PeriodProbe
from ngym_cli.environments.trial_batch import trials_of
from ngym_cli.errors import UserError, option, unknown
from ngym_cli.figures.wording import Wording

if TYPE_CHECKING:
    import gymnasium as gym
    from numpy.typing import ArrayLike

    from ngym_cli.agents.acting import AgentStep
    from ngym_cli.figures.source import Source

#: Most trials run to find the requested trials, and steps after which a trial of the oracle is cut.
MOST_SEARCHED = MOST_STEPS = 2_000

#: Conditions that are answers, the agent's or another modality's.
ANSWER_CONDITIONS = ("ground_truth", "other_choice")


@dataclass(frozen=True)
class TrialView:
    """Trial as arrays; row t of each array belongs to the same step.

    Attributes:
        observations: shape (steps, channels); of images the mean of each colour.
        actions: actions of the agent, shape (steps, components).
        rewards: shape (steps,).
        dt: length of a step, ms.
        labels: names of channels and actions: ``observation`` and ``action``, each label to index or indices.
        discrete: whether an action is one choice.
        ground_truth: correct actions, shape (steps, components), or None where the task does not say.
        activity: of the hidden units, shape (steps, units), or None for an agent without memory.
        values: expected reward, shape (steps,), or None.
        policy: probability of each action, shape (steps, actions), or None.
        frames: image observations, shape (steps, ...); None without images.
        periods: name to first step and the step after the last.
        record: the row of the trial table: conditions, outcome, choice, ...
        conditions: names of the columns of ``record`` that are conditions of the task.
    """

    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    dt: float
    labels: Mapping[str, Mapping[str, object]]
    discrete: bool
    ground_truth: np.ndarray | None = None
    activity: np.ndarray | None = None
    values: np.ndarray | None = None
    policy: np.ndarray | None = None
    frames: np.ndarray | None = None
    periods: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    record: Mapping[str, ArrayLike] = field(default_factory=dict)
    conditions: Sequence[str] = ()

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.rewards)

    def in_words(self, words: Wording) -> list[str]:
        """Return the conditions that are single values, a phrase each, without answers and gaps."""
        available = {name: np.asarray(self.record[name]) for name in self.conditions if name in self.record}
        conditions = {name: value for name, value in available.items() if name not in ANSWER_CONDITIONS}
        single = {name: value.item() for name, value in conditions.items() if not value.ndim}
        return [words.phrase(name, value) for name, value in single.items() if value is not None and value == value]

    def as_row(self) -> dict[str, object]:
        """Return plain data for JSON: each array as a list with an entry per step."""
        pick = slice(None) if not self.discrete else 0
        truth = self.ground_truth
        return {
            "conditions": {key: value for key, value in self.record.items() if np.ndim(value) == 0},
            "periods": {name: list(span) for name, span in self.periods.items()},
            "observations": None if self.frames is not None else np.round(self.observations, 4).tolist(),
            "actions": self.actions[:, pick].tolist(),
            "ground_truth": [None] * len(self) if truth is None else truth[:, pick].tolist(),
            "rewards": self.rewards.tolist(),
        }


def oracle_trial(env: gym.Env, seed: int) -> TrialView:
    """Let the oracle of a task perform a trial.

    Args:
        env: the task.
        seed: random seed of the reset.
    """
    oracle, steps = _OracleOfATrial(env), list[RolloutStep]()
    for step in rollout(env, oracle, seed):
        steps.append(step)
        if step.over or len(steps) == MOST_STEPS:
            break
    seen = np.array([step.seen for step in steps])
    truth = [np.ravel(step.info["gt"]) for step in steps if "gt" in step.info]
    return TrialView(
        observations=seen if seen.ndim == 2 else np.stack([_channels(each) for each in seen]),
        actions=np.stack([np.ravel(step.action) for step in steps]),
        rewards=np.array([step.reward for step in steps]),
        dt=float(oracle.task.dt),
        labels={"observation": names_of(env.observation_space), "action": names_of(env.action_space)},
        discrete=isinstance(env.action_space, Discrete),
        ground_truth=np.stack(truth) if len(truth) == len(steps) else None,
        frames=None if seen.ndim == 2 else seen,
        periods=oracle.periods(len(steps)),
        record=steps[-1].info.get("trial", {}),
    )


class _OracleOfATrial(Oracle):
    """Oracle that stores the periods of the first trial, and which of their steps it came to."""

    def __init__(self, env: gym.Env):
        super().__init__(env)
        self._layout: dict[str, tuple[int, int]] = {}
        self._visited: list[int] = []

    def act(self, ob: object) -> Action:
        if not self._layout:
            ends = self.task.end_ind
            self._layout = {name: (start, ends[name]) for name, start in self.task.start_ind.items()}
        self._visited.append(self.task.t_ind)
        return super().act(ob)

    def periods(self, steps: int) -> dict[str, tuple[int, int]]:
        """Return the first step of each period in the trial and the step after the last."""
        visited, result = np.array(self._visited[:steps]), {}
        for name, (start, end) in self._layout.items():
            inside = np.flatnonzero((visited >= start) & (visited < end))
            if len(inside):
                result[name] = int(inside[0]), int(inside[-1]) + 1
        return result


def conditions_wanted(text: str | None) -> dict[str, str]:
    """Read ``coh=51.2,outcome=error``.

    Raises:
        UserError: if an entry is not ``NAME=VALUE``.
    """
    return parse_assignments(split_entries(text), f"{option('--where')} (such as coh=51.2,outcome=error)", str)


def record(
    source: Source, trials: int, seed: int, wanted: Mapping[str, str], stochastic: bool = False
) -> list[TrialView]:
    """Run the agent of a run until the requested number of matching trials has ended.

    Args:
        source: the run.
        trials: number of trials.
        seed: of the environment and of drawn actions.
        wanted: column of the trial's record to the value that it must have.
        stochastic: draw actions instead of taking the most probable.

    Raises:
        UserError: if the record has no such column, or no such trial was met.
    """
    from ngym_cli.agents.acting import rollout
    from ngym_cli.agents.from_config import build_batch
    from ngym_cli.agents.trained import agent_for

    venv = build_batch(source.config, 1, PeriodProbe)
    rows: list[TrialView] = []
    steps: list[AgentStep] = []
    truth: list[np.ndarray | None] = []
    batch, met = trials_of(venv), 0
    try:
        venv.seed(seed)
        for step in rollout(venv, agent_for(source.actor, seed, not stochastic)):
            steps.append(step)
            truth.append(batch.ground_truth)
            if batch.finished is not None:
                row = {name: np.asarray(values)[0] for name, values in batch.finished.items()}
                met += 1
                if _matches(row, wanted):
                    rows.append(_trial(steps, truth, row, source))
                steps, truth = [], []
            if len(rows) == trials or met == MOST_SEARCHED:
                break
    finally:
        venv.close()
    if not rows:
        wanted_text = ", ".join(f"{name}={value}" for name, value in wanted.items())
        raise UserError(f"none of {met:,} trials has {wanted_text}")
    return rows


def _channels(observation: np.ndarray) -> np.ndarray:
    """Return a row of channels; an image (colours first) as the mean of each colour."""
    return observation.reshape(len(observation), -1).mean(axis=1) if observation.ndim == 3 else np.ravel(observation)


def _matches(row: Mapping[str, np.generic], wanted: Mapping[str, str]) -> bool:
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


def _trial(steps: list[AgentStep], truth: list[np.ndarray | None], row: dict[str, Any], source: Source) -> TrialView:
    from scipy.special import softmax

    acts = [step.act for step in steps]
    dt = source.properties.dt
    periods = {}
    onsets = {name.removeprefix(ONSET): row[name] for name in row if name.startswith(ONSET) and np.isfinite(row[name])}
    for name, onset in sorted(onsets.items(), key=lambda item: item[1]):
        begin = round(onset / dt)
        end = min(begin + round(row.get(f"period_{name}", 0) / dt), len(steps))
        if begin < end:
            periods[name] = begin, end
    correct = _of_all_steps(truth)
    logits = _of_all_steps([act.logits for act in acts])
    discrete = isinstance(source.properties.action_space, Discrete)
    return TrialView(
        observations=np.stack([_channels(step.seen[0]) for step in steps]),
        actions=np.stack([np.ravel(act.actions[0]) for act in acts]),
        rewards=np.array([step.rewards[0] for step in steps], float),
        dt=dt,
        labels=source.properties.labels,
        discrete=discrete,
        ground_truth=None if correct is None else correct.reshape(len(steps), -1),
        activity=_of_all_steps([act.activity for act in acts]),
        values=_of_all_steps([act.values for act in acts]),
        policy=softmax(logits, axis=1) if logits is not None and discrete else None,
        periods=periods,
        record=row,
        conditions=list(source.properties.conditions),
    )


def _of_all_steps(pieces: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """Return the values of the single environment at each step, shape (steps, ...); None if missing."""
    available = [piece[0] for piece in pieces if piece is not None]
    return np.stack(available) if available else None
