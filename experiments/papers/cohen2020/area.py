"""Make the recording of an invented area: counts of spikes of 60 neurons in 144 trials.

    python experiments/papers/cohen2020/area.py

Its neurons add up, with random weights and a rectified response, evidence of both sources, the relevant evidence so
far, the context, and a sequence of short events that goes on through the delay and carries the decision.
"""

import itertools
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("area.npz")
#: Steps (50 ms) of the stimulus and the delay, time constant of the events (steps squared), neurons, trials of each.
STIMULUS, DELAY, WIDTH, NEURONS, EACH = 15, 20, 18, 60, 2
NAMES = ("context", "ground_truth", "other_choice", "coh_1", "coh_2")
CONDITIONS = np.array([*itertools.product((0, 1), (1, 2), (1, 2), (5, 15, 50), (5, 15, 50))])


def signals(context: int, relevant: int, irrelevant: int, coh_1: int, coh_2: int) -> np.ndarray:
    """Return what the neurons of a trial add up, shape (steps, signals)."""
    sides = (relevant, irrelevant) if context == 0 else (irrelevant, relevant)
    evidence = (2 * np.array(sides) - 3) * np.array([coh_1, coh_2]) / 100
    steps, (sensed, total) = np.arange(STIMULUS + DELAY), (np.zeros(2), 0.0)
    events = 1.5 * np.exp(-((steps[:, None] - np.arange(3, len(steps), 5)) ** 2) / WIDTH)
    rows = []
    for step in steps:
        seen = evidence * (step < STIMULUS)
        sensed, total = 0.7 * sensed + 0.6 * seen, total + 0.3 * seen[context]
        decision, carried = np.tanh(2 * total), events[step] * np.tanh(4 * total)
        rows.append(np.r_[sensed, decision, 1.4 * context - 0.7, events[step], carried])
    return np.array(rows)


def main() -> None:
    """Write the recording."""
    rng = np.random.default_rng(0)
    every = np.array([signals(*each) for each in CONDITIONS.tolist()])
    weights, bias = rng.normal(0, 0.9, (every.shape[2], NEURONS)), rng.normal(-1, 0.5, NEURONS)
    rates = np.log1p(np.exp(every @ weights + bias))
    trials = np.repeat(np.arange(len(CONDITIONS)), EACH)
    arrays = {f"condition_{name}": CONDITIONS[trials, k] for k, name in enumerate(NAMES)}
    arrays |= {"dt": np.array(50.0), "period_stimulus": np.array([0, STIMULUS])}
    arrays |= {"period_delay": np.array([STIMULUS, STIMULUS + DELAY])}
    np.savez_compressed(FILE, activity=rng.poisson(rates[trials]).astype(np.uint8), **arrays)


if __name__ == "__main__":
    main()
