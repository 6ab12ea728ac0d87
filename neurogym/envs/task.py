"""Everything that the heading of a task needs: base classes, rule, metadata, spaces, and the usual arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from neurogym import rules, spaces
from neurogym.ceilings.effects import ObserverSettings
from neurogym.compat import trial_env
from neurogym.compat.members import ConditionValues, without_periods
from neurogym.compat.trial_env import NOW
from neurogym.core import TrialEnv
from neurogym.messages.names import unknown
from neurogym.metadata import TaskInfo
from neurogym.parameters.arguments import AtLeastTwo, Count, NonNegative, Positive, Probability, Range
from neurogym.rules import Jump, Rule
from neurogym.sampling.distributions import Distribution, Patterns, Vectors
from neurogym.scores import Score
from neurogym.spaces import Action
from neurogym.trials import Info, Period, Rows, StepResult, Trials

__all__ = [
    "Action",
    "AtLeastTwo",
    "ChoiceTask",
    "ConditionValues",
    "Count",
    "Distribution",
    "Info",
    "Jump",
    "NOW",
    "NonNegative",
    "ObserverSettings",
    "Patterns",
    "Period",
    "Positive",
    "Probability",
    "ProgrammedTask",
    "Range",
    "Rows",
    "Rule",
    "Score",
    "StepResult",
    "TaskInfo",
    "Tracking",
    "TrialEnv",
    "Trials",
    "Vectors",
    "rules",
    "spaces",
    "unknown",
    "usual_arguments",
    "without_periods",
]

Constructor = Callable[..., None]
#: Base of tasks that program their steps in ``_step``.
ProgrammedTask = trial_env.TrialEnv


class ChoiceTask(TrialEnv):
    """Base of tasks that ask for fixation in the period ``fixation`` and for one answer in the period ``decision``.

    Anything but waiting earns ``abort`` during fixation; the first answer earns ``correct`` or ``fail``, none ``miss``.
    """

    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0}
    rule = Rule(fixate=("fixation",), answer=("decision",))


def usual_arguments(
    dt: float = 100,
    abort: bool = True,
    first: Sequence[str] = (),
    tables: Sequence[str] = ("rewards", "timing"),
    defaults: Callable[..., Mapping[str, object]] | None = None,
) -> Callable[[Constructor], Constructor]:
    """Add the usual arguments to the constructor of a task, which names only the special arguments.

    ``dt`` and the tables come before and ``abort`` after; they go to :class:`TrialEnv`, whose constructor has run when
    that of the task begins. ``inspect.signature`` shows all of them. A constructor that names a table receives it, too.

    Args:
        dt: Default time step (ms).
        abort: Whether the task has the argument ``abort``.
        first: Own arguments that come before the tables, as scripts give them by position.
        tables: Tables of values that replace defaults, ``rewards`` and ``timing``, in the order of arguments.
        defaults: Takes the own arguments and returns what replaces attributes of the class, such as ``default_timing``.

    >>> class Task(TrialEnv):
    ...     @usual_arguments(dt=20)
    ...     def __init__(self, sigma: float = 1.0):
    ...         self.sigma = sigma
    >>> list(inspect.signature(Task).parameters)
    ['dt', 'rewards', 'timing', 'sigma', 'abort']
    """
    usual = inspect.signature(TrialEnv.__init__).parameters
    shared = ["dt", *tables, *(["abort"] if abort else [])]

    def decorate(constructor: Constructor) -> Constructor:
        this, *parameters = inspect.signature(constructor).parameters.values()
        early = [p for p in parameters if p.name in first]
        late = [p for p in parameters if p.name not in (*first, *tables)]
        order = (this, usual["dt"].replace(default=dt), *early, *(usual[name] for name in tables), *late)
        order += (usual["abort"],) if abort else ()
        signature = inspect.Signature([p.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for p in order])

        @functools.wraps(constructor)
        def __init__(*args: object, **kwargs: object) -> None:
            arguments = signature.bind(*args, **kwargs)
            arguments.apply_defaults()
            self, values = arguments.args[0], arguments.arguments
            if defaults is not None:
                vars(self).update(defaults(**{p.name: values[p.name] for p in parameters}))
            TrialEnv.__init__(self, **{name: values[name] for name in shared})
            constructor(self, **{p.name: values[p.name] for p in parameters})

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        return __init__

    return decorate


class Tracking(ProgrammedTask):
    """Base of tasks in which every output has a target at every step, the ground truth.

    An output is right within ``tolerance`` of the target. Performance is the share of right outputs over the trial. The
    reward of a step falls linearly with the error from ``correct`` (no error) to ``fail`` (an error of ``unpaid`` or
    more), averaged over the outputs and divided by the steps of the trial, so that a perfect trial earns ``correct``.

    Attributes:
        tolerance: Largest error of a right output, in units of the output.
        unpaid: Smallest error that earns nothing, in units of the output.
    """

    default_rewards = {"correct": 1.0, "fail": 0.0}
    tolerance: float = 1.0
    unpaid: float = 1.0

    def _step(self, action: Action) -> StepResult:
        error = np.abs(np.asarray(action, float) - self.gt_now)
        steps = len(self.gt)
        self.performance += float((error < self.tolerance).mean()) / steps
        if self.session.cursor.at_end:
            self.report()
        correct, fail = self.rewards["correct"], self.rewards["fail"]
        close = float(np.maximum(1 - error / self.unpaid, 0).mean())
        return self.ob_now, (fail + (correct - fail) * close) / steps, False, False, {"new_trial": False}
