"""Detection of stimuli in one or several modalities, with catch trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy

import numpy as np

from neurogym.envs.blocks import paid
from neurogym.envs.task import Rule, TaskInfo, TrialEnv, Trials, spaces
from neurogym.parameters.arguments import NonNegative, Number, Numbers, Positive, Probability, Whole

CATCH: tuple[str, ...] = ()  #: the stimulus of a catch trial
Limits = int | Mapping[str, int | None] | None


class AnnubesEnv(TrialEnv):
    """Report, at every step of the stimulus period, whether any modality is stimulated.

    Args:
        session: Relative weight of each stimulus: a modality, or a tuple of modalities presented together.
        catch_prob: Probability of a catch trial, in which no modality is stimulated.
        intensities: Possible intensities, for all modalities or for each. Default 0.8, 0.9, 1.0.
        stim_time: Duration of the stimulus period (ms).
        max_sequential: Most trials in a row that contain a modality, for all modalities or for each (also under
            ``"catch"``). Default: no limit.
        fix_intensity: Intensity of the fixation channel in the fixation period.
        fix_time: Duration of the fixation period (ms).
        iti: Duration of the interval after the stimulus (ms).
        dt: Time step (ms).
        tau: Time constant (ms) that scales the noise: its s.d. is noise_std * sqrt(2 / (dt / tau)).
        output_behavior: Output values, one action each; action 1 reports a stimulus. Default (0, 1).
        noise_std: Noise of a stimulated channel, before scaling.
        rewards: Replaces entries of ``default_rewards``.
        stim_intensities: Older name of ``intensities``.
        random_seed: Starts the generator, as ``reset(seed=...)`` does.
        frozen_seed: Whether a deep copy continues with the same random numbers as the original.

    Raises:
        ValueError: If a weight, probability or limit cannot be met, or intensities do not fit or are given twice.
        TypeError: If ``session`` is not a dictionary, a modality not a string, or ``max_sequential`` of another type.
    """

    metadata = TaskInfo(tags=["n-alternative", "perceptual", "supervised"], necessary=())
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0}
    rule = Rule(fixate=("fixation", "iti"), answer=())

    def __init__(
        self,
        session: Mapping[str | tuple[str, ...], float] | None = None,
        catch_prob: Probability = 0.5,
        intensities: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
        stim_time: NonNegative = 1000,
        max_sequential: Limits = None,
        fix_intensity: Number = 0,
        fix_time: object = 500,
        iti: object = 0,
        dt: float = 100,
        tau: Positive = 100,
        output_behavior: Numbers | None = None,
        noise_std: NonNegative = 0.01,
        rewards: dict[str, float] | None = None,
        random_seed: Whole | None = None,
        frozen_seed: bool = False,
        stim_intensities: Sequence[float] | None = None,
    ):
        super().__init__(dt=dt, rewards=rewards, timing={"fixation": fix_time, "stimulus": stim_time, "iti": iti})
        session = {"v": 0.5, "a": 0.5} if session is None else session
        weights = self._weights(session)
        names = [(stimulus,) if isinstance(stimulus, str) else stimulus for stimulus in session]
        self.modalities = list(dict.fromkeys(name for stimulus in names for name in stimulus))
        self.catch_prob, self.fix_intensity, self.frozen_seed = catch_prob, fix_intensity, frozen_seed
        total = sum(weights.values())
        self.weights = {stimulus: weight / total for stimulus, weight in session.items()}
        self._shares = {stimulus: weight / total for stimulus, weight in weights.items()}
        if intensities is not None and stim_intensities is not None:
            raise ValueError("intensities and stim_intensities are two names of the same argument: pass one of them")
        self.intensities = self._intensities(stim_intensities if intensities is None else intensities)
        self.max_sequential = self._checked_limits(max_sequential)
        self.output_behavior = list((0, 1) if output_behavior is None else output_behavior)
        self.noise = noise_std * np.sqrt(2 * dt / tau) / (dt / tau)

        self.stimuli = [*weights, *((m,) for m in self.modalities if (m,) not in weights), CATCH]
        self._p = np.array([(1 - catch_prob) * self._shares.get(s, 0.0) for s in self.stimuli[:-1]] + [catch_prob])
        self._contains = np.array([[m in s for m in self.modalities] + [not s] for s in self.stimuli])
        self._count = np.zeros(len(self.modalities) + 1, int)
        if any(limit is not None for limit in self.max_sequential.values()):
            self.metadata = type(self).metadata.replace(history_dependent=True)
        self.conditions = {"stim_types": self.stimuli}
        channels = {name: i for i, name in enumerate(["fixation", "start", *self.modalities])}
        n_actions = len(self.output_behavior)
        self.observation_space = spaces.channels(channels)
        self.action_space = spaces.Discrete(n_actions, name={"fixation": 0, "choice": range(1, n_actions)})
        if random_seed is not None:
            self.seed(random_seed)

    # -- arguments ----------------------------------------------------------------------------------------------------

    @staticmethod
    def _weights(session: object) -> dict[tuple[str, ...], float]:
        if not isinstance(session, Mapping):
            raise TypeError(f"session must be a dictionary from stimulus to weight, got {session!r}")
        weights: dict[tuple[str, ...], float] = {}
        for stimulus, weight in session.items():
            names = (stimulus,) if isinstance(stimulus, str) else stimulus
            if not isinstance(names, tuple) or not names or not all(isinstance(name, str) for name in names):
                raise TypeError(f"a stimulus must be a modality (str) or a tuple of modalities, got {stimulus!r}")
            if any(name.lower() in ("catch", "fixation", "start") for name in names):
                raise ValueError(f"a modality cannot be called catch, fixation or start, got {stimulus!r}")
            if weight < 0:
                raise ValueError(f"the weight of {stimulus!r} must not be negative, got {weight!r}")
            key = tuple(sorted(set(names)))
            weights[key] = weights.get(key, 0.0) + weight
        if not sum(weights.values()) > 0:
            raise ValueError(f"at least one stimulus of the session needs a positive weight, got {session!r}")
        return weights

    def _intensities(self, intensities: object) -> dict[str, np.ndarray]:
        intensities = [0.8, 0.9, 1.0] if intensities is None else intensities
        table = dict(intensities) if isinstance(intensities, Mapping) else dict.fromkeys(self.modalities, intensities)
        if set(table) != set(self.modalities):
            raise ValueError(f"intensities must be given for exactly {self.modalities}, got {sorted(table)}")
        values = {name: np.atleast_1d(np.asarray(value, dtype=float)) for name, value in table.items()}
        for name, value in values.items():
            if value.ndim != 1 or not len(value):
                raise ValueError(f"the intensities of {name!r} must be a list of numbers, got {table[name]!r}")
        return values

    def _checked_limits(self, max_sequential: object) -> dict[str, int | None]:
        names = [*self.modalities, "catch"]
        if isinstance(max_sequential, Mapping):
            limits = {**dict.fromkeys(names), **max_sequential}
        elif max_sequential is None or (
            isinstance(max_sequential, (int, np.integer)) and not isinstance(max_sequential, bool)
        ):
            limits = {**dict.fromkeys(self.modalities, max_sequential), "catch": None}
        else:
            raise TypeError(f"max_sequential must be a whole number, a dictionary or None, got {max_sequential!r}")
        if set(limits) != set(names):
            raise ValueError(f"max_sequential must name modalities ({', '.join(names)}), got {sorted(limits)}")
        if any(limit is not None and limit < 1 for limit in limits.values()):
            raise ValueError(f"max_sequential must be at least 1, got {max_sequential!r}")
        used = [set(stimulus) for stimulus, weight in self._shares.items() if weight > 0]
        limited = {name for name in self.modalities if limits[name] is not None}
        stuck = any(all(alternative & stimulus & limited for alternative in used) for stimulus in used)
        if (self.catch_prob < 1e-9 and stuck) or (self.catch_prob > 1 - 1e-9 and limits["catch"] is not None):
            raise ValueError(
                f"max_sequential={max_sequential!r} cannot be met: sooner or later no stimulus would be allowed"
            )
        return limits

    # -- trials -------------------------------------------------------------------------------------------------------

    def start_session(self) -> None:
        """Reset the counts of presented stimuli."""
        self._count = np.zeros(len(self.modalities) + 1, int)

    def __deepcopy__(self, memo: dict[int, object]) -> AnnubesEnv:
        """Copy the task; trials of the copy diverge from the next trial on, unless the seed is frozen."""
        twin = memo[id(self)] = type(self).__new__(type(self))
        twin.__dict__.update({name: deepcopy(value, memo) for name, value in self.__dict__.items()})
        if not self.frozen_seed:
            twin.np_random = np.random.default_rng(self.np_random.bit_generator.seed_seq.spawn(1)[0])  # type: ignore
            twin.session.ahead.restart()
            if twin.trial:
                twin._count = np.array(list(twin.trial["sequential_count"].values()))
        return twin

    def _draw(self, trials: Trials) -> tuple[np.ndarray, np.ndarray]:
        """Draw the stimulus of each trial, and count consecutive trials with each modality."""
        limits = np.array([np.inf if limit is None else limit for limit in self.max_sequential.values()])
        index, counts = np.zeros(trials.n, int), np.zeros((trials.n, len(limits)), int)
        requested = trials.given.get("stim_types")
        if requested is not None:
            index[:] = [self.stimuli.index(tuple(stimulus)) for stimulus in requested]
        elif not np.isfinite(limits).any():
            index = trials.rng.choice(len(self.stimuli), size=trials.n, p=self._p)
        for k in range(trials.n):
            if requested is None and np.isfinite(limits).any():
                p = self._p * ~(self._contains & (self._count >= limits)).any(axis=1)
                index[k] = trials.rng.choice(len(p), p=p / p.sum())
            self._count = np.where(self._contains[index[k]], self._count + 1, 0)
            counts[k] = self._count
        return index, counts

    def _new_trials(self, trials: Trials) -> None:
        index, counts = self._draw(trials)
        present = self._contains[index, :-1]
        values = present * np.column_stack([trials.draw(m, self.intensities[m]) for m in self.modalities])
        ground_truth = trials.info["ground_truth"] = present.any(axis=1).astype(int)
        trials.info["catch"] = ground_truth == 0
        self._describe(trials, index, values, counts)

        trials.add_period(["fixation", "stimulus", "iti"], min_steps={"stimulus": 1})
        trials.add_ob(self.fix_intensity, "fixation", where="fixation")
        trials.add_ob(1, "stimulus", where="start")
        channels = range(2, 2 + len(self.modalities))
        trials.add_ob(values, "stimulus", where=channels)
        trials.add_randn(0, self.noise * present, "stimulus", where=channels)
        trials.set_groundtruth(ground_truth, "stimulus")
        steps = trials.ends["stimulus"] - trials.starts["stimulus"]
        actions = range(len(self.output_behavior))
        right = np.array(actions) == ground_truth[:, None]
        trials.set_action_reward("stimulus", actions, paid(trials, right), right / steps[:, None], ends=False)

    def _describe(self, trials: Trials, index: np.ndarray, values: np.ndarray, counts: np.ndarray) -> None:
        """Put stimuli, intensities and counts into the record; intensities of absent modalities are 0."""
        names = [*self.modalities, "catch"]
        keys = ("stim_types", "stim_values", "sequential_count")
        columns = {key: np.empty(trials.n, dtype=object) for key in keys}
        for k, stimulus in enumerate(index):
            stimuli = self.stimuli[stimulus]
            columns["stim_types"][k] = stimuli
            columns["stim_values"][k] = {m: float(values[k, self.modalities.index(m)]) for m in stimuli}
            columns["sequential_count"][k] = dict(zip(names, counts[k].tolist(), strict=True))
        trials.info["stim_type"] = np.array(["+".join(self.stimuli[k]) or "catch" for k in index])
        trials.info |= columns | dict(zip(self.modalities, values.T, strict=True))
