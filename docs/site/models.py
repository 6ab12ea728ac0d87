"""A picture of each model of choices: simulated with typical parameters, or fitted to a few simulated trials."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from docs.site.writing import Site, figure
from neurogym.behaviour import simulate
from neurogym.behaviour.models.base import Fitted, Policy, Problem, predict
from neurogym.behaviour.table import Behaviour, session
from ngym_cli.figures.style import COLOURS, GREY, new_figure, styled
from ngym_cli.fitting.registry import MODELS

#: Trials and sessions of the tables, and the seed of everything.
TRIALS, SESSIONS, SEED = 150, 2, 0
#: Where rewards of a patch begin, what is left of them after each harvest, and the harvests that are shown.
PATCH, LEFT, HARVESTS = 1.0, 0.8, 10
#: Parameters of learners whose typical values are not the means of their priors, by model.
PARAMETERS = {
    "win-stay-lose-shift": {"epsilon_win": 0.1, "epsilon_lose": 0.3},
    "forager": {"kappa": LEFT, "beta": 8.0},
}


class Patches(simulate.World):
    """World of a forager: a patch pays less with each harvest; to leave it pays nothing, and the next one is full."""

    def __init__(self, n: int, trials: int):
        self.stimuli, self.truth = np.zeros((n, trials, 0)), np.full((n, trials), -1)
        self.left = np.full(n, PATCH)

    def rewards(self, t: int, choice: np.ndarray) -> np.ndarray:
        """Return the reward of each session, and take from its patch or go to the next."""
        reward = np.where(choice == 0, self.left, 0.0)
        self.left = np.where(choice == 0, self.left * LEFT, PATCH)
        return reward


@functools.cache
def motion() -> Behaviour:
    """Return choices and times of an observer of noisy motion, whose bias changes from session to session."""
    rng, sessions = np.random.default_rng(SEED), []
    for k in range(SESSIONS):
        coh = rng.choice([-0.5, -0.25, -0.05, 0.05, 0.25, 0.5], TRIALS)
        right = rng.random(TRIALS) < 1 / (1 + np.exp(-6 * coh - 1.5 * np.sin(np.arange(TRIALS) / 25)))
        rt = 0.3 + rng.gamma(3.0, 0.18 / (1 + np.abs(coh)))
        columns = {"stimuli": coh[:, None], "rt": rt, "truth": (coh > 0).astype(int)}
        columns["reward"] = columns["correct"] = (right == (coh > 0)).astype(float)
        sessions.append(session(right.astype(int), name=str(k + 1), **columns))
    return Behaviour(tuple(sessions), ("left", "right"), ("coherence",))


@functools.cache
def clicks() -> Behaviour:
    """Return trials with clicks on the left and on the right, and choices of the side with more."""
    rng = np.random.default_rng(SEED)
    pulses = np.full((TRIALS, 2, 40), np.nan)
    for trial, share in zip(pulses, rng.uniform(0.2, 0.8, TRIALS), strict=True):
        for side, rate in zip(trial, (20 * share, 20 * (1 - share)), strict=True):
            n = min(rng.poisson(rate), 40)
            side[:n] = np.sort(rng.random(n))
    more = (np.isfinite(pulses[:, 1]).sum(1) > np.isfinite(pulses[:, 0]).sum(1)).astype(int)
    made = session(more, pulses=pulses, duration=np.ones(TRIALS), truth=more)
    return Behaviour((made,), ("left", "right"), ())


def blank(n: int) -> Behaviour:
    """Return a table with names of choices alone, for worlds without stimuli."""
    return Behaviour((session(np.zeros(4, int), reward=np.ones(4)),), tuple("ABCD"[:n]), ())


def learner(name: str, n: int) -> Policy:
    """Return a learner with typical parameters: those of `PARAMETERS`, others the means of their priors."""
    from neurogym.behaviour.models.agents import AgentPolicy

    model: Any = MODELS[name].build(name)
    parameters = model.parameters(blank(n))
    typical = PARAMETERS.get(name, {})
    x = [p.unbounded(typical[p.name]) if p.name in typical else p.mean for p in parameters]
    return AgentPolicy(model, parameters, np.array(x), n)


def session_of(name: str, policy: Policy, rng: np.random.Generator) -> Figure:
    """Draw the probability of the second option in a session of a bandit, with choices and rewards."""
    made = simulate.simulate(policy, simulate.ReversingBandit(1, TRIALS, 2, rng), blank(2), rng).sessions[0]
    drawn, axes = new_figure(width=6, height=2.6)
    axes.step(np.arange(TRIALS), made.truth, color=GREY, linestyle=":", where="mid", label="better option")
    axes.plot(predict(policy, [made])[0][:, 1], color=COLOURS[0], label=f"{name}: P(B)")
    for reward, colour, label in ((1, COLOURS[1], "rewarded"), (0, GREY, "not rewarded")):
        rows = np.flatnonzero(made.reward == reward)
        axes.plot(rows, 1.16 * made.choice[rows] - 0.08, "|", color=colour, markersize=6, label=f"choice, {label}")
    axes.set(xlabel="trial", ylabel="P(B)", ylim=(-0.14, 1.14))
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return drawn


def stays(name: str, policy: Policy, rng: np.random.Generator) -> Figure:
    """Draw how often the first choice of a two-step task is repeated, by reward and transition."""
    made = simulate.simulate(policy, simulate.TwoStepWorld(60, 200, rng), blank(2), rng)
    rows = [
        (each.choice[1:] == each.choice[:-1], each.reward[:-1], each.state[:-1] == each.choice[:-1])
        for each in made.sessions
    ]
    stay, reward, common = (np.concatenate(each) for each in zip(*rows, strict=True))
    drawn, axes = new_figure(width=4, height=2.8)
    for k, label in enumerate(("common", "rare")):
        means = [stay[(reward == won) & (common != bool(k))].mean() for won in (1, 0)]
        axes.bar(np.arange(2) + 0.38 * k - 0.19, means, 0.36, color=COLOURS[k], label=f"{label} transition")
    axes.set_xticks((0, 1), ("rewarded", "not rewarded"))
    axes.set(ylabel="P(same first choice)", ylim=(0.4, None), title=name)
    axes.legend()
    return drawn


def shares(made: Behaviour, rows: Callable[[Any], Any], labels: list[str], ylabel: str, title: str) -> Figure:
    """Draw shares over trials, averaged over sessions and five trials.

    Args:
        made: many sessions.
        rows: returns the share of each label in a session, shape (labels, trials); nan where there is none.
        labels: of the lines.
        ylabel: of the axis.
        title: of the figure.
    """
    every = np.nanmean([rows(each) for each in made.sessions], 0)
    drawn, axes = new_figure(width=5, height=2.8)
    for k, (values, label) in enumerate(zip(every, labels, strict=True)):
        axes.plot(np.convolve(values, np.ones(5) / 5, "valid"), color=COLOURS[k], label=label)
    axes.set(xlabel="trial", ylabel=ylabel, ylim=(-0.02, 1.02), title=title)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return drawn


def decks(name: str, policy: Policy, rng: np.random.Generator) -> Figure:
    """Draw choices of the four decks of the Iowa gambling task over trials."""
    made = simulate.simulate(policy, simulate.iowa(200, 100, rng), blank(4), rng)
    labels = ["A (poor)", "B (poor)", "C (good)", "D (good)"]
    return shares(made, lambda s: s.choice == np.arange(4)[:, None], labels, "share of choices", name)


def go(name: str, policy: Policy, rng: np.random.Generator) -> Figure:
    """Draw how often each cue of a go/no-go task is answered."""
    made = simulate.simulate(policy, simulate.GoNoGoWorld(400, 160, rng), blank(2), rng)
    labels = ["go to win", "go to avoid loss", "no-go to win", "no-go to avoid loss"]
    return shares(
        made, lambda s: np.where(s.cue == np.arange(4)[:, None], s.choice, np.nan), labels, "share of go", name
    )


def leaving(name: str, policy: Policy, rng: np.random.Generator) -> Figure:
    """Draw the share of patches left after each number of harvests."""
    made = simulate.simulate(policy, Patches(100, 200), blank(2), rng)
    visits, left = np.zeros(HARVESTS), np.zeros(HARVESTS)
    for each in made.sessions:
        harvests = 0
        for choice in each.choice:
            if harvests < HARVESTS:
                visits[harvests] += 1
                left[harvests] += choice
            harvests = 0 if choice else harvests + 1
    reached = visits > 20
    drawn, axes = new_figure(width=4, height=2.8)
    axes.plot(np.flatnonzero(reached), left[reached] / visits[reached], "o-", color=COLOURS[0])
    axes.set(xlabel=f"harvests in the patch (each pays {LEFT:g} of the last)", ylabel="P(leave)", title=name)
    axes.set(ylim=(-0.02, 1.02))
    return drawn


def curve(name: str, policy: Policy, table: Behaviour) -> Figure:
    """Draw choices by stimulus, or by the difference of pulses, and the curve of a model."""
    pulses = np.isfinite(table.join("pulses")).sum(2)
    x = table.join("stimuli")[:, 0] if table.stimuli else np.round((pulses[:, 1] - pulses[:, 0]) / 3) * 3
    p, levels = np.concatenate(predict(policy, table.sessions))[:, 1], np.unique(x)
    drawn, axes = new_figure(width=4, height=2.8)
    for values, mark, colour, label in (
        (table.join("choice"), "o", "black", "simulated subject"),
        (p, "-", COLOURS[0], name),
    ):
        axes.plot(levels, [values[x == level].mean() for level in levels], mark, color=colour, label=label)
    axes.set(xlabel=table.stimuli[0] if table.stimuli else "clicks on the right - on the left", ylabel="P(right)")
    axes.set(ylim=(-0.02, 1.02))
    axes.legend()
    return drawn


def along(name: str, fit: Fitted, key: str, ylabel: str) -> Figure:
    """Draw an array of a fit over the trials of the first session."""
    values = fit.details[key][:, 0] if key == "weights" else fit.details[key][0]
    names = fit.details["names"] if key == "weights" else [f"state {k + 1}" for k in range(values.shape[1])]
    drawn, axes = new_figure(width=6, height=2.6)
    for k, label in enumerate(names):
        axes.plot(values[:, k], color=COLOURS[k], label=str(label))
    axes.set(xlabel="trial", ylabel=ylabel, title=name)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return drawn


def times(name: str, fit: Fitted, table: Behaviour, rng: np.random.Generator) -> Figure:
    """Draw reaction times of correct choices and errors, of the subject and of the fitted model."""
    rows = [fit.policy.simulate(table.sessions, rng) for _ in range(20)]
    choice, rt = (np.concatenate([row[k] for each in rows for row in each]) for k in range(2))
    truth = np.tile(table.join("truth"), 20)
    edges = np.linspace(0, 1.6, 33)
    drawn, axes = new_figure(width=5, height=2.8)
    for sign, word, colour in ((1, "correct", COLOURS[0]), (-1, "errors", COLOURS[1])):
        seen = table.join("rt")[(table.join("choice") == table.join("truth")) == (sign > 0)]
        density = np.histogram(seen, edges)[0] / len(table.join("rt")) / np.diff(edges)
        axes.stairs(sign * density, edges, fill=True, color=colour, alpha=0.3, label=f"{word}, simulated subject")
        model = np.histogram(rt[(choice == truth) == (sign > 0)], edges)[0] / len(rt) / np.diff(edges)
        axes.plot((edges[1:] + edges[:-1]) / 2, sign * model, color=colour, label=f"{word}, {name}")
    axes.set(xlabel="reaction time (s)", ylabel="density (1/s); errors downwards")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return drawn


TWO_STEP = (stays, 2, "in the two-step task: how often the first choice is repeated")
IOWA = (decks, 4, "in the Iowa gambling task: mean of 200 sessions")
#: Function, options and task of learners that are not drawn in a bandit.
LEARNERS: dict[str, tuple[Callable[[str, Policy, np.random.Generator], Figure], int, str]] = {
    **dict.fromkeys(("model-free", "model-based", "hybrid"), TWO_STEP),
    **dict.fromkeys(("pvl-delta", "vpp", "orl"), IOWA),
    "go-no-go": (go, 2, "in a go/no-go task with four cues: mean of 400 sessions"),
    "forager": (leaving, 2, "among patches that pay less with each harvest"),
}


def fitted(name: str, table: Behaviour, **arguments: object) -> Fitted:
    """Return a fit of a model without intervals."""
    return MODELS[name].build(name, **arguments).fit([Problem(table, SEED, intervals=False)])[0]


def example(site: Site, name: str) -> str:
    """Return the picture of a model with how it was made."""
    with styled():
        drawn, said = _drawn(name, np.random.default_rng(SEED))
        path = site.picture(f"models/{name}", drawn)
    return figure(Path(path).name, said, said)


def _drawn(name: str, rng: np.random.Generator) -> tuple[Figure, str]:
    """Return the picture of a model and what it shows."""
    fits = f"Fitted to {SESSIONS * TRIALS} trials of a simulated subject"
    if name in ("bias", "logistic"):
        return curve(name, fitted(name, motion()).policy, motion()), f"{fits}: choices by strength of motion."
    if name in ("ddm", "lba"):
        return times(name, fitted(name, motion()), motion(), rng), f"{fits}: reaction times."
    if name == "psytrack":
        fit = fitted(name, motion(), history=0)
        return along(name, fit, "weights", "weight (logit)"), f"{fits}: weights along a session."
    if name == "glm-hmm":
        fit = fitted(name, motion(), states=2, history=0)
        return along(name, fit, "states", "P(state)"), f"{fits}: hidden states along a session."
    if name == "accumulator":
        likelihood: Any = MODELS[name].build(name).posterior(Problem(clicks()))
        policy = likelihood.policy(np.array([each.mean for each in likelihood.parameters]))
        return curve(name, policy, clicks()), "Typical parameters: choices by the difference of clicks."
    if "seeds" in MODELS[name].arguments:
        few = {"latents": 2} if name == "disentangled" else {}
        trials = TRIALS // 2 if few else TRIALS  # a disentangled network takes longest
        seen = simulate.simulate(learner("q-learning", 2), simulate.ReversingBandit(2, trials, 2, rng), blank(2), rng)
        said = f"Fitted to {2 * trials} trials of a simulated learner, then acting in a bandit with two options."
        return session_of(name, fitted(name, seen, seeds=1, **few).policy, rng), said
    draw, n, task = LEARNERS.get(name, (session_of, 2, "in a bandit with two options that change roles"))
    return draw(name, learner(name, n), rng), f"Simulated with typical parameters {task}."
