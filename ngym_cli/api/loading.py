"""Runs, fits and sweeps as objects, by folder or name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from ngym_cli import runs
from ngym_cli.api.keywords import takes
from ngym_cli.api.sweeps import Sweep
from ngym_cli.api.tables import Fit
from ngym_cli.api.trained import Run
from ngym_cli.runs import finding


@takes()
def load(run: str | Path = "latest", runs_root: str | Path = runs.RUNS_ROOT, trust: bool = False) -> Run:
    """Return a run with trials, evaluations, figures and trained agent; or a fit or a sweep.

    Args:
        run: folder or name of a run, a fit (`ngym_cli.Fit`) or a sweep (`ngym_cli.Sweep`); ``latest`` is a run.
        runs_root: folder of all runs, where ``run`` is a name.
        trust: accept user code named in the run's record.

    Raises:
        UserError: if there is no such run.

    Example:
        >>> run = load("runs/RDM-v0/recurrent_ppo/first")  # doctest: +SKIP
        >>> run.trials  # doctest: +SKIP
        >>> env, state = run.make_env(), None  # doctest: +SKIP
        >>> observation, _ = env.reset(seed=0)  # doctest: +SKIP
        >>> action, state = run.act(observation, state)  # doctest: +SKIP
    """
    for kind, opens in (("sweep", Sweep), ("fit", Fit)):
        path = None if run == runs.LATEST else finding.match(kind, str(run), Path(runs_root))
        if path is not None and finding.kind_of(path) == kind:
            opened: Any = opens(path)
            return cast(Run, opened)  # nearly all are runs, whose attributes editors complete
    return Run(runs.find(str(run), Path(runs_root)).path, trust)
