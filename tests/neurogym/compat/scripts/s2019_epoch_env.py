"""2019/20: a task of epochs; trials are set by hand, steps return four values."""

import numpy as np

import neurogym as ngym
from neurogym import spaces


class RDM(ngym.EpochEnv):
    metadata = {"paper_link": None, "paper_name": None, "default_timing": {"fixation": ("constant", 100)}}

    def __init__(self, dt=100, timing=None, stimEv=1.0):
        super().__init__(dt=dt)
        self.choices = [1, 2]
        self.cohs = np.array([0, 6.4, 12.8, 25.6, 51.2]) * stimEv
        self.sigma = np.sqrt(2 * 100 * 0.01)
        self.R_ABORTED, self.R_CORRECT, self.R_FAIL = -0.1, +1.0, 0.0
        self.timing = {
            "fixation": ("constant", 100),
            "stimulus": ("truncated_exponential", [330, 80, 1500]),
            "decision": ("constant", 300),
        }
        if timing:
            self.timing.update(timing)
        self.action_space = spaces.Discrete(3)
        self.observation_space = spaces.Box(-np.inf, np.inf, shape=(3,), dtype=np.float32)

    def new_trial(self, **kwargs):
        self.trial = {"ground_truth": self.rng.choice(self.choices), "coh": self.rng.choice(self.cohs)}
        self.trial.update(kwargs)
        coh, side = self.trial["coh"], self.trial["ground_truth"]
        self.add_epoch("fixation", after=0)
        self.add_epoch("stimulus", after="fixation")
        self.add_epoch("decision", after="stimulus", last_period=True)
        self.set_ob("fixation", [1, 0, 0])
        stim = self.view_ob("stimulus")
        stim[:, 0] = 1
        stim[:, 1:] = (1 - coh / 100) / 2
        stim[:, side] = (1 + coh / 100) / 2
        stim[:, 1:] += self.rng.randn(stim.shape[0], 2) * self.sigma
        self.set_groundtruth("decision", side)

    def _step(self, action):
        new_trial, reward, first = False, 0, True
        if self.in_epoch("fixation"):
            if action != 0:
                reward = self.R_ABORTED
        elif self.in_epoch("decision"):
            if action != 0:
                new_trial = True
                if action == self.gt_now:
                    reward, self.performance = self.R_CORRECT, 1
                else:
                    reward = self.R_FAIL
        return self.obs_now, reward, False, {"new_trial": new_trial, "gt": self.gt_now}


env = RDM(timing={"decision": ("constant", 200)})
env.seed(1)
env.reset()
total = 0
for _ in range(400):
    ob, reward, done, truncated, info = env.step(env.gt_now)
    total += info["new_trial"] and info["performance"]
assert total > 20
assert env.obs.shape == (len(env.gt), 3)
