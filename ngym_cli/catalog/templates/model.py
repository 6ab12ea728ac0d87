"""A model of choices of your own: a plain function of a trial, fitted to animals by ``ngym fit``.

A class works, too: with ``fit(problems)`` as in ``neurogym.behaviour.models.base.Model``, named in the same way.
"""

from __future__ import annotations

from typing import Any

#: Lower and upper end of each parameter; None for no bound.
PARAMETERS = {"alpha": (0, 1), "beta": (0, None), "stickiness": (None, None)}


def my_model(
    params: dict[str, float], state: Any, choice: int | None, reward: float | None, stimulus: dict[str, float]
) -> tuple[list[float], Any]:
    """Learn values of two options, with a tendency to repeat the last choice.

    Args:
        params: values of the parameters.
        state: as returned in the trial before; None in the first trial of a session.
        choice: choice in the trial before, 0 or 1; None in the first trial and after a missed trial.
        reward: reward of the trial before.
        stimulus: stimuli of the present trial by name, as in ``stimulus["coh"]``.

    Returns:
        Logits of the choices in the present trial, and the new state.
    """
    values = [0.0, 0.0] if state is None else list(state)
    logits = [0.0, 0.0]
    if choice is not None and reward is not None:
        values[choice] += params["alpha"] * (reward - values[choice])
        logits[choice] += params["stickiness"]
    return [logit + params["beta"] * value for logit, value in zip(logits, values, strict=True)], values
