"""Detection: when to respond, by dynamic programming over the evidence that the bump has come.

A bump of one step may begin at any of the first L - 1 steps of a stimulus of L steps, equally likely. With
g = (x A - A^2 / 2) / sigma^2, the gain of a sample x, the evidence is S, the sum of exp(g) over the samples so far: the
probability that the bump has come and the trial continues is proportional to S times the sum of P(L) / (L - 1) over the
lengths that are left. Expectations are taken under noise alone, weighted with these likelihoods, so that the value of
each step is a function of S only.
"""

from __future__ import annotations

import numpy as np

from experiments.ceilings.result import Ceiling, make
from neurogym.envs.native import detection
from neurogym.sampling.distributions import Distribution

DURATIONS = 4_000_000
GRID = np.concatenate([[0.0], np.exp(np.linspace(-12, 60, 6001))])  #: values of S
NODES = 201  #: samples x between -8 and 8 standard deviations


def detection_ceiling() -> Ceiling:
    """The highest performance and the highest reward; no agent is above either."""
    performance = _best(hit=1.0, early=0.0, miss=0.0, withheld=1.0)
    rewards = make("Detection-v0").rewards
    reward = _best(rewards["correct"], rewards["fail"], rewards["miss"], rewards["withhold"])
    method = "dynamic programming over the evidence; performance and reward each at its best"
    return Ceiling(performance, reward, 0.0002, method)


def _best(hit: float, early: float, miss: float, withheld: float) -> float:
    """Highest expected payment of a trial.

    Args:
        hit: Reward of a response after the bump began.
        early: Reward of any other response.
        miss: Reward if a bump gets no response.
        withheld: Reward if no bump gets no response.
    """
    env = make("Detection-v0")
    assert env.bump == 1
    durations = Distribution.of(env.timing["stimulus"]).sample(np.random.default_rng(0), DURATIONS)
    steps, count = np.unique(np.maximum(np.floor(durations / env.dt + 1e-6), 1).astype(int), return_counts=True)
    share = np.zeros(steps.max() + 1)
    share[steps] = count / count.sum()
    length = np.arange(len(share))
    onset = np.divide(share, length - 1, out=np.zeros_like(share), where=length > 1)  # of each step at which it may be
    z = np.linspace(-8, 8, NODES)
    weight = np.exp(-(z**2) / 2)
    weight /= weight.sum()
    gain = np.exp((z * env.sigma * detection.STRENGTH - detection.STRENGTH**2 / 2) / env.sigma**2)
    value = np.zeros_like(GRID)
    for t in range(len(share) - 2, -1, -1):
        earlier, now = onset[t + 1 :].sum() / 2, onset[t + 2 :].sum() / 2  # bumps before this step, and at it
        later = sum(onset[n] * (n - 1 - (t + 1)) for n in range(t + 2, len(share))) / 2  # bumps still to come
        none = share[t + 1 :].sum() / 2
        came = earlier * GRID[:, None] + now * gain
        respond = hit * came + early * (later + none)
        ends = miss * onset[t + 1] / 2 * GRID[:, None] + withheld * share[t + 1] / 2
        after = np.interp(GRID[:, None] + gain, GRID, value)
        value = np.maximum(respond, ends + after) @ weight
    return float(value[0])
