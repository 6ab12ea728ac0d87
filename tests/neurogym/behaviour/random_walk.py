"""Random walk to bounds, apart from all densities."""

import numpy as np


def random_walk(drift, bound, start, rng, longest=20.0, step=1e-3):
    """Return simulated choices (1 upper, 0 lower, -1 undecided) and decision times in s, shape (trials,).

    Steps of a random walk, with the probability that the path crossed a bound within a step (a Brownian bridge), so
    that the length of the step biases neither choices nor times noticeably.

    Args:
        drift: per s, shape (trials,).
        bound: half the distance between the bounds at a time, around 0, shape (trials,) or a number.
        start: starting point between the bounds, in the unit of the bounds, 0 midway, shape (trials,).
        rng: source of randomness.
        longest: time in s after which a trial remains undecided.
        step: length of a step in s.
    """
    x, n = start.astype(float).copy(), len(drift)
    choice, time = np.full(n, -1), np.full(n, np.nan)
    active = np.arange(n)
    for k in range(int(longest / step)):
        if not len(active):
            break
        edge = np.broadcast_to(bound((k + 0.5) * step), (n,))[active]
        before = x[active]
        after = before + drift[active] * step + np.sqrt(step) * rng.standard_normal(len(active))
        u = rng.random((2, len(active)))
        over = (after >= edge) | (u[0] < np.exp(-2 * np.maximum((edge - before) * (edge - after), 0) / step))
        under = (after <= -edge) | (u[1] < np.exp(-2 * np.maximum((edge + before) * (edge + after), 0) / step))
        ended = over | under
        choice[active[ended]] = np.where(over & under, after > 0, over)[ended]
        time[active[ended]] = (k + rng.random(int(ended.sum()))) * step
        x[active] = after
        active = active[~ended]
    return choice, time
