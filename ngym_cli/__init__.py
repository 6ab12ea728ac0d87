"""The experiment runner of ngym: configuration, training, recording, evaluation and figures behind one command.

``ngym_cli.load("runs/...")`` returns the trained agent of a run, see `ngym_cli.agents.loading`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ngym_cli.agents.algorithms.recurrent_a2c import RecurrentA2C
    from ngym_cli.agents.algorithms.recurrent_ppo import RecurrentPPO
    from ngym_cli.agents.algorithms.reinforce import Reinforce
    from ngym_cli.agents.loading import load
    from ngym_cli.agents.networks.cell import Cell
    from ngym_cli.agents.supervised.learner import Supervised
    from ngym_cli.fitting.requests import fit

__all__ = ["Cell", "RecurrentA2C", "RecurrentPPO", "Reinforce", "Supervised", "fit", "load"]


#: Public names and the modules that define them; imported on first use, because some of them need torch.
_MODULES = {
    "fit": "ngym_cli.fitting.requests",
    "Cell": "ngym_cli.agents.networks.cell",
    "RecurrentA2C": "ngym_cli.agents.algorithms.recurrent_a2c",
    "RecurrentPPO": "ngym_cli.agents.algorithms.recurrent_ppo",
    "Reinforce": "ngym_cli.agents.algorithms.reinforce",
    "Supervised": "ngym_cli.agents.supervised.learner",
    "load": "ngym_cli.agents.loading",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use.

    Raises:
        ImportError: if a package of the extra ``run`` is missing; says how to install it.
    """
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        return getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing == __name__:
            raise
        message = f"{missing} is not installed, which ngym_cli.{name} needs: pip install 'ngym[run]'"
        raise ImportError(message, name=missing) from error


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
