"""Phase portraits: change of the learned logit against the logit, by choice and outcome."""

from __future__ import annotations

import numpy as np

from neurogym.behaviour.models.base import Policy, trial_of
from neurogym.behaviour.table import Behaviour, padded

MOST = 4000  #: points that are kept


def phase(policy: Policy, table: Behaviour) -> dict[str, np.ndarray]:
    """Return the logit of choice 1 without stimuli before each trial and after, and the condition of the trial.

    Args:
        policy: of a fitted model.
        table: two choices; others give no portrait.

    Returns:
        ``logit``, ``change`` and ``condition`` (2 x choice + rewarded), shape (points,).
    """
    if len(table.choices) != 2:
        return {}
    data = padded(table.sessions)
    none = np.zeros((len(data.choice), len(table.stimuli)))
    known = data.reward[data.choice >= 0]
    middle = 0.5 * (known.min() + known.max()) if known.size else 0.5
    state = policy.begin(len(data.choice))

    def logit() -> np.ndarray:
        p = np.clip(policy.probabilities(state, none)[:, 1], 1e-9, 1 - 1e-9)
        return np.asarray(np.log(p / (1 - p)))

    before, rows = logit(), []
    for t in range(data.choice.shape[1]):
        trial = trial_of(data, t)
        state = policy.advance(state, trial)
        after = logit()
        condition = 2 * trial.choice + (trial.reward > middle)
        rows.append(np.stack([before, after - before, condition], 1)[trial.choice >= 0])
        before = after
    points = np.concatenate(rows)
    points = points[:: max(1, len(points) // MOST)]
    return {"logit": points[:, 0], "change": points[:, 1], "condition": points[:, 2]}
