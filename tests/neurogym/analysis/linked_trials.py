"""Coverage of the intervals that ``ngym eval`` prints for tasks whose trials are linked.

A fixed agent is evaluated many times on tasks whose trials are linked, each time as an evaluation of the command line
would: so many environments side by side, whole sessions or a warm-up. The share of 95 % intervals that hold the mean
of all evaluations is the coverage; next to it that of intervals that take trials as independent.
"""

from collections.abc import Callable
from dataclasses import dataclass

import gymnasium as gym
import numpy as np

import neurogym as ngym
from neurogym import wrappers
from neurogym.analysis.intervals import clusters, mean_interval
from neurogym.vector import make_vec

TRIALS, ENVS, WARM_UP = 2_000, 16, 20


class StayOnWin:
    """Repeats the choice that was rewarded, else takes another; waits where an answer is not due.

    Args:
        choices: Actions that are choices.
        due: Channel that is on when the agent has to wait, None if every step is a choice.
        wait: What it does then.
    """

    def __init__(self, choices: tuple[int, ...], due: Callable[[np.ndarray], np.ndarray], wait: int = 0):
        self.choices, self.due, self.wait = np.array(choices), due, wait

    def start(self, n: int) -> None:
        """Begin in ``n`` environments."""
        self._last = np.zeros(n, int)

    def act(self, observations: np.ndarray) -> np.ndarray:
        """Actions, shape (environments,)."""
        return np.where(self.due(observations), self.choices[self._last], self.wait)

    def learn(self, env: np.ndarray, reward: np.ndarray) -> None:
        """Take the rewards of finished trials."""
        lost = reward <= 0
        self._last[env[lost]] = (self._last[env[lost]] + 1) % len(self.choices)


class Stubborn(StayOnWin):
    """Takes one side for as long as it was rewarded at all lately: errors come in long runs."""

    def start(self, n: int) -> None:
        """Begin in ``n`` environments."""
        super().start(n)
        self._losses = np.zeros(n, int)

    def learn(self, env: np.ndarray, reward: np.ndarray) -> None:
        """Switch after three losses in a row."""
        self._losses[env] = np.where(reward <= 0, self._losses[env] + 1, 0)
        over = env[self._losses[env] >= 3]
        self._last[over] = (self._last[over] + 1) % len(self.choices)
        self._losses[over] = 0


@dataclass(frozen=True)
class Case:
    """A task whose trials are linked, and an agent.

    Attributes:
        make: Makes the stack.
        agent: Makes the agent.
        session: Trials of a session, None if it does not end.
    """

    make: Callable[[], gym.Env]
    agent: Callable[[], StayOnWin]
    session: int | None = None


def _always(ob: np.ndarray) -> np.ndarray:
    return np.ones(len(ob), bool)


def _rdm_in_blocks() -> gym.Env:
    env = ngym.make("RDM-v0", timing={"fixation": 0, "stimulus": 100, "decision": 100}, cohs=[0])
    return wrappers.SideBias(env, [[0.9, 0.1], [0.1, 0.9]], 100)


CASES: dict[str, Case] = {
    "ChangingBandit-v0": Case(lambda: ngym.make("ChangingBandit-v0"), lambda: StayOnWin((0, 1), _always), 100),
    "TwoStep-v0": Case(lambda: ngym.make("TwoStep-v0"), lambda: Stubborn((1, 2), lambda ob: ob[:, 0] > 0, 1), 100),
    "DawTwoStep-v0": Case(lambda: ngym.make("DawTwoStep-v0"), lambda: Stubborn((1, 2), lambda ob: ob[:, 0] > 0)),
    "ContextSwitch-v0": Case(lambda: ngym.make("ContextSwitch-v0", p_switch=0.02), lambda: Stubborn((0, 1), _always)),
    "RDM-v0 + side_bias": Case(_rdm_in_blocks, lambda: Stubborn((1, 2), lambda ob: ob[:, 0] == 0)),
}


def evaluation(case: Case, seed: int, trials: int = TRIALS) -> dict[str, np.ndarray]:
    """The trial table of one evaluation."""
    sessions = -(-trials // case.session) if case.session else 0
    n = min(ENVS, sessions) if case.session else ENVS
    quota = case.session * (sessions // n + (np.arange(n) < sessions % n)) if case.session else np.full(n, trials // n)
    warm = 0 if case.session else WARM_UP
    env, agent = make_vec(case.make, n), case.agent()
    ob, _ = env.reset(seed=[int(s) for s in np.random.SeedSequence(seed).generate_state(n)])
    agent.start(n)
    counts, rows = np.zeros(n, int), []
    while np.any(counts < quota + warm):
        ob = env.step(agent.act(ob))[0]
        finished = env.finished
        if finished is None:
            continue
        at = finished["env"]
        agent.learn(at, finished["reward"])
        selected = (counts[at] >= warm) & (counts[at] < warm + quota[at])
        session_trial = finished.get("session_trial", np.ones(len(at)))
        rows.append(np.column_stack([at, counts[at], finished["performance"], session_trial])[selected])
        counts[at] += 1
    scores = np.concatenate(rows)
    table = {"env": scores[:, 0].astype(int), "trial": scores[:, 1], "performance": scores[:, 2]}
    table["linked"] = np.full(len(scores), True)
    return table | ({"session_trial": scores[:, 3]} if case.session else {})


def coverage(case: Case, repeats: int, trials: int = TRIALS) -> tuple[float, float]:
    """Share of intervals that hold the truth: those from sessions, and those that take trials as independent."""
    tables = [evaluation(case, seed, trials) for seed in range(repeats)]
    truth = float(np.mean([table["performance"].mean() for table in tables]))
    linked = [truth in mean_interval(table["performance"], clusters(table)) for table in tables]
    alone = [truth in mean_interval(table["performance"]) for table in tables]
    return float(np.mean(linked)), float(np.mean(alone))
