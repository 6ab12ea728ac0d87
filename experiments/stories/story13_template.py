"""Contribute a task: the smallest complete one with a declared rule, checked and trained on a batch."""

import numpy as np
from common import arguments, evaluate, report, train
from gymnasium.utils.env_checker import check_env

import neurogym as ngym
from neurogym.vector import is_batchable

chosen = arguments(__doc__)


class YourTask(ngym.TrialEnv):
    """See a noisy direction, wait, and report it."""

    metadata = {"paper_name": None, "paper_link": None, "tags": ["perceptual", "two-alternative", "supervised"]}
    default_timing = {"fixation": 100, "stimulus": 2000, "delay": 0, "decision": 100}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0}
    rule = ngym.Rule(fixate=("fixation",), answer=("decision",))

    def __init__(self, dt=100, rewards=None, timing=None, sigma=1.0):
        super().__init__(dt=dt, rewards=rewards, timing=timing)
        self.sigma = sigma / np.sqrt(dt)
        self.conditions = {"ground_truth": (0, 1), "coh": (6.4, 12.8, 25.6, 51.2)}
        names = {"fixation": 0, "stimulus": [1, 2]}
        self.observation_space = ngym.spaces.Box(-np.inf, np.inf, shape=(3,), dtype=np.float32, name=names)
        self.action_space = ngym.spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    def _new_trials(self, trials):
        truth, coh = trials.draw("ground_truth"), trials.draw("coh")
        trials.add_period(["fixation", "stimulus", "delay", "decision"])
        trials.add_ob(1, ["fixation", "stimulus", "delay"], where="fixation")
        sign = np.array([[1, -1], [-1, 1]])[truth]
        trials.add_ob(0.5 + coh[:, None] / 200 * sign, "stimulus", where="stimulus")
        trials.add_randn(0, self.sigma, "stimulus", where="stimulus")
        trials.set_groundtruth(truth, "decision", where="choice")


check_env(YourTask(), skip_render_check=True)
print("batchable:", is_batchable(YourTask()))
model = train(YourTask, 10_000 if chosen.fast else 100_000, chosen.seed)
report("performance", evaluate(model, YourTask, 1000, chosen.seed)["performance"].mean(), "none printed")
