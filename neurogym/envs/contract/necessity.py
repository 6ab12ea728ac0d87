"""Score of the best agent that ignores part of the input.

Trials are recorded while the oracle acts. At each step the right action of half of the trials is predicted from the
other half: that of the trials whose observations up to this step are nearest. Where trials that look the same need
different actions, no agent can be right in all of them; so the score of this prediction, with a part of the input
hidden and without, says how much the part is needed.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neurogym import rules
from neurogym.core import TrialEnv
from neurogym.envs.contract.subject import NothingToCheck, Subject, require
from neurogym.sampling.distributions import Distribution
from neurogym.spaces import Labels, names_of

NECESSITY_STEPS = 24_000
FEWEST, MOST = 160, 600
FEW = 10  #: trials of a session when the hidden state should differ between trials that look alike
CLOSE = 0.1  #: an action of real numbers is right within this fraction of its range
TIE = 1e-5
MARGIN = 0.03


@dataclass
class ActedTrials:
    """Trials acted out by the oracle, padded to the longest: ``n`` trials, ``steps`` steps.

    Attributes:
        channels: Label to index of the channels.
        ob: Observations, shape (n, steps, channels).
        action: The oracle's actions, shape (n, steps) or (n, steps, components).
        length: Steps of each trial, shape (n,).
        periods: First and last step (exclusive) of each period, name to shape (n, 2).
        event: Meaning of each action, shape (n, steps, actions), and ``performance`` likewise; None without a rule.
        tolerance: What counts as the same action, 0 for discrete ones.
    """

    channels: Labels
    ob: np.ndarray
    action: np.ndarray
    length: np.ndarray
    periods: dict[str, np.ndarray]
    event: np.ndarray | None
    performance: np.ndarray | None
    tolerance: np.ndarray


def necessary(subject: Subject) -> None:
    """An agent that ignores what the task calls necessary scores less.

    ``metadata["necessary"]`` lists what cannot be ignored: labels of channels, names of periods, tuples of these
    (ignored together), and ``"history"`` (what earlier trials showed).
    """
    wanted = subject.example.metadata.get("necessary", ())
    if not wanted or subject.large:
        raise NothingToCheck("images are not looked at" if wanted else "the task calls nothing necessary")
    fixed = _simple(subject)
    if "timing" not in subject.example.metadata["tags"]:
        fix_timing(fixed)
    several = [record(fixed)]
    if "history" in wanted:
        gain = _excess(np.ones(1), score(record(subject.task(), reset_after=FEW)))
        require(gain > 0, "an agent without memory of earlier trials scores as well as the oracle")
    for hidden in wanted:
        if hidden == "history":
            continue
        losses = [_excess(score(r), score(r, hide(r, hidden))) for r in several]
        if max(losses) <= 0 and len(several) == 1:
            several.append(record(_simple(subject)))
            losses.append(_excess(score(several[1]), score(several[1], hide(several[1], hidden))))
        require(max(losses) > 0, f"an agent that ignores {hidden!r} scores as well as one that does not")


def _excess(full: np.ndarray, less: np.ndarray) -> float:
    """Lead of ``full`` over ``less``, beyond what the sampling of trials explains."""
    error = np.sqrt(max(less.var(), full.var()) / len(less))
    return float(full.mean() - less.mean() - max(MARGIN, 2 * error))


def _simple(subject: Subject) -> TrialEnv:
    """The task without noise, and small enough for trials to resemble each other (``metadata["small"]``)."""
    accepts = inspect.signature(type(subject.example).__init__).parameters
    small = subject.example.metadata.get("small", {})
    return subject.task(**small, **({"sigma": 0} if "sigma" in accepts else {}))


def fix_timing(env: TrialEnv) -> None:
    """Fix every random period duration to the middle of the range."""
    bounds = {name: Distribution.of(spec).bounds() for name, spec in env.timing.items()}
    bounded = [name for name, spec in env.timing.items() if Distribution.of(spec).kind != "until"]
    env.update(timing={name: sum(bounds[name]) / 2 for name in bounded if np.isfinite(bounds[name][1])})


def record(env: TrialEnv, reset_after: int | None = None) -> ActedTrials:
    """Let the oracle act for `NECESSITY_STEPS` steps, at least `FEWEST` trials, in sessions of ``reset_after``."""
    env.reset(seed=0)
    obs: list[np.ndarray] = []
    actions: list[np.ndarray] = []
    events: list[np.ndarray] = []
    performances: list[np.ndarray] = []
    limits: list[dict[str, tuple[int, int]]] = []
    count, over = 0, False
    while len(obs) < MOST and (count < NECESSITY_STEPS or len(obs) < FEWEST):
        if over or (reset_after and len(obs) % reset_after == 0):
            env.reset()
        block, acted, rows, ended = env.session.this_trial, [], [], False
        while not ended:
            acted.append(env.oracle())
            rows.append(env.t_ind)
            _, _, terminated, truncated, info = env.step(acted[-1])
            over = terminated or truncated
            ended = info["new_trial"] or over
        obs.append(np.asarray(block.fields["ob"][rows], float).reshape(len(acted), -1))
        actions.append(np.asarray(acted))
        limits.append({name: (start[0], block.ends[name][0]) for name, start in block.starts.items()})
        if env.traits.batched:
            events.append(block.fields["event"][rows])
            performances.append(block.fields["performance"][rows])
        count += len(acted)
    names = {name for trial in limits for name in trial}
    space = env.action_space
    discrete = np.issubdtype(space.dtype, np.integer)
    return ActedTrials(
        names_of(env.observation_space),
        _pad(obs),
        _pad(actions),
        np.array([len(ob) for ob in obs]),
        {name: np.array([trial.get(name, (0, 0)) for trial in limits]) for name in names},
        _pad(events) if events else None,
        _pad(performances) if events else None,
        np.zeros(space.shape) if discrete else CLOSE * (space.high - space.low),
    )


def _pad(arrays: Sequence[np.ndarray]) -> np.ndarray:
    steps = max(len(array) for array in arrays)
    padded = np.zeros((len(arrays), steps, *arrays[0].shape[1:]), arrays[0].dtype)
    for row, array in zip(padded, arrays, strict=True):
        row[: len(array)] = array
    return padded


def hide(acted: ActedTrials, hidden: str | Sequence[str]) -> np.ndarray:
    """The observations with some channels or periods set to zero, shape (n, steps, channels)."""
    ob = acted.ob.copy()
    step = np.arange(ob.shape[1])
    for label in [hidden] if isinstance(hidden, str) else hidden:
        if label in acted.channels:
            ob[:, :, np.atleast_1d(np.asarray(acted.channels[label]))] = 0
        else:
            start, end = acted.periods[label].T[:, :, None]
            ob[(step >= start) & (step < end)] = 0
    return ob


def predict(acted: ActedTrials, ob: np.ndarray) -> np.ndarray:
    """Predict actions in every second trial from the remaining trials, using the observations ``ob``.

    Returns:
        Shape (trials, steps) or (trials, steps, components).
    """
    training, test = ob[0::2], ob[1::2]
    answers, lengths = acted.action[0::2], acted.length[0::2]
    distance = np.zeros((len(test), len(training)))
    predicted = acted.action[1::2].copy()
    for step in range(ob.shape[1]):
        test_row, training_row = test[:, step], training[:, step]
        square = (test_row**2).sum(1)[:, None] + (training_row**2).sum(1) - 2 * test_row @ training_row.T
        distance += np.maximum(square, 0)
        candidates = np.where(lengths > step, distance, np.inf)
        nearest = candidates.min(axis=1, keepdims=True)
        predicted[:, step] = _vote(candidates <= nearest + TIE, answers[:, step])
    return predicted


def _vote(tied: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Most common of the tied answers; the mean for real-valued answers."""
    if np.issubdtype(answers.dtype, np.integer) and answers.ndim == 1:
        values, index = np.unique(answers, return_inverse=True)
        return values[(tied @ np.eye(len(values))[index]).argmax(axis=1)]
    weights = tied / tied.sum(axis=1, keepdims=True)
    return np.tensordot(weights, answers, axes=(1, 0))


def score(acted: ActedTrials, ob: np.ndarray | None = None) -> np.ndarray:
    """Score of each predicted trial, 0 to 1.

    With a declared rule it is the performance up to the first predicted action that ends the trial, 0 after a break of
    fixation; otherwise 1 if every step is predicted right.
    """
    predicted = predict(acted, acted.ob if ob is None else ob)
    action, length = acted.action[1::2], acted.length[1::2]
    inside = np.arange(action.shape[1]) < length[:, None]
    if acted.event is None or acted.performance is None:
        same = np.abs(predicted - action) <= acted.tolerance + 1e-9
        same = same.reshape(*same.shape[:2], -1).all(axis=2)
        return (same | ~inside).all(axis=1).astype(float)
    cells = np.arange(len(action))[:, None], np.arange(action.shape[1])[None], predicted
    event, performance = acted.event[1::2][cells], acted.performance[1::2][cells]
    broken = ((event & rules.OUTCOME) == rules.ABORT) & inside
    stops = broken | ((event >= rules.END) & inside)
    before = np.cumsum(stops, axis=1) - stops == 0
    gained = (performance * (inside & before)).sum(axis=1)
    return np.where((broken & before).any(axis=1), 0.0, gained)
