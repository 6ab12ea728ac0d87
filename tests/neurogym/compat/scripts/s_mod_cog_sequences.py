"""Tasks in the manner of a well-known extension: arrays of the trial are made and written directly."""

import numpy as np

import neurogym as ngym
from neurogym import spaces


class Sequence(ngym.TrialEnv):
    """The output follows a sequence of directions; the ground truth changes within a period."""

    def __init__(self, dt=100, rewards=None, timing=None, sigma=1.0, dim_ring=16, shift=2):
        super().__init__(dt=dt)
        self.sigma, self.shift, self.dim_ring = sigma / np.sqrt(self.dt), shift, dim_ring
        self.rewards = {"abort": -0.1, "correct": +1.0, "fail": 0.0}
        self.timing = {"fixation": 500, "stimulus": 500, "delay": 0, "decision": 500}
        if timing:
            self.timing.update(timing)
        self.abort = False
        self.theta = np.linspace(0, 2 * np.pi, dim_ring + 1)[:-1]
        self.choices = np.arange(dim_ring)
        name = {"fixation": 0, "stimulus": range(1, dim_ring + 1)}
        self.observation_space = spaces.Box(-np.inf, np.inf, shape=(1 + dim_ring,), dtype=np.float32, name=name)
        name = {"fixation": 0, "choice": range(1, dim_ring + 1)}
        self.action_space = spaces.Discrete(1 + dim_ring, name=name)

    def set_groundtruth(self, value, period=None, where=None, seq=False):
        if not self._gt_built:
            self._init_gt()
        if where is not None:
            value = np.asarray(self.action_space.name[where])[value]
        if seq:
            assert period is not None
            start, end = self.start_ind[period], self.end_ind[period]
            self.gt[start:end] = value[: end - start]
        elif period is None:
            self.gt[:] = value
        else:
            for name in [period] if isinstance(period, str) else period:
                self.gt[self.start_ind[name] : self.end_ind[name]] = value

    def add_ob(self, value, period=None, where=None, reset=False):
        if not self._ob_built:
            self._init_ob()
        self._add_ob(value, period=period, where=where, reset=reset)

    def _new_trial(self, **kwargs):
        trial = {"ground_truth": self.rng.choice(self.choices)}
        trial.update(kwargs)
        assert not self._gt_built and not self._ob_built
        self.add_period(["fixation", "stimulus", "delay", "decision"])
        assert self._tmax == 1500
        self.add_ob(1, period=["fixation", "stimulus", "delay"], where="fixation")
        stim = np.exp(4 * (np.cos(self.theta - self.theta[trial["ground_truth"]]) - 1))
        self.add_ob(stim, "stimulus", where="stimulus")
        steps = self.end_ind["decision"] - self.start_ind["decision"]
        sequence = (trial["ground_truth"] + self.shift * np.arange(steps)) % self.dim_ring
        self.set_groundtruth(sequence, period="decision", where="choice", seq=True)
        assert self._gt_built and self._ob_built
        return trial

    def _step(self, action):
        reward = 0
        if self.in_period("decision"):
            reward = self.rewards["correct" if action == self.gt_now else "fail"]
            self.performance = int(action == self.gt_now)
        return self.ob_now, reward, False, False, {"new_trial": False, "gt": self.gt_now}


env = Sequence()
env.reset(seed=1)
trial = env.new_trial(ground_truth=3)
assert env.gt[-5:].tolist() == [4, 6, 8, 10, 12]
assert env.ob[0, 0] == 1 and env.ob[-1].sum() == 0 and abs(env.ob[6, 4] - 1) < 1e-6
dataset = ngym.Dataset(Sequence(), batch_size=8, seq_len=100)
inputs, target = dataset()
assert inputs.shape == (100, 8, 17) and set(np.unique(target)) <= set(range(17)) and target.max() > 0
for _ in range(100):
    env.step(env.gt_now)
