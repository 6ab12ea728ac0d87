"""Agents that learn from their rewards do not exceed the ceilings of bandits and foraging tasks."""

import numpy as np
import pytest

import neurogym as ngym


class WinStay:
    """Repeats what paid, and switches after so many losses in a row."""

    def __init__(self, losses: int = 1):
        self.losses = losses

    def start(self, n: int, rng: np.random.Generator) -> None:
        self.n, self.last, self.lost = n, 0, 0

    def choose(self) -> int:
        return self.last

    def learn(self, choice: int, reward: float) -> None:
        self.lost = 0 if reward > 0 else self.lost + 1
        if self.lost >= self.losses:
            self.last, self.lost = (choice + 1) % self.n, 0


class Thompson:
    """Draws from Beta beliefs that forget."""

    def __init__(self, keep: float):
        self.keep = keep

    def start(self, n: int, rng: np.random.Generator) -> None:
        self.rng, self.counts = rng, np.zeros((n, 2))

    def choose(self) -> int:
        return int(self.rng.beta(1 + self.counts[:, 0], 1 + self.counts[:, 1]).argmax())

    def learn(self, choice: int, reward: float) -> None:
        self.counts *= self.keep
        self.counts[choice, int(reward <= 0)] += 1


class Matching:
    """Chooses in proportion to the leaky income of each option."""

    def start(self, n: int, rng: np.random.Generator) -> None:
        self.rng, self.income = rng, np.full(n, 0.2)

    def choose(self) -> int:
        return int(self.rng.choice(len(self.income), p=self.income / self.income.sum()))

    def learn(self, choice: int, reward: float) -> None:
        self.income *= 0.9
        self.income[choice] += 0.1 * max(reward, 0)
        self.income = np.maximum(self.income, 0.01)


class Baited(Thompson):
    """Thompson, with a visit to the other side after so many to one."""

    def start(self, n: int, rng: np.random.Generator) -> None:
        super().start(n, rng)
        self.last, self.stayed = 0, 0

    def choose(self) -> int:
        best = super().choose()
        return 1 - self.last if self.stayed >= 8 and best == self.last and len(self.counts) == 2 else best

    def learn(self, choice: int, reward: float) -> None:
        super().learn(choice, reward)
        self.stayed = self.stayed + 1 if choice == self.last else 1
        self.last = choice


AGENTS = {
    "win-stay": WinStay(),
    "three losses": WinStay(3),
    "thompson": Thompson(1.0),
    "forgetful thompson": Thompson(0.8),
    "matching": Matching(),
    "baited": Baited(0.9),
}
#: Tasks without an ideal agent in `agents`.
TASKS = ["Bandit-v0", "ChangingBandit-v0", "DriftingBandit-v0", "DynamicForaging-v0", "MatchingPenny-v0"]


def played(id_: str, agent, trials: int) -> np.ndarray:
    """Performance and reward of each trial, shape (trials, 2)."""
    env = ngym.make(id_)
    env.reset(seed=0)
    task, n = env.unwrapped, int(env.action_space.n)
    answers = range(1, 3) if n == 3 else range(n)
    asked = task.rule.answer if task.rule is not None and task.rule.hold is not None else None
    agent.start(len(answers), np.random.default_rng(0))
    choice, outcomes = agent.choose(), []
    while len(outcomes) < trials:
        waits = bool(asked) and not any(task.in_period(name) for name in asked)
        info = env.step(0 if waits else answers[choice])[4]
        if info["new_trial"]:
            outcomes.append((info["performance"], info["trial_reward"]))
            agent.learn(choice, info["trial_reward"])
            choice = agent.choose()
    return np.array(outcomes)


def assert_not_above(id_: str, name: str, trials: int) -> None:
    outcomes, score = played(id_, AGENTS[name], trials), ngym.make(id_).unwrapped.ceiling()
    pieces = np.array([piece.mean(axis=0) for piece in np.array_split(outcomes, 20)])
    error = pieces.std(axis=0, ddof=1) / np.sqrt(20)
    for column, key in enumerate(("performance", "reward")):
        slack = 4 * np.hypot(error[column], score["error"]) + 1e-3
        assert outcomes[:, column].mean() <= score[key] + slack, key


@pytest.mark.parametrize("trials", [400, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("id_", TASKS)
def test_no_learner_exceeds_the_ceiling(id_, name, trials):
    assert_not_above(id_, name, trials)
