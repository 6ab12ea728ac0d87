"""Flip-flop memory of several bits."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from neurogym.envs.task import TaskInfo, Tracking, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import Probability, Range

Bits = Annotated[int, Range(1, 10, whole=True)]


class FlipFlop(Tracking):
    """Hold on each of n outputs the sign of the last pulse of the input of the same number.

    At every step each input has a pulse of 1 or -1 with a small probability, independent of the others; every input
    has one at the first step, so that the memory is defined from then on. The target changes at the step of the pulse.
    An output is right if its sign is. Performance is the share of right outputs over the trial.

    Bits are held for 20 steps on average: trained on 10, in trials half as long, one GRU of five had no attractor for
    two of the eight patterns of three bits.

    A trial can be requested with given first pulses: bit k of the number ``start`` is 1 if input k begins with 1.

    Args:
        n_bits: Number of inputs and of outputs, 1 to 10.
        p_pulse: Probability of a pulse per input and step, 0 to 1; both signs are equally likely.

    Raises:
        ValueError: If ``n_bits`` or ``p_pulse`` is out of range.

    Source: Sussillo & Barak 2013.
    """

    metadata = TaskInfo(
        doi="10.1162/NECO_a_00409",
        tags=["working memory", "continuous action space", "multidimensional action space", "supervised"],
        necessary=("pulse",),
        small={"n_bits": 1, "p_pulse": 0.5, "timing": {"memory": 100}},
        supervised="networks are trained on the levels that the outputs should have (Sussillo & Barak 2013, "
        "10.1162/NECO_a_00409)",
    )
    default_timing = {"memory": 2560}
    levels = (-1.0, 1.0)  #: of pulses and outputs

    @usual_arguments(dt=20, abort=False)
    def __init__(self, n_bits: Bits = 3, p_pulse: Probability = 0.05):
        self.n_bits, self.p_pulse = int(n_bits), p_pulse
        self.conditions = {"start": range(2**self.n_bits)}
        bits = range(self.n_bits)
        self.observation_space = spaces.channels({"pulse": bits}, -1, 1)
        self.action_space = spaces.channels({"bit": bits}, -1, 1)

    def _new_trials(self, trials: Trials) -> None:
        start = trials.draw("start")
        rows = trials.rows()
        trials.go, trials.go_period = trials.starts["memory"], "memory"
        shape = len(rows.index), self.n_bits
        pulses = (trials.rng.random(shape) < self.p_pulse) * trials.rng.choice(self.levels, size=shape)
        pulses[trials.offset] = np.where(start[:, None] >> np.arange(self.n_bits) & 1, 1.0, -1.0)
        # the first row of a trial has a pulse everywhere, so that the last one never belongs to another trial
        last = np.maximum.accumulate(np.where(pulses != 0, np.arange(shape[0])[:, None], 0), axis=0)
        states = np.take_along_axis(pulses, last, axis=0)
        changed = (np.diff(states, axis=0, prepend=states[:1]) != 0).any(axis=1) & (rows.step > 0)
        trials.info["flips"] = np.bincount(rows.trial, changed, trials.n).astype(int)
        trials.add_ob(pulses, where="pulse", per_row=True)
        trials.set_groundtruth(lambda _: states)
