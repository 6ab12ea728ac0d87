"""2.3: the template of the contributing guide."""

import numpy as np

import neurogym as ngym
from neurogym import spaces


class YourTask(ngym.TrialEnv):
    metadata = {"paper_link": None, "paper_name": None, "tags": ["perceptual"], "description": "template"}

    def __init__(self, dt=100, rewards=None, timing=None, sigma=1):
        super().__init__(dt=dt)
        self.sigma = sigma / np.sqrt(self.dt)
        self.rewards = {"abort": -0.1, "correct": +1.0, "fail": 0.0}
        if rewards:
            self.rewards.update(rewards)
        self.timing = {"fixation": 100, "stimulus": 2000, "delay": 0, "decision": 100}
        if timing:
            self.timing.update(timing)
        self.abort = False
        self.theta = np.linspace(0, 2 * np.pi, 3)[:-1]
        self.choices = np.arange(2)
        self.observation_space = spaces.Box(
            -np.inf, np.inf, shape=(3,), dtype=np.float32, name={"fixation": 0, "stimulus": [1, 2]}
        )
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    def _new_trial(self, **kwargs):
        trial = {"ground_truth": self.rng.choice(self.choices), "coh": self.rng.choice([3.2, 51.2])}
        trial.update(kwargs)
        self.add_period(["fixation", "stimulus", "delay", "decision"])
        self.add_ob(1, period=["fixation", "stimulus", "delay"], where="fixation")
        stim = np.cos(self.theta - self.theta[trial["ground_truth"]]) * (trial["coh"] / 200) + 0.5
        self.add_ob(stim, "stimulus", where="stimulus")
        self.add_randn(0, self.sigma, "stimulus")
        self.set_groundtruth(trial["ground_truth"], period="decision", where="choice")
        return trial

    def _step(self, action):
        terminated = truncated = new_trial = False
        reward, gt = 0, self.gt_now
        if self.in_period("fixation") and action != 0:
            new_trial, reward = self.abort, self.rewards["abort"]
        elif self.in_period("decision") and action != 0:
            new_trial = True
            reward = self.rewards["correct" if action == gt else "fail"]
            self.performance = int(action == gt)
        return self.ob_now, reward, terminated, truncated, {"new_trial": new_trial, "gt": gt}


ngym.register("YourTask-v0", entry_point=YourTask)
env = ngym.make("YourTask-v0")
env.reset(seed=0)
assert str(env) == "<OrderEnforcing<YourTask>>"
assert env.unwrapped.trial_length_stats()["mean"] == 22
ngym.utils.plot_env(env, num_trials=2, def_act=0)
