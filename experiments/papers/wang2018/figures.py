"""Two-step choices and bandits of a network that learns to learn (Wang et al. 2018)."""

from functools import cache

import numpy as np

from neurogym.analysis import from_trials
from neurogym.analysis.learning import best_choices, thompson
from neurogym.analysis.results import UndeterminedError
from neurogym.analysis.trial_tables import in_sequence, numbers, select
from neurogym.behaviour.models.base import Problem
from neurogym.behaviour.models.learning import QLearning
from neurogym.behaviour.table import Behaviour, session
from ngym_cli.figures.style import COLOURS, GREY, legend_below, new_figure
from ngym_cli.papers.controls import FEEDBACK, answered, cut
from ngym_cli.papers.measures import reward_per_trial
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

PULLS = 100
ARMS = ("p0", "p1")
#: Kinds of the trial before, in the paper's order: common or rare transition, rewarded or not.
KINDS = ("rewarded_common", "rewarded_rare", "unrewarded_common", "unrewarded_rare")
WORDS = ("common\nrewarded", "rare\nrewarded", "common\nunrewarded", "rare\nunrewarded")
PUBLISHED = (0.988, 0.637, 0.622, 0.987)
IDEAL = (1.0, 0.6635, 0.6645, 1.0)
SIMULATED = 20_000
#: Whether a session is volatile, and what is said of it.
VOLATILITY = {0: "stable", 1: "volatile"}
#: Learning rate and inverse temperature of the learner that does not adapt.
FIXED_RATE, TEMPERATURE = 0.4, 5.0


def stay(run: PaperRun):
    """Probability of repeating the first choice, by what happened in the trial before."""
    stay_probabilities = from_trials.two_step(run.trials()).stay
    return {name: stay_probabilities[name].value for name in KINDS}


def model_based(run: PaperRun):
    """Interaction of reward and transition, and main effect of reward, of the probability of staying."""
    two_step = from_trials.two_step(run.trials())
    return {"model-based": two_step.model_based.value, "model-free": two_step.model_free.value}


def interaction(run: PaperRun):
    """How much more the model-based index is than the main effect of reward."""
    effect = model_based(run)
    return effect["model-based"] - abs(effect["model-free"])


def reward_per_session(run: PaperRun):
    """Reward of 100 trials."""
    return PULLS * reward_per_trial(run)


def _curve(table):
    """Cumulative regret over the pulls of a session, mean over whole sessions; arms of each session."""
    table, session_of = in_sequence(table)
    table = select(table, np.bincount(session_of)[session_of] == PULLS)
    arms = np.stack([numbers(table[name]) for name in ARMS], axis=1)
    chosen = numbers(table["choice"]).astype(int)
    lost = arms.max(axis=1) - arms[np.arange(len(arms)), chosen]
    return lost.reshape(-1, PULLS).cumsum(axis=1), arms.reshape(-1, PULLS, 2)[:, 0]


def regret(run: PaperRun):
    """Expected reward lost in 100 pulls against always choosing the better arm."""
    return float(_curve(run.trials())[0][:, -1].mean())


def below_thompson(run: PaperRun):
    """Regret of Thompson sampling in 100 pulls on the same arms, less that of the network."""
    lost, arms = _curve(run.trials())
    return float(_simulated(thompson, arms)[-1] - lost[:, -1].mean())


def _simulated(agent, arms):
    """Mean cumulative regret of an agent on the arms of these sessions, many times."""
    arms = np.tile(arms, (max(1, SIMULATED // len(arms)), 1))
    chosen = agent(arms, PULLS, np.random.default_rng(0))
    lost = arms.max(axis=1)[:, None] - np.take_along_axis(arms, chosen, axis=1)
    return lost.cumsum(axis=1).mean(axis=0)


def by_trial(run: PaperRun):
    """P(correct) in each trial of a session."""
    table = run.trials()
    position, right = numbers(table["session_trial"]).astype(int), numbers(table["performance"])
    return np.bincount(position, right) / np.bincount(position)


def after_one_trial(run: PaperRun):
    """P(correct) in the second trial of a session."""
    return float(by_trial(run)[1])


@cache
def learning_rates(run: PaperRun):
    """Learning rate of the Rescorla-Wagner model that fits the choices, in stable and in volatile sessions."""
    table, session_of = in_sequence(run.trials())
    begins = np.flatnonzero(np.diff(session_of)) + 1
    columns = [np.split(numbers(table[name]), begins) for name in ("choice", "reward", "volatile")]
    model = QLearning("q-learning", perseveration=True)
    rates = {}
    for kind, word in VOLATILITY.items():
        rows = [
            session(choice, reward=reward)
            for choice, reward, volatile in zip(*columns, strict=True)
            if volatile[0] == kind
        ]
        if not rows:
            raise UndeterminedError(f"no {word} session was evaluated")
        (fitted,) = model.fit([Problem(Behaviour(tuple(rows)))])
        rates[word] = fitted.parameters["alpha"].value
    return rates


def faster_when_volatile(run: PaperRun):
    """Learning rate in volatile sessions less that in stable ones."""
    rates = learning_rates(run)
    return rates["volatile"] - rates["stable"]


def control_fixed_rate(run: PaperRun):
    """A learner with one learning rate for all sessions."""
    return answered(run, _with_fixed_rate)


def _with_fixed_rate(table):
    """Answer trials as a Rescorla-Wagner learner does, from the payoffs of both arms."""
    table, session_of = in_sequence(table)
    rng, pays = np.random.default_rng(0), np.stack([numbers(table[f"pays{arm}"]) for arm in range(2)], axis=1)
    choice, values = np.zeros(len(pays), int), np.zeros(2)
    for k in range(len(pays)):
        if k and session_of[k] != session_of[k - 1]:
            values = np.zeros(2)
        choice[k] = rng.random() < 1 / (1 + np.exp(TEMPERATURE * (values[0] - values[1])))
        values[choice[k]] += FIXED_RATE * (pays[k, choice[k]] - values[choice[k]])
    return {**table, "choice": choice, "reward": pays[np.arange(len(pays)), choice]}


def control_no_feedback(run: PaperRun):
    """The trained networks without their inputs from the last reward and action: a session teaches nothing."""
    return cut(run, FEEDBACK)


def figure_5_stay_probabilities(paper: PaperRuns):
    """Probability of repeating the first choice by transition and reward of the trial before. Bars: mean of the
    networks trained here; points: each network; lines: the paper's (solid) and the ideal observer's (dotted). High
    after common rewards and rare failures: the choice follows a model of the transitions, not reward alone.
    """
    names = [name for name in ("two-step", "two-step-a2c") if paper.found.get(name)] or ["two-step"]
    figure, axes = new_figure(1, len(names), squeeze=False)
    for axis, name in zip(axes[0], names, strict=True):
        values = np.array([list(stay(run).values()) for run in paper.runs(name)])
        places = np.arange(len(KINDS))
        colours = [COLOURS[0], COLOURS[1]] * 2
        axis.bar(places, values.mean(axis=0), color=colours, alpha=0.6, width=0.6)
        for row in values:
            axis.plot(places, row, "o", color="black", markersize=3)
        for numbers_, style, label in ((PUBLISHED, "-", "published"), (IDEAL, ":", "ideal observer")):
            axis.hlines(numbers_, places - 0.35, places + 0.35, color="black", linestyle=style, label=label)
        axis.set_xticks(places, WORDS)
        axis.set(ylabel="P(stay)", ylim=(0, 1.1), title=f"{paper.config.parts[name].what}, n = {len(values)}")
    legend_below(axes[0][0], 2)
    return figure


def figure_2_bandit_regret(paper: PaperRuns):
    """Cumulative expected regret over the pulls of a session, of each network, beside Thompson sampling and the best
    policy on the same arms. A network below Thompson sampling explores less where this pays.
    """
    figure, axes = new_figure(width=4.8)
    pulls = np.arange(1, PULLS + 1)
    for k, run in enumerate(paper.runs("bandit")):
        lost, arms = _curve(run.trials())
        colour = COLOURS[k % len(COLOURS)]
        axes.plot(pulls, lost.mean(axis=0), color=colour, label=f"seed {run.seed}, {len(lost):,} sessions")
    for agent, style, label in ((thompson, "--", "Thompson sampling"), (best_choices, ":", "best policy")):
        axes.plot(pulls, _simulated(agent, arms), color=GREY, linestyle=style, label=label)
    axes.set(xlabel="pull", ylabel="cumulative expected regret", xlim=(0, PULLS))
    axes.set_ylim(bottom=0)
    axes.legend()
    return figure


def figure_learning_to_learn(paper: PaperRuns):
    """P(correct) in each trial of a session with two new objects, of each network. The first trial can only be
    guessed; from the second on the object that pays is known.
    """
    figure, axes = new_figure(width=4.0)
    for k, run in enumerate(paper.runs("harlow")):
        curve = by_trial(run)
        axes.plot(np.arange(1, len(curve) + 1), curve, "o-", color=COLOURS[k % len(COLOURS)], label=f"seed {run.seed}")
    axes.axhline(0.5, color=GREY, linestyle=":", label="chance")
    axes.set(xlabel="trial of a session", ylabel="P(correct)", ylim=(0.4, 1.02))
    axes.legend()
    return figure


def figure_volatility(paper: PaperRuns):
    """Learning rate that fits the choices in stable and in volatile sessions, of each network. A network that notices
    how often arms change places follows single rewards more where they do; a line that rises says so.
    """
    figure, axes = new_figure(width=4.0)
    for k, run in enumerate(paper.runs("volatility")):
        rates = learning_rates(run)
        axes.plot(range(len(rates)), rates.values(), "o-", color=COLOURS[k % len(COLOURS)], label=f"seed {run.seed}")
    axes.set_xticks(range(len(VOLATILITY)), VOLATILITY.values())
    axes.set(ylabel="learning rate", xlim=(-0.4, 1.4), xlabel="sessions")
    axes.set_ylim(bottom=0)
    axes.legend()
    return figure
