"""Tasks as nobody should write them, and somebody will."""

from __future__ import annotations

import glob
import os
import signal
import sys
import time

import gymnasium as gym
import numpy as np

import neurogym as ngym
from neurogym import spaces


class Base(ngym.TrialEnv):
    def __init__(self, dt=100, rewards=None, timing=None, sigma=1.0):
        super().__init__(dt=dt)
        self.rewards = {"abort": -0.1, "correct": +1.0, "fail": 0.0, **(rewards or {})}
        self.timing = {"fixation": 100, "stimulus": 300, "decision": 100, **(timing or {})}
        self.observation_space = spaces.Box(
            -np.inf, np.inf, shape=(3,), dtype=np.float32, name={"fixation": 0, "stimulus": [1, 2]}
        )
        self.action_space = spaces.Discrete(3)

    def _new_trial(self, **kwargs):
        trial = {"ground_truth": int(self.rng.choice([1, 2]))}
        trial.update(self.more())
        trial.update(kwargs)
        self.add_period(["fixation", "stimulus", "decision"])
        self.add_ob(1, where="fixation")
        self.add_ob(1, "stimulus", where="stimulus")
        self.set_groundtruth(trial["ground_truth"], "decision")
        return trial

    def more(self):
        return {}

    def _step(self, action):
        self.act()
        new_trial = False
        reward = 0.0
        if self.in_period("decision") and action != 0:
            new_trial = True
            if action == self.trial["ground_truth"]:
                reward = self.rewards["correct"]
                self.performance = 1
        return self.ob_now, reward, False, False, {"new_trial": new_trial, "gt": self.gt_now}

    def act(self):
        pass


class OddKeys(Base):
    def more(self):
        return {
            3: 1.0,
            "coh": 2.0,
            ("a", 1): 1.0,
            None: 1.0,
            "a/b.c": 1.0,
            "": 2,
            "trial": 5,
            "env": "x",
            "step": None,
            "period_x": "w",
            "reward": "no",
            "performance": "bad",
            "\x1b[2J": 1,
        }


class OddValues(Base):
    def more(self):
        return {
            "v": (self.rng.choice([0, 1]) and "word") or 1.5,
            "w": [1] * int(self.rng.integers(1, 4)),
            "d": {"a": 1},
            "s": {1, 2},
            "m": np.zeros((2, 3)),
            "l": [1, "a", None],
            "e": [],
            "big": 10**30,
        }


class FunctionValue(Base):
    def more(self):
        return {"f": (lambda: 1)}


class ObjectValue(Base):
    def more(self):
        return {"o": object()}


class ComplexValue(Base):
    def more(self):
        return {"c": 1j}


class Exits(Base):
    n = 0

    def act(self):
        Exits.n += 1
        if Exits.n > 300:
            sys.exit(3)


class Raises(Base):
    def act(self):
        raise RuntimeError("oh\nno\x1b[2J")


class GenExit(Base):
    def act(self):
        raise GeneratorExit


class Empty(Base):
    def __init__(self, **k):
        super().__init__(**k)
        self.observation_space = gym.spaces.Box(-1, 1, shape=(0,), dtype=np.float32)

    def _new_trial(self, **kwargs):
        self.add_period(["fixation", "stimulus", "decision"])
        self.set_groundtruth(1, "decision")
        return {"ground_truth": 1}


class OddRewards(Base):
    def __init__(self, **k):
        super().__init__(**k)
        self.rewards = {"abort": "x", "correct": 1.0, "fail": None, 3: 1.0, None: 2.0, ("a",): 3}


class RewardList(Base):
    def __init__(self, **k):
        super().__init__(**k)
        self.rewards = [1, 2]

    def _step(self, action):
        return self.ob_now, 0.0, False, False, {"new_trial": self.in_period("decision"), "gt": self.gt_now}


class Loops(Base):
    def act(self):
        while True:
            pass


class LoopsHard(Base):
    def act(self):
        while True:
            try:
                while True:
                    pass
            except Exception:
                pass


class LoopsInNew(Base):
    def more(self):
        while True:
            time.sleep(0.1)


class LoopsInC(Base):
    """One call that takes hours, and hears no signal until then."""

    def more(self):
        return {"ground_truth": sum(range(10**15))}


class Crashes(Base):
    """Ends the process as a mistake in a compiled module does."""

    def more(self):
        os.kill(os.getpid(), signal.SIGSEGV)


class Quits(Base):
    def more(self):
        os._exit(4)


class Prints(Base):
    def more(self):
        print("hello")
        return {}


class OddNames(Base):
    metadata = {"paper_name": 5, "tags": "x", "description": None, 7: 8}

    def __init__(self, **k):
        super().__init__(**k)
        self.observation_space = spaces.Box(
            -np.inf,
            np.inf,
            shape=(3,),
            dtype=np.float32,
            name={"\x1b[2Jfix": 0, 5: [1, 2], "fixation": 0, "stimulus": [1, 2]},
        )


class Period(Base):
    def _new_trial(self, **kwargs):
        self.timing[5] = 100
        self.add_period(["fixation", "stimulus", "decision", 5])
        self.set_groundtruth(1, "decision")
        return {"ground_truth": 1}


class NanReward(Base):
    def _step(self, action):
        return self.ob_now, float("nan"), False, False, {"new_trial": self.in_period("decision"), "gt": self.gt_now}


class StrReward(Base):
    def _step(self, action):
        return self.ob_now, "r", False, False, {"new_trial": self.in_period("decision"), "gt": self.gt_now}


class TrialList(Base):
    def _new_trial(self, **kwargs):
        super()._new_trial()
        return [1]


class Formula(Base):
    def more(self):
        return {"word": "=cmd|' /C calc'!A0", "=key": "+1", "at": "@SUM(1)", "minus": "-2+3", "number": -1.5}


class ExitsLater(Base):
    def act(self):
        if glob.glob("runs/*/*/*/events*"):
            sys.exit(3)
