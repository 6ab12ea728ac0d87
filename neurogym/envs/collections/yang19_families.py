"""The three families of tasks that make up the collection ``yang19``; the twenty tasks are in ``yang19.py``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product

import numpy as np

from neurogym.envs.collections.ring_observer import NOTICED, matching, simulated, stronger
from neurogym.envs.psychophysics import bump, ring
from neurogym.envs.task import ChoiceTask, Score, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import AtLeastTwo, NonNegative

RINGS = (1, 2)


class YangTask(ChoiceTask):
    """Base of the twenty tasks: a fixation cue, a ring of units for each of two modalities, an action per direction.

    Args:
        dim_ring: Number of directions, and of units in each ring.
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).

    Raises:
        ValueError: If ``dim_ring`` is less than 2.
    """

    one_ring = True  #: only one modality is shown in a trial; NeuroGym then calls the first ring ``stimulus``

    @usual_arguments()
    def __init__(self, dim_ring: AtLeastTwo = 16, sigma: NonNegative = 1.0):
        self.dim_ring, self.theta = dim_ring, ring(dim_ring)
        self.sigma = sigma / np.sqrt(self.dt)
        units = {
            "stimulus_mod1": range(1, dim_ring + 1),
            "stimulus_mod2": range(dim_ring + 1, 2 * dim_ring + 1),
        }
        self.observation_space = spaces.channels(
            spaces.Labels({"fixation": 0, **units}, {"stimulus": units["stimulus_mod1"]} if self.one_ring else None)
        )
        self.action_space = spaces.Discrete(1 + dim_ring, name={"fixation": 0, "choice": range(1, dim_ring + 1)})

    def show(self, trials: Trials, angle: np.ndarray, period: str) -> None:
        """Show a bump of strength 1 on the ring of each trial's modality, with noise on that ring."""
        rows = trials.rows(period)
        seen = bump(self.theta, angle, np.ones(trials.n))[rows.trial]
        if self.sigma > 0:
            seen += self.sigma * trials.rng.standard_normal(seen.shape, dtype=np.float32)
        modality = trials.info["modality"][rows.trial]
        for m in RINGS:
            input_ = np.where((modality == m)[:, None], seen, 0.0)
            trials.add_ob(lambda _, input_=input_: input_, period, where=f"stimulus_mod{m}")


class Respond(YangTask):
    """Go and anti tasks: respond towards or away from the stimulus.

    Args:
        anti: Respond away from the stimulus.
        reaction: Show the stimulus in the decision period, to be answered at once.
        delay: Delay between stimulus and decision (ms).
        sigma: Noise on the ring that shows the stimulus; none by default.
        **kwargs: See :class:`YangTask`.
    """

    def __init__(
        self, anti: bool = False, reaction: bool = False, delay: float = 0, sigma: NonNegative = 0.0, **kwargs: object
    ):
        between = {} if reaction else {"stimulus": 500, "delay": delay}
        self.default_timing = {"fixation": 500, **between, "decision": 500}  # type: ignore[misc]
        super().__init__(sigma=sigma, **kwargs)
        self.anti, self.reaction = anti, reaction
        self.conditions = {"ground_truth": np.arange(self.dim_ring), "modality": RINGS}

    def _new_trials(self, trials: Trials) -> None:
        ground_truth = trials.draw("ground_truth")
        trials.draw("modality")
        trials.info["anti"] = np.full(trials.n, self.anti)
        trials.add_ob(1, [name for name in self.default_timing if name != "decision"], where="fixation")
        angle = self.theta[ground_truth] + np.pi * self.anti
        self.show(trials, angle, "decision" if self.reaction else "stimulus")
        trials.set_groundtruth(ground_truth, "decision", where="choice")


class Decide(YangTask):
    """Decision tasks: respond towards the stronger of two stimuli.

    Each modality that is shown has the two stimuli at the same two directions, with strengths of its own. In the
    simultaneous tasks the strengths are 0.5 +- c/2 with signed coherence c; in the delayed ones, where the stimuli
    follow each other, they are two different entries of ``cohs``. Judged is the sum over the ``judged`` modalities;
    combinations in which it is equal are not drawn.

    Args:
        shown: Modalities that are shown.
        judged: Modalities that count.
        delayed: Show the stimuli one after the other, with a delay between.
        cohs: Coherences, or strengths in the delayed tasks.
        **kwargs: See :class:`YangTask`.

    Raises:
        ValueError: If ``cohs`` is empty, or has fewer than two entries in a delayed task.
    """

    one_ring = False

    def __init__(
        self,
        shown: tuple[int, ...] = (1,),
        judged: tuple[int, ...] = (1,),
        delayed: bool = False,
        cohs: Sequence[float] | None = None,
        **kwargs: object,
    ):
        between = {"stim1": 500, "delay": 1000, "stim2": 500} if delayed else {"stimulus": ("choice", (200, 400, 600))}
        self.default_timing = {"fixation": ("uniform", (200, 500)), **between, "decision": 200}  # type: ignore[misc]
        super().__init__(**kwargs)
        self.shown, self.judged, self.delayed = shown, judged, delayed
        self.cohs = tuple(((0.3, 0.6, 1.0) if delayed else (0.08, 0.16, 0.32, 0.64)) if cohs is None else cohs)
        if len(set(self.cohs)) < 1 + delayed:
            raise ValueError(f"cohs must list at least {1 + delayed} different values, got {cohs!r}")
        if delayed:
            values: list[object] = list(permutations(self.cohs, 2))
            self.strengths = np.array(values)
        else:
            signed = sorted({sign * coh for coh in self.cohs for sign in (-1, 1)})
            values = list(signed)
            self.strengths = 0.5 + np.outer(signed, (0.5, -0.5))
        names = [f"{'pair' if delayed else 'coh'}_mod{m}" for m in shown]
        self.conditions = {"ground_truth": np.arange(self.dim_ring), **dict.fromkeys(names, values)}
        self._names, self._values = names, values
        self._table = np.array(list(product(range(len(values)), repeat=len(shown))))
        difference = self.strengths[:, 0] - self.strengths[:, 1]
        self._evidence = sum(difference[self._table[:, shown.index(m)]] for m in judged)
        self._tied = (np.abs(self._evidence) < 1e-9) & (len(judged) > 1)

    def _new_trials(self, trials: Trials) -> None:
        ground_truth, chosen = trials.draw("ground_truth"), self._combinations(trials)
        second = (ground_truth + trials.rng.integers(1, self.dim_ring, size=trials.n)) % self.dim_ring
        equal = np.abs(self._evidence[chosen]) < 1e-9
        first_stronger = np.where(equal, trials.rng.random(trials.n) < 0.5, self._evidence[chosen] > 0)
        theta = [
            self.theta[np.where(first_stronger, ground_truth, second)],
            self.theta[np.where(first_stronger, second, ground_truth)],
        ]
        trials.info.update(theta1=theta[0], theta2=theta[1])
        stimuli = ["stim1", "stim2"] if self.delayed else ["stimulus", "stimulus"]
        trials.add_ob(1, [name for name in self.default_timing if name != "decision"], where="fixation")
        if not self.delayed:
            trials.info["stim_period"] = (trials.ends["stimulus"] - trials.starts["stimulus"]) * float(self.dt)
        for column, m in enumerate(self.shown):
            strength = self.strengths[self._table[chosen, column]]
            trials.info[f"coh1_mod{m}"], trials.info[f"coh2_mod{m}"] = strength.T
            for k in (0, 1):
                trials.add_ob(bump(self.theta, theta[k], strength[:, k]), stimuli[k], where=f"stimulus_mod{m}")
        if self.sigma > 0:
            for m in RINGS:
                trials.add_randn(0, self.sigma, stimuli[: 1 + self.delayed], where=f"stimulus_mod{m}")
        trials.set_groundtruth(ground_truth, "decision", where="choice")

    def _combinations(self, trials: Trials) -> np.ndarray:
        """Draw each trial's row of ``_table`` (strengths per modality): uniform over the rows that match, ties last."""
        score = trials.rng.random((trials.n, len(self._table))) - self._tied
        for column, name in enumerate(self._names):
            if name in trials.given:
                positions = [self._position(value) for value in trials.given[name]]
                score[self._table[:, column] != np.array(positions)[:, None]] = -np.inf
        chosen = score.argmax(axis=1)
        for column, name in enumerate(self._names):
            trials.info[name] = np.array(self._values)[self._table[chosen, column]]
        return chosen

    def closed_form(self) -> Score | None:
        """Ceiling from the posterior over both directions and all strengths."""
        shape = (len(self.strengths), len(self.strengths) if len(self.shown) > 1 else 1)
        drawn = (~self._tied | self._tied.all()).reshape(shape)  # ties are drawn if there is nothing else
        best = stronger(self.theta, self.strengths, self._evidence.reshape(shape), drawn, self.sigma)
        return best and simulated(self, ("stim1", "stim2") if self.delayed else ("stimulus",), best)

    def _position(self, value: object) -> int:
        return int(np.abs(np.array(self._values) - np.asarray(value)).reshape(len(self._values), -1).sum(1).argmin())


class Match(YangTask):
    """Matching tasks: respond towards a matching (or non-matching) test, else withhold.

    Args:
        category: Match the half of the circle, in place of the direction itself.
        respond_to: ``"match"`` or ``"non-match"``.
        **kwargs: See :class:`YangTask`.

    Raises:
        ValueError: If ``dim_ring`` is odd.
    """

    default_timing = {"fixation": 300, "sample": 500, "delay": 1000, "test": 500, "decision": 900}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0, "withhold": 1.0}

    def __init__(self, category: bool = False, respond_to: str = "match", **kwargs: object):
        super().__init__(**kwargs)
        if self.dim_ring % 2:
            raise ValueError(f"dim_ring must be even, got {self.dim_ring!r}")
        self.category, self.respond_to = category, respond_to
        self.conditions = {"ground_truth": ["match", "non-match"], "modality": RINGS}

    def _new_trials(self, trials: Trials) -> None:
        half = self.dim_ring // 2
        label = trials.draw("ground_truth")
        trials.draw("modality")
        sample = trials.rng.integers(self.dim_ring, size=trials.n)
        differs = (label == "non-match").astype(int)
        if self.category:
            test = (sample // half + differs) % 2 * half + trials.rng.integers(half, size=trials.n)
        else:
            test = (sample + half * differs) % self.dim_ring
        trials.info.update(sample_theta=self.theta[sample], test_theta=self.theta[test])
        trials.add_ob(1, ["fixation", "sample", "delay", "test"], where="fixation")
        self.show(trials, self.theta[sample], "sample")
        self.show(trials, self.theta[test], "test")
        trials.set_groundtruth(np.where(label == self.respond_to, 1 + test, 0), "decision")

    def closed_form(self) -> Score | None:
        """Ceiling from the posterior over sample and test."""
        best = matching(self.theta, self.category, self.respond_to == "match", max(self.sigma, NOTICED))
        return simulated(self, ("sample", "test"), best)
