"""Ideal agents of tasks with a hidden state, written apart from the package: they see what ``env.step`` shows."""

import numpy as np
from scipy.special import logsumexp

import neurogym as ngym
from neurogym.envs.native import hierarchicalreasoning, twostep


def hazard(p: float) -> np.ndarray:
    """Changes between two states that take each other's place with a probability."""
    return np.array([[1 - p, p], [p, 1 - p]])


def alternation(low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    """Start of, and changes between, (state, trials left of the block): two states take turns in drawn blocks."""
    start, change = np.zeros((2, high)), np.zeros((2, high, 2, high))
    start[:, low - 1 :] = 0.5 / (high - low + 1)
    for state in (0, 1):
        for left in range(1, high):
            change[state, left, state, left - 1] = 1
        change[state, 0, 1 - state, low - 1 :] = 1 / (high - low + 1)
    return start.ravel(), change.reshape(2 * high, 2 * high)


class Agent:
    """Follows the exact belief over the hidden state of a task.

    Attributes:
        belief: Probability of each state, shape (states,).
        change: Probability of each state after a trial, given that before it, shape (states, states).
    """

    belief: np.ndarray
    change: np.ndarray

    def __init__(self, task):
        self.task = task

    def half(self) -> float:
        """Probability that the second of two kinds of state holds."""
        return float(self.belief.reshape(2, -1)[1].sum())

    def act(self, ob: np.ndarray) -> int:
        raise NotImplementedError

    def likelihood(self, ob: np.ndarray, info: dict) -> np.ndarray:
        """Likelihood of the outcome of a trial in either kind of state, shape (2,)."""
        raise NotImplementedError

    def told(self, ob: np.ndarray, info: dict) -> None:
        each = np.repeat(self.likelihood(ob, info), len(self.belief) // 2)
        self.belief = self.belief * each / (self.belief @ each) @ self.change


class Reversals(Agent):
    """Of ReversalLearning: which picture is the better one."""

    def __init__(self, task):
        super().__init__(task)
        self.belief, self.change = alternation(*task.block_dur)

    def act(self, ob):
        if ob[0]:
            return 0
        self.picture = int(self.half() > 0.5)
        return 1 + int(ob[1 + self.picture] == 0)

    def likelihood(self, ob, info):
        paid = info["trial_reward"] > 0
        p = self.task.p_reward if paid else 1 - self.task.p_reward
        return np.array([p, 1 - p])[:: -1 if self.picture else 1]


class TwoSteps(Agent):
    """Of both two-step tasks: which second stage is the better one; ``stage`` is where the task shows the stages."""

    stage = 1
    common, p_reward = twostep.COMMON, twostep.PAYS[1]

    def __init__(self, task):
        super().__init__(task)
        self.belief, self.change = np.full(2, 0.5), hazard(twostep.SWITCH)

    def act(self, ob):
        shown = np.flatnonzero(ob[self.stage : self.stage + 2])
        if len(shown):
            self.reached = int(shown[0])
            return 0
        return 1 + int(self.half() > 0.5)

    def likelihood(self, ob, info):
        p = self.p_reward if info["trial_reward"] > 0 else 1 - self.p_reward
        return np.array([p, 1 - p])[:: -1 if self.reached else 1]


class Sessions(TwoSteps):
    """Of TwoStep, where the better stage is drawn again in each session."""

    def __init__(self, task):
        super().__init__(task)
        self.p_reward, self.change = task.p_reward, hazard(task.p_switch)

    def act(self, ob):
        if ob[3]:
            self.belief = np.full(2, 0.5)
        return super().act(ob)


class Rules(Agent):
    """Of HierarchicalReasoning: which rule holds; the interval in the middle counts as long or short by chance."""

    def __init__(self, task):
        super().__init__(task)
        self.belief, self.change = alternation(*hierarchicalreasoning.BLOCK)
        self.onsets, self.step = [], -1

    def act(self, ob):
        self.step += 1
        flash = ob[3:5]
        if flash.any():
            self.side = int(flash[1])
            self.onsets.append(self.step)
        self.rule = int(self.half() > 0.5)
        if ob[1:3].any():
            return 1 + self.rule
        if ob[0]:
            return 0
        interval = (self.onsets[-1] - self.onsets[0]) * self.task.dt - self.task.timing["flash1"]
        self.open = interval == self.task.mid_point
        long = interval >= self.task.mid_point
        return 3 + (self.side if long == self.rule else 1 - self.side)

    def likelihood(self, ob, info):
        self.step, self.onsets = -1, []
        right = info["trial_reward"] > 0
        fits = 0.5 if self.open else 1.0
        under = np.array([0.0, 0.0])
        under[self.rule] = fits
        return under if right else 1 - under


class Contexts(Agent):
    """Of ContextSwitch: whether the responses have changed places."""

    def __init__(self, task):
        super().__init__(task)
        self.belief, self.change = np.full(2, 0.5), hazard(task.p_switch)

    def act(self, ob):
        self.stimulus = int(ob[1])
        self.chosen = self.stimulus ^ int(self.half() > 0.5)
        return self.chosen

    def likelihood(self, ob, info):
        answer = self.chosen if info["trial_reward"] > 0 else 1 - self.chosen
        return np.eye(2)[self.stimulus ^ answer]


class Targets(Agent):
    """Of ChangingEnvironment: which pair of targets is rewarded, together with the side of the motion."""

    def __init__(self, task):
        super().__init__(task)
        self.belief, self.change = np.full(2, 0.5), hazard(task.cxt_ch_prob)
        self.samples = []

    def act(self, ob):
        if ob[1:3].any():
            self.samples.append(ob[1] - ob[2])
        if ob[0]:
            return 0
        means = np.outer([1, -1], np.asarray(self.task.conditions["coh"]) / 100)
        log = -((np.array(self.samples)[:, None, None] - means) ** 2).sum(axis=0) / (4 * self.task.sigma**2)
        self.sides = np.exp(logsumexp(log, axis=1) - logsumexp(log))
        self.chosen = divmod(int(np.outer(self.belief, self.sides).argmax()), 2)  # context, side
        return 1 + 2 * self.chosen[0] + self.chosen[1]

    def likelihood(self, ob, info):
        self.samples = []
        context, side = self.chosen
        right = np.zeros(2)
        right[context] = self.sides[side]
        return right if info["trial_reward"] > 0 else 1 - right


class Blocks(Agent):
    """Of IBLBlock: which of three probabilities of a side holds; each block has the same number of trials."""

    def __init__(self, task):
        super().__init__(task)
        self.sides = np.stack([1 - np.array(task.blocks), task.blocks], axis=1)
        self.belief, self.done = np.full(len(self.sides), 1 / len(self.sides)), 0

    def act(self, ob):
        means = np.outer([1, -1], np.asarray(self.task.conditions["coh"]) / 100)
        like = np.exp(-((ob[0] - ob[1] - means) ** 2) / (4 * self.task.sigma**2)).sum(axis=1)
        self.chosen = int((self.belief @ self.sides * like).argmax())
        return self.chosen

    def told(self, ob, info):
        side = self.chosen if info["performance"] else 1 - self.chosen
        self.belief = self.belief * self.sides[:, side]
        self.belief /= self.belief.sum()
        self.done += 1
        if self.done % self.task.block_dur == 0:
            self.belief = np.full(len(self.sides), 1 / len(self.sides))


AGENTS: dict[str, type[Agent]] = {
    "ChangingEnvironment-v0": Targets,
    "ContextSwitch-v0": Contexts,
    "DawTwoStep-v0": TwoSteps,
    "HierarchicalReasoning-v0": Rules,
    "IBLBlock-v0": Blocks,
    "ReversalLearning-v0": Reversals,
    "TwoStep-v0": Sessions,
}


def played(id_: str, trials: int, warm: int = 100, seed: int = 0, **kwargs) -> tuple[float, float]:
    """Performance of the ideal agent of a task, and its standard error; the first ``warm`` trials are not counted."""
    env = ngym.make(id_, **kwargs)
    ob, _ = env.reset(seed=seed)
    agent, performance = AGENTS[id_](env.unwrapped), []
    while len(performance) < warm + trials:
        ob, _, _, _, info = env.step(agent.act(ob))
        if info["new_trial"]:
            agent.told(ob, info)
            performance.append(info["performance"])
    pieces = [piece.mean() for piece in np.array_split(performance[warm:], 20)]
    return float(np.mean(pieces)), float(np.std(pieces, ddof=1) / np.sqrt(20))
