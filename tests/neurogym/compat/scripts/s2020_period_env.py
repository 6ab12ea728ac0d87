"""Mid 2020: PeriodEnv with _new_trial, channels and actions by name, a wrapper of its own."""

import numpy as np

import neurogym as ngym
from neurogym import spaces


class Discrimination(ngym.PeriodEnv):
    metadata = {"tags": ["perceptual"]}

    def __init__(self, dt=100, rewards=None, timing=None, sigma=1.0, dim_ring=2):
        super().__init__(dt=dt)
        self.cohs = [0, 6.4, 51.2]
        self.sigma = sigma / np.sqrt(self.dt)
        self.rewards = {"abort": -0.1, "correct": +1.0, "fail": 0.0}
        if rewards:
            self.rewards.update(rewards)
        self.timing = {"fixation": 100, "stimulus": 500, "decision": 100}
        if timing:
            self.timing.update(timing)
        self.abort = False
        self.theta = np.linspace(0, 2 * np.pi, dim_ring + 1)[:-1]
        self.choices = np.arange(dim_ring)
        name = {"fixation": 0, "stimulus": range(1, dim_ring + 1)}
        self.observation_space = spaces.Box(-np.inf, np.inf, shape=(1 + dim_ring,), dtype=np.float32, name=name)
        name = {"fixation": 0, "choice": range(1, dim_ring + 1)}
        self.action_space = spaces.Discrete(1 + dim_ring, name=name)

    def _new_trial(self, **kwargs):
        trial = {"ground_truth": self.rng.choice(self.choices), "coh": self.rng.choice(self.cohs)}
        trial.update(kwargs)
        self.add_period(["fixation", "stimulus", "decision"], after=0, last_period="decision")
        self.add_ob(1, period=["fixation", "stimulus", "decision"], where="fixation")
        stim = np.cos(self.theta - self.theta[trial["ground_truth"]]) * (trial["coh"] / 200) + 0.5
        self.add_ob(stim, "stimulus", where="stimulus")
        self.add_randn(0, self.sigma, "stimulus", where="stimulus")
        self.set_groundtruth(trial["ground_truth"], period="decision", where="choice")
        return trial

    def _step(self, action):
        reward, new_trial, gt = 0, False, self.gt_now
        if self.in_period("fixation"):
            if action != 0:
                new_trial, reward = self.abort, self.rewards["abort"]
        elif self.in_period("decision"):
            if action != 0:
                new_trial = True
                if action == gt:
                    reward += self.rewards["correct"]
                    self.performance = 1
                else:
                    reward += self.rewards["fail"]
        return self.ob_now, reward, False, False, {"new_trial": new_trial, "gt": gt}


class DoubleReward(ngym.TrialWrapper):
    def new_trial(self, **kwargs):
        kwargs["coh"] = 51.2
        return self.env.new_trial(**kwargs)

    def step(self, action):
        ob, reward, terminated, truncated, info = self.env.step(action)
        return ob, 2 * reward, terminated, truncated, info


env = DoubleReward(Discrimination(dt=20))
ob, info = env.reset(seed=0)
rewards = [env.step(env.gt_now)[1] for _ in range(200)]
assert max(rewards) == 2.0 and env.trial["coh"] == 51.2
