"""Perceptual decision-making with several alternatives."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from neurogym.envs.psychophysics import coherences, step_noise
from neurogym.envs.task import ChoiceTask, ConditionValues, ObserverSettings, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import AtLeastTwo, NonNegative, Numbers

MOST_LISTED = 8  #: with more alternatives, only the subsets {1, ..., k} can be requested
N_BLOCKS = 16


class NAltPerceptualDecisionMaking(ChoiceTask):
    """Report the strongest of n noisy stimuli; any subset of stimuli may be in play.

    Args:
        n_ch: Number of alternatives, at least 2.
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).
        stim_scale: Multiplies all coherences.
        cohs: Coherences (percent) for two alternatives or so; they grow with the logarithm of ``n_ch``.
        ob_nch: Whether a channel shows the number of alternatives in play.
        ob_histblock: Whether a channel shows the current block (condition ``curr_block``), counted from 1.
        zero_irrelevant_stim: Whether alternatives that are not in play show nothing.

    Raises:
        ValueError: If ``n_ch`` is less than 2, or a requested ground truth is not in play.

    Source: Churchland, Kiani & Shadlen 2008.
    """

    metadata = TaskInfo(
        doi="10.1038/nn.2123",
        tags=["perceptual", "n-alternative", "supervised"],
        necessary=("stimulus",),
    )
    default_timing = {"fixation": 500, "stimulus": ("truncated_exponential", (330, 80, 1500)), "decision": 500}
    cohs = ConditionValues("coh")
    ideal_observer = ObserverSettings(("ground_truth", "coh"))

    @usual_arguments()
    def __init__(
        self,
        n_ch: AtLeastTwo = 3,
        sigma: NonNegative = 1.0,
        stim_scale: NonNegative = 1.0,
        cohs: Numbers | None = None,
        ob_nch: bool = False,
        ob_histblock: bool = False,
        zero_irrelevant_stim: bool = False,
    ):
        self.n_ch, self.zero_irrelevant_stim = int(n_ch), zero_irrelevant_stim
        self.sigma = step_noise(sigma, self.dt)
        everything = tuple(range(1, self.n_ch + 1))
        sizes = range(2, self.n_ch + 1)
        listed = self.n_ch <= MOST_LISTED
        subsets = [s for k in sizes for s in (combinations(everything, k) if listed else [everything[:k]])]
        self.conditions = {
            "ground_truth": everything,
            "coh": coherences(cohs) * stim_scale * (1.84665761 * np.log(n_ch) - 0.04102044),
            "sel_chs": subsets,
            "curr_block": range(N_BLOCKS),
        }
        names: dict[str, object] = {"fixation": 0, "stimulus": list(everything)}
        for label, is_shown in (("n_choices", ob_nch), ("block", ob_histblock)):
            if is_shown:
                names[label] = 1 + self.n_ch + ("n_choices" in names)
        self.observation_space = spaces.channels(names)
        self.action_space = spaces.Discrete(1 + self.n_ch, name={"fixation": 0, "choice": list(everything)})

    def _in_play(self, trials: Trials) -> np.ndarray:
        """Alternatives in play, shape (n, alternatives)."""
        chosen = trials.draw("sel_chs", (self.conditions["sel_chs"][-1],))
        listed = [tuple(subset) for subset in chosen]
        places = {subset: position for position, subset in enumerate(dict.fromkeys(listed))}
        rows = np.stack([np.isin(np.arange(1, self.n_ch + 1), subset) for subset in places])
        return rows[[places[subset] for subset in listed]]

    def _new_trials(self, trials: Trials) -> None:
        in_play = self._in_play(trials)
        index = np.arange(trials.n)
        drawn = 1 + np.where(in_play, trials.rng.random(in_play.shape), -1.0).argmax(axis=1)
        truth = trials.draw("ground_truth") if "ground_truth" in trials.given else drawn
        if not in_play[index, truth - 1].all():
            raise ValueError(f"ground_truth={truth.tolist()} is not among the alternatives in play (sel_chs)")
        trials.info["ground_truth"] = truth
        coh, block = trials.draw("coh")[:, None] / 100, trials.draw("curr_block", (0,))
        strength = np.where(np.arange(1, self.n_ch + 1) == truth[:, None], 1 + coh, 1 - coh) / 2
        if self.zero_irrelevant_stim:
            strength = np.where(in_play, strength, 0.0)
        trials.add_period(["fixation", "stimulus", "decision"], min_steps=1)
        trials.add_ob(1, ["fixation", "stimulus"], where="fixation")
        trials.add_ob(strength, "stimulus", where="stimulus")
        trials.add_randn(0, self.sigma, "stimulus", where="stimulus")
        for label, value in (("n_choices", in_play.sum(axis=1)), ("block", block + 1)):
            if label in self.observation_space.name:
                trials.add_ob(value, where=label)
        trials.set_groundtruth(truth, "decision")
