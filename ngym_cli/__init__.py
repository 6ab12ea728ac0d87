"""Experiment runner of ngym: configuration, training, recording, evaluation and figures behind a single command.

From Python, with the names of the command line:

    import ngym_cli as nc

    run = nc.train("RDM-v0", "pass_reward,pass_action", network=MyCell, timesteps=2e5)  # names or classes of your own
    run.trials, run.evaluations[0].trials
    run.evaluate(task_args={"cohs": [4, 20]}).plot("psychometric")
    nc.sweep({"task": "RDM-v0"}, network=["lstm", "gru"], seed=range(5)).results
    nc.data(frame).plot("psychometric")  # a DataFrame, a dict of arrays, a list of dicts or a path
    nc.fit(frame, model=["gru", "logistic"]).scores
    nc.simulate(nc.fit("rat.csv", "gru"), "RDM-v0").evaluations[0].trials
    nc.load("latest"), nc.reproduce("roitman2002")
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # "as" lets type checkers see that the names are public
    from ngym_cli.agents.algorithms.recurrent_a2c import RecurrentA2C as RecurrentA2C
    from ngym_cli.agents.algorithms.recurrent_a2c import Reinforce as Reinforce
    from ngym_cli.agents.algorithms.recurrent_ppo import RecurrentPPO as RecurrentPPO
    from ngym_cli.agents.networks.cell import Cell as Cell
    from ngym_cli.agents.supervised.learner import Supervised as Supervised
    from ngym_cli.api.commands import (
        check as check,
    )
    from ngym_cli.api.commands import (
        diff as diff,
    )
    from ngym_cli.api.commands import (
        evaluate as evaluate,
    )
    from ngym_cli.api.commands import (
        export as export,
    )
    from ngym_cli.api.commands import (
        info as info,
    )
    from ngym_cli.api.commands import (
        list as list,
    )
    from ngym_cli.api.commands import (
        plot as plot,
    )
    from ngym_cli.api.commands import (
        watch as watch,
    )
    from ngym_cli.api.evaluation import Comparison as Comparison
    from ngym_cli.api.evaluation import Evaluation as Evaluation
    from ngym_cli.api.evaluation import compare as compare
    from ngym_cli.api.loading import load as load
    from ngym_cli.api.sweeps import Reproduction as Reproduction
    from ngym_cli.api.sweeps import Sweep as Sweep
    from ngym_cli.api.sweeps import reproduce as reproduce
    from ngym_cli.api.sweeps import sweep as sweep
    from ngym_cli.api.tables import Fit as Fit
    from ngym_cli.api.tables import data as data
    from ngym_cli.api.tables import fit as fit
    from ngym_cli.api.trained import Run as Run
    from ngym_cli.api.training import resume as resume
    from ngym_cli.api.training import simulate as simulate
    from ngym_cli.api.training import train as train
    from ngym_cli.errors import UserError as UserError
    from ngym_cli.figures.registry import figure as figure


#: Public names by the module that defines them; imported on first use, because some of them need torch.
_DEFINED_IN = {
    "ngym_cli.agents.algorithms.recurrent_a2c": ("RecurrentA2C", "Reinforce"),
    "ngym_cli.agents.algorithms.recurrent_ppo": ("RecurrentPPO",),
    "ngym_cli.agents.networks.cell": ("Cell",),
    "ngym_cli.agents.supervised.learner": ("Supervised",),
    "ngym_cli.api.commands": ("check", "diff", "evaluate", "export", "info", "list", "plot", "watch"),
    "ngym_cli.api.evaluation": ("Comparison", "Evaluation", "compare"),
    "ngym_cli.api.tables": ("Fit", "data", "fit"),
    "ngym_cli.api.sweeps": ("Reproduction", "Sweep", "reproduce", "sweep"),
    "ngym_cli.api.loading": ("load",),
    "ngym_cli.api.trained": ("Run",),
    "ngym_cli.api.training": ("resume", "simulate", "train"),
    "ngym_cli.errors": ("UserError",),
    "ngym_cli.figures.registry": ("figure",),
}

_MODULE_OF = {name: module for module, names in _DEFINED_IN.items() for name in names}
__all__ = sorted(_MODULE_OF)


if not TYPE_CHECKING:  # or type checkers would accept every name

    def __getattr__(name: str) -> Any:
        """Import a public name on first use.

        Raises:
            ImportError: if a package of the extra ``run`` is missing; says how to install it.
        """
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        try:
            return getattr(import_module(_MODULE_OF[name]), name)
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if missing == __name__:
                raise
            message = f"{missing} is not installed, which ngym_cli.{name} needs: pip install 'ngym[run]'"
            raise ImportError(message, name=missing) from error


def __dir__() -> builtins.list[str]:
    return sorted([*(name for name in globals() if name.startswith("__")), *_MODULE_OF])
