"""Tasks in which something is learned anew in every session: which object pays, and how fast to follow rewards."""

from typing import ClassVar

import numpy as np

from neurogym.envs.blocks import SessionsInSequence, paid
from neurogym.envs.native.bandit import Arms
from neurogym.envs.task import Trials, spaces

FEATURES = 4  #: of an object


class Objects(SessionsInSequence, Arms):
    """Find out which of two objects pays; a session of six trials has two objects that were never seen before.

    An object is a vector of Gaussian features. The objects change sides at random; a trial is a single step, in which
    the left or the right object is chosen.
    """

    default_rewards: ClassVar = {"correct": 1.0, "fail": 0.0}
    trials_per_session = 6

    def __init__(self, dt: float = 100):
        super().__init__(dt=dt)
        self._set_arms(2)
        left, right = np.arange(2 * FEATURES).reshape(2, -1).tolist()
        self.observation_space = spaces.channels({"left": left, "right": right, "start": 2 * FEATURES})
        self.start_session()

    def start_session(self) -> None:
        """Draw new objects at the next trial."""
        self._done, self._objects = 0, np.zeros((2, FEATURES))

    def _new_trials(self, trials: Trials) -> None:
        position = self.session_trials(trials)
        begins = position == 0
        new = trials.rng.standard_normal((np.count_nonzero(begins), 2, FEATURES))
        drawn = np.concatenate([self._objects[None], new])
        objects, self._objects = drawn[np.cumsum(begins)], drawn[-1]
        better_is_right = trials.rng.integers(2, size=trials.n)
        right = np.arange(2) == better_is_right[:, None]
        trials.info.update(ground_truth=better_is_right, session_trial=position)
        self._offer(trials, paid(trials, right), right)
        rows = np.arange(trials.n)
        trials.add_ob(objects[rows, 1 - better_is_right], "decision", where="left")
        trials.add_ob(objects[rows, better_is_right], "decision", where="right")
        trials.add_ob(begins, "decision", where="start")
        trials.set_groundtruth(better_is_right, "decision")


class Volatility(SessionsInSequence, Arms):
    """Choose one of two arms of which one pays more often: the same for a whole session, or changing in it.

    Half of the sessions, drawn at random, are volatile: before each trial the arms may change places. Nothing tells
    which kind a session is of. A trial is a single step.
    """

    default_rewards: ClassVar = {"correct": 1.0, "fail": 0.0}
    trials_per_session = 100
    p_reward = 0.8  #: of the better arm; the other pays with 1 - p_reward
    p_change = 0.1  #: before each trial of a volatile session

    def __init__(self, dt: float = 100):
        super().__init__(dt=dt)
        self._set_arms(2)
        self.observation_space = spaces.channels({"start": 0})
        self.start_session()

    def start_session(self) -> None:
        """Draw the kind of session and the better arm at the next trial."""
        self._done, self._volatile, self._better = 0, False, 0

    def _new_trials(self, trials: Trials) -> None:
        position, rng = self.session_trials(trials), trials.rng
        begins = position == 0
        kinds = np.append(self._volatile, rng.random(np.count_nonzero(begins)) < 0.5)
        volatile = kinds[np.cumsum(begins)]
        changes = rng.random(trials.n) < np.where(begins, 0.5, self.p_change * volatile)
        better = (self._better + np.cumsum(changes)) % 2
        self._volatile, self._better = bool(volatile[-1]), int(better[-1])
        right = np.arange(2) == better[:, None]
        pays = rng.random((trials.n, 2)) < np.where(right, self.p_reward, 1 - self.p_reward)
        trials.info.update(ground_truth=better, session_trial=position, volatile=volatile.astype(int))
        trials.info.update({f"pays{arm}": pays[:, arm].astype(int) for arm in range(2)})
        self._offer(trials, paid(trials, pays), right)
        trials.add_ob(begins, "decision", where="start")
        trials.set_groundtruth(better, "decision")
