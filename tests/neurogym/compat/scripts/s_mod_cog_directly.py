"""The same with the arrays assigned by hand, flags and length set as the older base class did."""

import numpy as np

import neurogym as ngym
from neurogym import spaces


class ByHand(ngym.TrialEnv):
    def __init__(self, dt=100):
        super().__init__(dt=dt)
        self.timing = {"fixation": 300, "decision": 200}
        self.observation_space = spaces.Box(-1, 1, shape=(2,), dtype=np.float32, name={"fixation": 0, "x": 1})
        self.action_space = spaces.Discrete(2, name={"fixation": 0, "go": 1})

    def _new_trial(self, **kwargs):
        self._tmax, self._ob_built, self._gt_built = 0, False, False
        self.add_period(["fixation", "decision"])
        self._init_ob()
        self._init_gt()
        rows = int(self._tmax / self.dt)
        self.ob = np.ones((rows, 2))
        self.gt = np.zeros(rows)
        self.gt[self.start_ind["decision"] :] = 1
        self._add_ob(0.5, period="decision", where="x", reset=True)
        self._ob_built = self._gt_built = True
        return {"ground_truth": 1}

    def _step(self, action):
        self.performance = float(action == self.gt_now)
        return self.ob_now, self.performance, False, False, {"new_trial": False}


env = ByHand()
ob, _ = env.reset(seed=0)
assert env.ob.tolist() == [[1, 1]] * 3 + [[1, 0.5]] * 2 and env.gt.tolist() == [0, 0, 0, 1, 1]
assert sum(env.step(env.gt_now)[1] for _ in range(10)) == 10
