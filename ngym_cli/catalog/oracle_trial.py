"""One trial of a task done by the oracle, as data and as a figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.recording.rollout import Oracle, Step, rollout
from ngym_cli.catalog.rows import Row
from ngym_cli.errors import UserError, unknown

if TYPE_CHECKING:
    import gymnasium as gym

    from ngym_cli.environments.facts import Facts

#: Steps after which the drawing of a trial is cut.
MOST_STEPS = 2_000


def draw(env: gym.Env, seed: int) -> Row:
    """Let the oracle do one trial and return what it saw and did, one entry per step."""
    oracle = _OracleOfATrial(env)
    steps: list[Step] = []
    for step in rollout(env, oracle, seed):
        steps.append(step)
        if step.over or len(steps) == MOST_STEPS:
            break
    seen = np.array([step.seen for step in steps])
    record = steps[-1].info.get("trial", {})
    return {
        "conditions": {key: value for key, value in record.items() if np.ndim(value) == 0},
        "periods": {name: [start, min(end, len(steps))] for name, (start, end) in oracle.periods.items()},
        "observations": np.round(seen, 4).tolist() if seen.ndim == 2 else None,
        "actions": [np.asarray(step.action).tolist() for step in steps],
        "ground_truth": [np.asarray(step.info["gt"]).tolist() if "gt" in step.info else None for step in steps],
        "rewards": [step.reward for step in steps],
    }


class _OracleOfATrial(Oracle):
    """Keeps the periods of the trial that it begins with."""

    periods: dict[str, tuple[int, int]] = {}  # noqa: RUF012  (replaced, never changed)

    def act(self, ob: object) -> Any:
        if not self.periods:
            ends = self.task.end_ind
            self.periods = {name: (start, ends[name]) for name, start in self.task.start_ind.items()}
        return super().act(ob)


def save(trial: Row, facts: Facts, path: Path) -> None:
    """Draw the trial into a file."""
    from ngym_cli.figures.examples import Trace, example_trials
    from ngym_cli.figures.requests import FORMATS, save_figure
    from ngym_cli.figures.style import styled

    if path.suffix.removeprefix(".") not in FORMATS:
        raise unknown("format", path.suffix.removeprefix("."), FORMATS)
    if trial["observations"] is None:
        raise UserError("--figure draws tasks whose observation is one row of channels")
    known = [] if None in trial["ground_truth"] else [np.ravel(value) for value in trial["ground_truth"]]
    trace = Trace(
        observations=[np.asarray(row) for row in trial["observations"]],
        actions=[np.ravel(action) for action in trial["actions"]],
        ground_truth=known,
        rewards=trial["rewards"],
        ends=[len(trial["actions"])],
        outcomes=["oracle"],
    )
    with styled():
        save_figure(example_trials(trace, facts.dt, facts.labels), path)
