"""Contracts of users' own wrappers, algorithms, figures and models; each check finds a typical mistake."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from neurogym.behaviour.models.base import Fitted, Model, Policy, Problem, UnfitError, predict
from neurogym.behaviour.table import Behaviour, session
from neurogym.envs.contract import ContractError, NothingToCheck, wrapped
from neurogym.envs.contract.subject import require
from ngym_cli import runs
from ngym_cli.agents.algorithms import find_algorithm
from ngym_cli.api.trained import Run
from ngym_cli.config.model import RunConfig, from_dict
from ngym_cli.config.tasks import find_task
from ngym_cli.environments.stack import find_wrapper, keyword_parameters, make_env
from ngym_cli.errors import UserError
from ngym_cli.fitting import registry
from ngym_cli.training import main_loop

if TYPE_CHECKING:
    import gymnasium as gym


#: Task with which parts are tried.
EXAMPLE_TASK = "RDM-v0"
#: A short run, interrupted at the first evaluation to try whether it can be continued.
SHORT: dict[str, object] = {
    "task": EXAMPLE_TASK,
    "n_envs": 4,
    "units": 8,
    "timesteps": 4096,
    "evaluation": {"every": 2048, "trials": 20},
}


class PartSubject:
    """A user's own wrapper, algorithm, figure or model of behaviour under test.

    Args:
        name: reference of the part.
        entry: class or function.
    """

    def __init__(self, name: str, entry: Callable[..., object]):
        self.name, self.entry = name, entry
        self._weights: dict[str, bytes] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="ngym-check-")

    def config(self, **settings: object) -> RunConfig:
        """Return the configuration of a short run; algorithms with rollouts get short ones."""
        defaults = find_algorithm(from_dict({**SHORT, **settings}).alg).defaults
        usual = {key: value for key, value in {"n_steps": 32, "learning_starts": 64}.items() if key in defaults}
        return from_dict({**SHORT, "hyperparameters": usual, **settings})

    def train(self, name: str, stop: bool = False, **settings: object) -> runs.RunFolder:
        """Train a short run in a temporary folder; with ``stop``, interrupt and continue the run.

        Raises:
            ContractError: if the run fails.
        """
        watch = (lambda step, numbers: "stopped for a check" if step < SHORT["timesteps"] else None) if stop else None
        try:
            hooks = main_loop.Hooks(watch=watch)
            run = main_loop.train(self.config(**settings), Path(self._folder.name), name, True, hooks).run
            return main_loop.resume(run, True).run if stop else run
        except UserError as error:
            raise ContractError(str(error)) from error

    def weights(self, name: str, stop: bool = False, **settings: object) -> bytes:
        """Return the weights after a short run of this name, as a file holds them; a run is made once."""
        if name not in self._weights:
            run = self.train(name, stop, **settings)
            self._weights[name] = b"".join(path.read_bytes() for path in sorted(run.path.glob("model/*.safetensors")))
        return self._weights[name]

    @cached_property
    def figure_run(self) -> Run:
        """A run to draw."""
        return Run(self.train("figure").path, trust=True)

    @cached_property
    def model(self) -> Model:
        """The model of behaviour.

        Raises:
            ContractError: if the model cannot be made.
        """
        try:
            return registry.own(self.name)
        except UserError as error:
            raise ContractError(str(error).removeprefix(f"model {self.name}: ")) from error

    @cached_property
    def behaviour(self) -> Behaviour:
        """Two sessions of random choices with rewards, graded evidence and missed trials."""
        rng = np.random.default_rng(0)
        outcomes = []
        for name in ("1", "2"):
            coh, choice = rng.choice([-0.2, 0.0, 0.2], 50), rng.integers(0, 2, 50)
            choice[[0, 20]] = -1
            reward = np.where(choice == (coh > 0), 1.0, 0.0)
            outcomes.append(session(choice, name=name, stimuli=coh[:, None], reward=reward))
        return Behaviour((), stimuli=("coh",)).only(outcomes)

    def fit(self) -> Fitted:
        """Return a fit to the random choices.

        Raises:
            ContractError: if the model does not suit the choices or returns something else than a fit.
            NothingToCheck: if the model reads a stimulus of another name.
        """
        try:
            fits = self.model.fit([Problem(self.behaviour)])
        except UnfitError as error:
            raise ContractError(str(error)) from error
        except (IndexError, KeyError) as error:
            raise NothingToCheck(
                f"the model reads something else ({error}); the trials of this check have the stimulus 'coh'"
            ) from error
        require(len(fits) == 1 and isinstance(fits[0], Fitted), "fit(problems) must return a Fitted for each problem")
        return fits[0]

    @cached_property
    def fitted(self) -> Fitted:
        """A fit to the random choices."""
        return self.fit()

    def probabilities(self, policy: Policy, table: Behaviour | None = None) -> np.ndarray:
        """Return the probabilities of the choices of all trials, shape (trials, choices)."""
        return np.concatenate(predict(policy, (table or self.behaviour).sessions))

    def make_env(self) -> gym.Env:
        """Return the example task inside the wrapper."""
        try:
            return make_env(find_task(EXAMPLE_TASK), self.config(wrappers=self.name))
        except UserError as error:
            raise ContractError(str(error).removeprefix(f"wrapper {self.name}: ")) from error


def wrapper_made(subject: PartSubject) -> None:
    """The wrapper can be put around a task with its default arguments."""
    arguments = keyword_parameters(find_wrapper(subject.name)) or {}
    missing = [name for name, default in arguments.items() if default is inspect.Parameter.empty and name != "env"]
    require(not missing, f"argument {', '.join(missing)} of __init__ has no default; add one to check the wrapper")
    subject.make_env()


def wrapper_steps(subject: PartSubject) -> None:
    """Reset returns (observation, info), and step returns five values with a finite reward."""
    wrapped.returned_values(subject.make_env)


def wrapper_spaces(subject: PartSubject) -> None:
    """Observations have the shape, type and range of the wrapper's observation space."""
    wrapped.observations(subject.make_env)


def wrapper_trials(subject: PartSubject) -> None:
    """The end of each trial is reported in info, as the task reports it."""
    wrapped.ends_of_trials(subject.make_env)


def wrapper_repeatable(subject: PartSubject) -> None:
    """The same seed gives the same observations and rewards."""
    wrapped.repeatable(subject.make_env)


def wrapper_trained(subject: PartSubject) -> None:
    """A short run with the wrapper is trained and evaluated."""
    subject.train("trained", wrappers=subject.name)


def wrapper_resumed(subject: PartSubject) -> None:
    """An interrupted and continued run ends with the same weights as an uninterrupted one."""
    _same_after_interruption(subject, "wrappers")


def algorithm_trained(subject: PartSubject) -> None:
    """A short run is trained and evaluated, and changes the weights."""
    first = subject.weights("first", alg=subject.name, timesteps=2048)
    require(first != subject.weights("whole", alg=subject.name), "training does not change the weights")


def algorithm_repeatable(subject: PartSubject) -> None:
    """The same seed gives the same weights."""
    first, second = (subject.weights(name, alg=subject.name) for name in ("whole", "again"))
    require(first == second, "the same seed gives other weights; draw from torch's or NumPy's global generator")


def algorithm_resumed(subject: PartSubject) -> None:
    """An interrupted and continued run ends with the same weights as an uninterrupted one."""
    _same_after_interruption(subject, "alg")


def _same_after_interruption(subject: PartSubject, kind: str) -> None:
    uninterrupted, resumed = (subject.weights(name, name == "cut", **{kind: subject.name}) for name in ("whole", "cut"))
    how = "own_state() and set_own_state(state)" if kind == "alg" else "plain attributes of the wrapper"
    same = uninterrupted == resumed
    require(same, f"an interrupted run continues in another way; keep what training depends on in {how}")


def figure_drawn(subject: PartSubject) -> None:
    """The figure of a short run is drawn and not empty."""
    try:
        subject.figure_run.plot(subject.name)
    except UserError as error:
        raise ContractError(str(error)) from error


def figure_settings(subject: PartSubject) -> None:
    """Drawing leaves Matplotlib's global settings and the list of open figures alone."""
    import matplotlib as mpl
    from matplotlib import pyplot

    before, opened = dict(mpl.rcParams), pyplot.get_fignums()
    subject.figure_run.plot(subject.name)
    changed = [key for key, value in mpl.rcParams.items() if before[key] != value and key != "backend"]
    require(not changed, f"drawing changes rcParams {', '.join(changed[:3])}; use matplotlib.rc_context")
    n_opened = len(pyplot.get_fignums()) - len(opened)
    require(n_opened <= 0, "the figure stays open; make it with ngym_cli.figures.style.new_figure, not with pyplot")


def model_made(subject: PartSubject) -> None:
    """The model can be made: a class with fit(problems), as every learner has."""
    require(callable(subject.model.fit), "the model has no method fit(problems)")


def model_fitted(subject: PartSubject) -> None:
    """A fit to random choices gives probabilities of the choices for every trial, missed trials included."""
    probabilities = subject.probabilities(subject.fitted.policy)
    valid = np.isfinite(probabilities).all() and (probabilities >= 0).all()
    require(valid, "probabilities of choices are negative or not finite")
    require(np.allclose(probabilities.sum(1), 1), "probabilities of the choices of a trial do not add up to 1")


def model_repeatable(subject: PartSubject) -> None:
    """The same choices and seed give the same fit."""
    first, second = (subject.probabilities(fit.policy) for fit in (subject.fitted, subject.fit()))
    require(np.allclose(first, second), "two fits with the same seed differ; draw from default_rng(problem.seed)")


def model_kept(subject: PartSubject) -> None:
    """A fitted policy can be written as arrays and read again."""
    policy = subject.fitted.policy
    again = subject.model.from_arrays(subject.model.to_arrays(policy), subject.behaviour)
    same = np.allclose(subject.probabilities(policy), subject.probabilities(again))
    require(same, "from_arrays(to_arrays(policy)) gives other probabilities")


Check = Callable[[PartSubject], None]

#: Checks of each kind of part in the order in which they are made.
CHECKS: dict[str, Sequence[Check]] = {
    "wrapper": (
        *(wrapper_made, wrapper_steps, wrapper_spaces, wrapper_trials, wrapper_repeatable),
        *(wrapper_trained, wrapper_resumed),
    ),
    "algorithm": (algorithm_trained, algorithm_repeatable, algorithm_resumed),
    "figure": (figure_drawn, figure_settings),
    "model": (model_made, model_fitted, model_repeatable, model_kept),
}
#: Checks after whose failure no further check is made, and checks that only advise.
BASIC = (*CHECKS["wrapper"][:-1], *CHECKS["algorithm"][:-1], figure_drawn, model_made, model_fitted)
ADVICE = (figure_settings,)
