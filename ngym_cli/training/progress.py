"""Live display of a run: progress, time left, and performance next to chance, baseline and ceiling."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from typing import cast

from gymnasium.spaces import Box
from rich.console import Console, Group

from ngym_cli.agents.algorithms import ALGORITHMS, check_pairing, find_algorithm
from ngym_cli.agents.defaults import DEFAULT_UNITS, default_steps
from ngym_cli.agents.networks import NETWORKS
from ngym_cli.agents.per_task import LineResult, has_own_stages, learner_of, measured
from ngym_cli.config.model import ResolvedConfig, RunConfig
from ngym_cli.config.tasks import LAST_OUTCOME, Recommended, default_settings, recommended, usual_algorithm
from ngym_cli.environments.properties import TaskProperties
from ngym_cli.errors import UserError, option
from ngym_cli.runs.records import Summary
from ngym_cli.runs.summary import breaks_of, performance_of
from ngym_cli.terminal import LiveView, left_in_words, progress_bars, reference_word

#: Seconds of training before which the speed says little about the time left: the first steps include preparations.
WARM_UP_SECONDS = 2.0


def actions_in_words(deterministic: bool) -> str:
    """Return how an agent selects actions, in words."""
    return "most probable actions" if deterministic else "sampled actions"


class Display:
    """Interface of the displays of a run's progress; this one shows nothing."""

    def start(self, step: int = 0) -> None:
        """Begin, at a step."""

    def update(self, step: int, numbers: Mapping[str, object]) -> None:
        """Show the state after ``step`` steps; ``numbers`` as in ``ngym_cli.runs.summary.summarise`` and more.

        Among the latter are ``fixation_breaks`` in words.
        """

    def evaluating(self, finished: int, total: int) -> None:
        """Show the number of finished trials of an evaluation."""

    def evaluated(self, seconds: float) -> None:
        """Show training again after an evaluation of the given duration."""

    def say(self, text: str) -> None:
        """Show a line of text above the live display."""

    def stop(self) -> None:
        """End."""


class LiveDisplay(Display):
    """A bar and a line of numbers in a terminal or a notebook; plain lines now and then elsewhere.

    Args:
        console: console to draw on.
        total: steps of the whole run.
        references: performance of random choices, of the best agent without stimulus and of the best agent, by name.
        deterministic: whether the agent takes the most probable actions in training.
        expected: expected seconds of the whole run, shown until the speed is known; None: nothing is shown till then.
    """

    def __init__(
        self,
        console: Console,
        total: int,
        references: Mapping[str, float | None],
        deterministic: bool = False,
        expected: float | None = None,
    ):
        self.expected = expected
        self.actions = actions_in_words(deterministic)
        self.total = total
        self.references = dict(references)
        self._view = LiveView(console)
        self._bars = progress_bars(console)
        self._training = self._bars.add_task("training", total=total, text="")
        self._evaluation = self._bars.add_task("evaluating", visible=False, text="")
        self._picture = Group(self._bars)
        self._step = self._first = 0
        self._began = time.monotonic()
        self._evaluations = 0.0

    def start(self, step: int = 0) -> None:
        """Begin to draw, at a step."""
        self._first = self._step = step
        self._began = time.monotonic()
        if self._view.draws:
            text = f"{step:,} of {self.total:,} steps {self._left()}".rstrip()
            self._bars.update(self._training, completed=step, text=text)
            self._view.show(self._picture, force=True)

    def _trained(self) -> float:
        return max(time.monotonic() - self._began - self._evaluations, 1e-9)

    @property
    def speed(self) -> float:
        """Steps per second of training so far, evaluations left out."""
        return (self._step - self._first) / self._trained()

    def _left(self) -> str:
        """Return the time left in words, evaluations included; at first as expected, empty if that is unknown."""
        steps = self._step - self._first
        if not steps or self._trained() < WARM_UP_SECONDS:
            if self.expected is None or not self.total:
                return ""
            spent = time.monotonic() - self._began
            return left_in_words(max(self.expected * (1 - self._first / self.total) - spent, 0))
        return left_in_words(max(self.total - self._step, 0) * (time.monotonic() - self._began) / steps)

    def update(self, step: int, numbers: Mapping[str, object]) -> None:
        """Draw the state after ``step`` steps."""
        self._step = step
        first, *rest = self._numbers({**numbers, "steps_per_second": self.speed})
        steps, left = f"{min(step, self.total):,} of {self.total:,} steps", self._left()
        self._bars.update(self._training, completed=min(step, self.total), text=f"{steps} {left}".rstrip())
        line = f"{steps}, {left}: {', '.join([first, *rest])}" if left else ""
        self._picture = Group(self._bars, first, "   ".join(rest))
        self._view.show(self._picture, line)

    def evaluating(self, finished: int, total: int) -> None:
        """Draw the number of finished trials of an evaluation."""
        text = f"{finished:,} of {total:,} trials"
        self._bars.update(self._evaluation, completed=finished, total=total, text=text, visible=True)
        self._view.show(self._bars, f"evaluating: {text}" if self._trained() >= WARM_UP_SECONDS else "")

    def evaluated(self, seconds: float) -> None:
        """Draw training again."""
        self._evaluations += seconds
        self._bars.update(self._evaluation, visible=False)
        self._view.show(self._picture, force=True)

    def _numbers(self, numbers: Mapping[str, object]) -> list[str]:
        scores = {reference_word(name): numbers.get(name, value) for name, value in self.references.items()}
        references = ", ".join(f"{name} {value:.3f}" for name, value in scores.items() if value is not None)
        trials = f"the last {numbers['trials']:,} trials, {self.actions}"
        stage = f"{numbers['stage']}, " if "stage" in numbers else ""
        reward = f"reward per trial {numbers['reward_per_trial']:.3f}"
        speed = f"{numbers['steps_per_second']:,.0f} steps per second"
        if math.isnan(cast(float, numbers["performance"])):
            return [f"{stage}{reward} over {trials}", speed]
        performance = f"{stage}performance {numbers['performance']:.3f} over {trials}"
        fixation = f"fixation breaks {numbers['fixation_breaks']}"
        return [performance + (f" ({references})" if references else ""), reward, fixation, speed]

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self._view.say(text)

    def stop(self) -> None:
        """Remove the bar, which at last has the steps that were taken."""
        if self._step > self._first:
            ended = "" if self._step >= self.total else ", ended"
            text = f"{min(self._step, self.total):,} of {self.total:,} steps{ended}"
            self._bars.update(self._evaluation, visible=False)
            self._bars.update(self._training, completed=min(self._step, self.total), text=text)
            self._view.show(self._picture, force=True)
        self._view.stop()


#: Share of the ceiling below which a performance calls for advice.
FAR = 0.95

#: Share of trials with a fixation break above which an agent has not learned to wait.
MANY_BREAKS = 0.5

#: Largest bound of continuous actions that a network finds by itself.
LARGEST_ACTION = 10.0

#: Most suggestions of one line.
MAX_SUGGESTIONS = 3


def advance_notice(config: RunConfig | None, properties: TaskProperties) -> str | None:
    """Return one line on what keeps the settings of a run from learning the task, with what to add; None otherwise.

    Args:
        config: configuration before defaults are spelled out; None for a run that is resumed.
        properties: properties of the task.
    """
    if (line := _actions_out_of_reach(properties)) is not None:
        return line
    if properties.lacks_reward:
        return (
            "the task needs the last reward as input, which the agent is not shown "
            f"({_showing_reward(properties)} shows it); the ceiling is that without it"
        )
    if config is None or has_own_stages(config) or properties.task.own:
        return None
    usual = default_settings(properties.id)
    if usual and "stages" in usual.settings and not config.stages and config.alg == usual_algorithm(properties.id):
        return "the default stages of the task are left out, as they change an argument or a period that is given"
    learner = learner_of(config)
    row = measured(properties.id, learner) if learner else None
    needed, better = recommended(properties.id), measured(properties.id, "recommended")
    if row is None or row.learned or learner == "recommended" or not (needed and better and better.learned):
        return None
    does = f"{option('--recommended')} does ({better.share} seeds): {option(needed.words)}"
    return f"these settings were measured not to learn the task ({row.share} seeds); {does}"


def _actions_out_of_reach(properties: TaskProperties) -> str | None:
    """Return a line about continuous actions of a user's own task that networks do not reach at first."""
    space = properties.action_space
    if not (properties.task.own and isinstance(space, Box) and space.is_bounded()):
        return None
    low, high = float(space.low.min()), float(space.high.max())
    if space.low.max() <= 0 <= space.high.min() and max(-low, high) <= LARGEST_ACTION:
        return None
    between = f"actions of the task are between {low:g} and {high:g}, but networks begin near 0 with a spread of 1"
    return f"{between}: let them be between -1 and 1, and scale them in the task"


def advice(config: ResolvedConfig, properties: TaskProperties, evaluation: Summary) -> str | None:
    """Return one line on a performance at chance or far below the ceiling, with what to try; None where all is well.

    Args:
        config: complete configuration of the run.
        properties: properties of the task.
        evaluation: summary of the last evaluation.
    """
    result = shortfall(evaluation)
    if result is None and properties.lacks_reward:
        result = "the best possible performance of an agent that is not shown the last reward"
    if result is None:
        return None
    if has_own_stages(config) or properties.task.several or properties.task.own:
        return result
    tried = [*_suggestions(config, properties)][:MAX_SUGGESTIONS]
    return f"{result}; try {' or '.join(tried)}" if tried else result


def shortfall(evaluation: Summary) -> str | None:
    """Return how far a performance is from chance and ceiling, or None if at most 5 % below the ceiling.

    An agent that breaks fixation in most trials has not learned the task, whatever its performance.

    Args:
        evaluation: summary of an evaluation; performance counts with the interval, if there is one.
    """
    performance, ceiling, breaks = performance_of(evaluation), evaluation.get("ceiling"), breaks_of(evaluation)
    if breaks is not None and breaks.rate > MANY_BREAKS:
        return f"not learned: fixation is broken in {breaks.rate:.0%} of trials"
    score = performance.value
    low, high = (score if math.isnan(end) else end for end in (performance.low, performance.high))
    floors = {"chance": evaluation.get("chance"), "the no-stimulus baseline": evaluation.get("blind")}
    floors_known = {name: value for name, value in floors.items() if value is not None}
    if ceiling is not None and high >= FAR * ceiling:
        return None
    if floors_known:
        name, floor = max(floors_known.items(), key=lambda pair: pair[1])
        if low <= floor:
            return f"not learned: performance {score:.3f} is not above {name} ({floor:.3f})"
    if ceiling is None:
        return None
    return f"performance {score:.3f} is {score / ceiling:.0%} of the ceiling ({ceiling:.3f})"


def _suggestions(config: ResolvedConfig, properties: TaskProperties) -> Iterator[str]:
    """Yield what to try, the most promising first."""
    algorithm = find_algorithm(config.alg)
    if config.network not in NETWORKS:
        yield f"ngym check {config.network} (whether the network learns)"
    needed = recommended(properties.id)
    if needed is not None and not _has(config, needed):
        yield f"{option('--recommended')} (wrappers that the task needs)"
    elif properties.lacks_reward:
        yield f"{_showing_reward(properties)} (the last reward as input)"
    if not algorithm.recurrent and not algorithm.own_class:
        yield f"{option(f'--alg {usual_algorithm(properties.id)}')} (a network with memory)"
        return
    usual, steps = default_steps(config, properties.id), config.timesteps
    if steps < usual:
        yield f"{option(f'--timesteps {usual:_}')} (default of the task)"
    if config.network != algorithm.networks[0]:
        yield option(f"--network {algorithm.networks[0]}")
    row = measured(properties.id, learner_of(config) or "default")
    if row is not None and row.learned and steps >= usual:
        yield f"another {option('--seed')} ({row.share} seeds learn the task)"
    if config.units < DEFAULT_UNITS:
        yield option(f"--units {DEFAULT_UNITS}")
    if steps >= usual:
        yield option(f"--timesteps {2 * steps:_}")
    yield from _other_signal(config, properties)


def _showing_reward(properties: TaskProperties) -> str:
    """Return the flag that shows the agent its last reward."""
    return option("--recommended" if recommended(properties.id) else LAST_OUTCOME.words)


def _has(config: ResolvedConfig, needed: Recommended) -> bool:
    """Return whether a run has the recommended wrappers."""
    wrapper_names = {entry.name for entry in config.wrappers}
    return all(entry["name"] in wrapper_names for entry in needed.settings["wrappers"])


def _other_signal(config: ResolvedConfig, properties: TaskProperties) -> Iterator[str]:
    """Yield an algorithm that learns from another signal, unless measured not to learn the task."""
    supervised = find_algorithm(config.alg).supervised
    alternative = "recurrent_ppo" if supervised else "supervised"
    if alternative not in ALGORITHMS or (
        alternative == "supervised" and "supervised" not in properties.task.metadata.get("tags", ())
    ):
        return
    row: LineResult | None = measured(
        properties.id, "default" if alternative == usual_algorithm(properties.id) else alternative
    )
    if row is not None and not row.reached:
        return
    try:
        check_pairing(find_algorithm(alternative), None, properties.observation_space, properties.action_space)
    except UserError:
        return
    yield f"{option(f'--alg {alternative}')} (learning from {'reward' if supervised else 'the right actions'})"
