"""Learn to write a task: from a plain environment to trials, periods, names and supervised data."""

import gymnasium as gym
import numpy as np
from common import arguments

import neurogym as ngym
from neurogym.utils.data import Dataset

chosen = arguments(__doc__)


class Line(gym.Env):
    """Walk on a line; the reward is sin(x) exp(-|x|/3)."""

    def __init__(self):
        self.observation_space = ngym.spaces.Box(-np.inf, np.inf, shape=(1,), dtype=np.float32)
        self.action_space = ngym.spaces.Discrete(3)
        self.x = 0.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 0.0
        return np.array([self.x], np.float32), {}

    def step(self, action):
        self.x += (action - 1) * 0.1
        return np.array([self.x], np.float32), float(np.sin(self.x) * np.exp(-abs(self.x) / 3)), False, False, {}


env = Line()
env.reset(seed=chosen.seed)
rewards = [env.step(env.action_space.sample())[1] for _ in range(10_000)]
print(f"walking at random for 10,000 steps: mean reward {np.mean(rewards):.3f}")


class Match(ngym.TrialEnv):
    """See one of two cues for 500 ms, then name it for 500 ms."""

    def __init__(self, dt=100):
        super().__init__(dt=dt, timing={"stimulus": 500, "decision": 500})
        self.conditions = {"ground_truth": (0, 1)}
        names = {"fixation": 0, "stimulus": [1, 2]}
        self.observation_space = ngym.spaces.Box(0, 1, shape=(3,), dtype=np.float32, name=names)
        self.action_space = ngym.spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    def _new_trial(self, **kwargs):
        trial = {"ground_truth": int(self.rng.integers(2)), **kwargs}
        self.add_period(["stimulus", "decision"])
        self.add_ob(1, period="stimulus", where="fixation")
        self.add_ob(np.eye(2)[trial["ground_truth"]], period="stimulus", where="stimulus")
        self.set_groundtruth(trial["ground_truth"], period="decision", where="choice")
        return trial

    def _step(self, action):
        reward, ended = 0.0, False
        if self.in_period("decision") and action != 0:
            ended, reward = True, float(action == self.gt_now)
            self.performance = reward
        return self.ob_now, reward, False, False, {"new_trial": ended, "gt": self.gt_now}


task = Match()
task.reset(seed=chosen.seed)
print("a trial:", task.new_trial(), "observations", task.ob.shape, "ground truth", task.gt.tolist())
ngym.plot_env(task, num_trials=2, fname=chosen.out / "own_task")
inputs, targets = Dataset(task, batch_size=4, seq_len=50, seed=chosen.seed)()
print("a batch:", inputs.shape, targets.shape)
scores = []
task.reset(seed=chosen.seed)
while len(scores) < 100:
    *_, info = task.step(int(task.gt_now))
    if info["new_trial"]:
        scores.append(info["performance"])
print(f"following ground truth: {np.mean(scores):.3f} (must be 1)")
