"""Simulated subjects of models of choices: fitted parameters beside the parameters that chose.

Every function draws a subject from ``rng``, with a share of the usual number of trials. All subjects of a row are
fitted in one call, as those of ``ngym fit``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from experiments.coverage.observers import Generator, Truths
from experiments.fitting import simulated, timed
from neurogym.analysis.regression import with_reference
from neurogym.behaviour.models.agents import Agent, AgentPolicy
from neurogym.behaviour.models.ballistic import BallisticResponse
from neurogym.behaviour.models.base import Model, Problem
from neurogym.behaviour.models.glm_hmm import GlmHmm
from neurogym.behaviour.models.learning import QLearning, TwoStepLearner
from neurogym.behaviour.models.logistic import Features
from neurogym.behaviour.models.times import TimeSettings
from neurogym.behaviour.models.with_times import TimedModel, diffusion, race
from neurogym.behaviour.simulate import ReversingBandit, TwoStepWorld, World, simulate
from neurogym.behaviour.table import Behaviour, session


@dataclass(frozen=True)
class Subject:
    """Simulated behaviour.

    Attributes:
        table: sessions of the subject.
        truth: parameters by name.
    """

    table: Behaviour
    truth: Mapping[str, float]


Draw = Callable[[Generator, float], Subject]


def learner(model: Agent, like: Behaviour, world: Callable[[Generator, float], World]) -> tuple[Agent, Draw]:
    """Return a learner, and how a subject of it is drawn: from the priors, as a credible interval assumes.

    Credible intervals hold the truth at their level on average over the prior (Talts et al. 2018, arXiv:1804.06788).
    With parameters near the middle of a prior, and trials that say little of them, they hold it more often.

    Args:
        model: the learner.
        like: table with the choices of the task.
        world: the task, given a generator and a share of the usual number of trials.
    """
    parameters = model.parameters(like)

    def draw(rng: Generator, share: float) -> Subject:
        x = np.array([each.mean + each.sd * rng.standard_normal() for each in parameters])
        subject = AgentPolicy(model, parameters, x, len(like.choices))
        return Subject(simulate(subject, world(rng, share), like, rng), subject.values)

    return model, draw


def _bandit(rng: Generator, share: float) -> World:
    return ReversingBandit(1, int(1000 * share), 2, rng)


def learner_of_task(name: str) -> tuple[Agent, Draw]:
    """Return a learner in the task that the model is for, for half of its trials or, of a small size, a quarter."""
    model, like, world, _ = timed.LEARNERS[name]
    _, complete = learner(model, like, lambda rng, share: world(rng))

    def draw(rng: Generator, share: float) -> Subject:
        subject = complete(rng, share)
        (trials,) = subject.table.sessions
        end = int(len(trials) * (0.25 if share < 1 else 0.5))
        return Subject(like.only([trials.part("1", slice(0, end))]), subject.truth)

    return model, draw


def _drawn(rng: Generator, ranges: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    return {name: float(rng.uniform(*ends)) for name, ends in ranges.items()}


def ddm(rng: Generator, share: float) -> Subject:
    """Diffusion to two bounds, choices and times."""
    truth = timed._observer(rng)
    return Subject(timed.dots(rng, int(800 * share), truth), truth)


DEADLINE = 5.0  #: in s; without one the slowest of many answers says how late contaminants may come
RACE = race(deadline=DEADLINE)
RACE_RANGES = {"x -> 1": (1.5, 4.0), "B": (0.6, 1.2), "s_0": (0.3, 0.8), "t_R": (0.15, 0.35), "v_0": (1.5, 3.0)}


def lba(rng: Generator, share: float) -> Subject:
    """Race of two ballistic accumulators whose rates depend on a stimulus."""
    truth, trials = _drawn(rng, RACE_RANGES), int(800 * share)
    x = rng.choice(timed.COHERENCES, trials)
    evidence = np.stack([-0.5 * truth["x -> 1"] * x, 0.5 * truth["x -> 1"] * x], axis=1)
    choice, rt = BallisticResponse(2).sample(evidence, {**truth, "lapse": 0.02}, rng, TimeSettings(DEADLINE))
    return Subject(Behaviour((session(choice, stimuli=x[:, None], rt=rt),), stimuli=("x",)), truth)


Q_LEARNING = QLearning("q", perseveration=True)
TWO_RATES = QLearning("q", rates=2, perseveration=True)
TIMED_LEARNER = TimedModel(Q_LEARNING)


def learner_with_times(rng: Generator, share: float) -> Subject:
    """Value learner whose difference of values drives a diffusion."""
    truth = timed._learner(rng)
    names = ("alpha", "beta", "kappa", "A", "t_R")
    return Subject(timed.timed_learner(truth, rng, 4, int(120 * share)), {name: truth[name] for name in names})


#: Weights of a constant and of the stimulus, shape (states, choices but the first, 2): an engaged and a biased state.
WEIGHTS = {
    2: np.array([[[0.2, 5.0]], [[1.2, 0.8]]]),
    3: np.array([[[0.2, 5.0], [-0.3, -4.0]], [[1.2, 0.8], [0.4, -0.6]]]),
}


def hidden_states(rng: Generator, share: float, choices: int = 2) -> Subject:
    """An engaged state and a biased one, in sessions of 100 trials."""
    weights, stay, sessions = WEIGHTS[choices], np.array([0.97, 0.94]), int(24 * share)
    stimuli = rng.choice([-1, -0.5, -0.25, -0.125, 0.125, 0.25, 0.5, 1], (sessions, 100))
    state, choice = rng.integers(0, 2, sessions), np.zeros((sessions, 100), int)
    for t in range(100):
        state = np.where(rng.random(sessions) < stay[state], state, 1 - state)
        logits = with_reference(weights[state, :, 0] + weights[state, :, 1] * stimuli[:, t, None])
        choice[:, t] = (logits + rng.gumbel(size=logits.shape)).argmax(1)
    rows = [session(choice[k], name=str(k), stimuli=stimuli[k][:, None]) for k in range(sessions)]
    table = Behaviour(tuple(rows), tuple(map(str, range(choices))), ("x",))
    names = Features.of(table, 0).weight_names
    truth = {f"state {k + 1}: {name}": each for k in (0, 1) for name, each in zip(names, weights[k].flat, strict=True)}
    truth |= {f"state {k + 1}: stay": each for k, each in enumerate(stay)}
    return Subject(table, truth)


#: Models by name, and how a subject is drawn.
MODELS: dict[str, tuple[Model, Draw]] = {
    "q_learning": learner(Q_LEARNING, simulated.BANDIT, _bandit),
    "two_rates": learner(TWO_RATES, simulated.BANDIT, _bandit),
    "two_step_learner": learner(
        TwoStepLearner("hybrid"), simulated.TWO_STEP, lambda rng, share: TwoStepWorld(1, int(600 * share), rng)
    ),
    "diffusion": (diffusion(), ddm),
    "lba": (RACE, lba),
    "learner_with_times": (TIMED_LEARNER, learner_with_times),
    "hidden_states": (GlmHmm(2, 0), hidden_states),
    "hidden_states_three_choices": (GlmHmm(2, 0), partial(hidden_states, choices=3)),
    **{name.replace("-", "_"): learner_of_task(name) for name in timed.LEARNERS},
}


def experiments(name: str, rngs: Sequence[Generator], share: float) -> list[Truths]:
    """Return estimates beside true values of simulated subjects, without parameters that the fit marks."""
    model, draw = MODELS[name]
    subjects = [draw(rng, share) for rng in rngs]
    fits = model.fit([Problem(each.table, seed) for seed, each in enumerate(subjects)])
    return [
        {key: (fit.parameters[key], value) for key, value in each.truth.items() if key not in fit.marks}
        for fit, each in zip(fits, subjects, strict=True)
    ]
