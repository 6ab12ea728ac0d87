"""New and reopened runs: complete configuration, stages, seeds and folder, checked before anything is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngym_cli import runs
from ngym_cli.agents import defaults
from ngym_cli.agents.defaults import Prepared
from ngym_cli.config.model import ResolvedConfig, RunConfig, streams
from ngym_cli.environments.properties import TaskProperties, inspect
from ngym_cli.errors import UserError, library, option
from ngym_cli.training.curriculum import stages_of
from ngym_cli.training.stopping import Until

if TYPE_CHECKING:
    from ngym_cli.training.curriculum import Stage


def tracking_library(name: str) -> Any:
    """Return the library of a tracking service.

    Raises:
        UserError: if it is not installed; says how to install it.
    """
    return library(name, f"{option(f'--track {name}')} needs {name}", name)


@dataclass(frozen=True)
class ResolvedRun:
    """Everything that a run needs, complete and checked.

    Attributes:
        config: complete configuration.
        properties: measured properties of the task that is to be learned: that of the last stage.
        stages: stages of a curriculum, in order; empty without.
        seeds: seed of each random stream.
        path: run folder.
        is_named: whether the user chose the name of the folder.
        overwrite: replace a run of that name.
        init_from: folder of the run whose weights initialise the network, or None.
        until: criterion on evaluations that ends the run, or None.
    """

    config: ResolvedConfig
    properties: TaskProperties
    stages: tuple[Stage, ...]
    seeds: Mapping[str, int]
    path: Path
    is_named: bool = True
    overwrite: bool = False
    init_from: str | None = None
    until: Until | None = None

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The configuration as plain data."""
        return self.config.model_dump()

    @cached_property
    def toml(self) -> str:
        """The configuration as TOML."""
        return self.config.to_toml(self.settings)


def new_run(
    config: RunConfig,
    root: Path = runs.RUNS_ROOT,
    name: str | None = None,
    overwrite: bool = False,
    tried: Prepared | None = None,
) -> ResolvedRun:
    """Return a new run with every default spelled out; nothing is written, and torch is not imported.

    Args:
        config: settings of the user.
        root: folder of all runs.
        name: name of the run; default from the time and the seed.
        overwrite: replace a run of that name.
        tried: the same task with the same wrappers, if it was prepared before.

    Raises:
        UserError: on anything that does not exist or does not fit together.
    """
    path = runs.folder_for(root, config.task, config.alg, name, config.seed)
    if name is not None:
        runs.refuse_existing(path, overwrite)
    resolved, properties = defaults.prepare(config, tried)
    if resolved.track is not None:
        tracking_library(resolved.track)  # refused before anything is made
    if resolved.hyperparameters.get("consolidation") and not resolved.stages:
        raise UserError(
            f"consolidation protects what earlier stages learned; expected [[stages]] in a {option('--config')} file"
        )
    run = _run(resolved, properties, path)
    # A resumed run may be started elsewhere, and "latest" would be the run itself.
    init_from = str(runs.find(config.init_from, root).path.resolve()) if config.init_from else None
    return replace(run, is_named=name is not None, overwrite=overwrite, init_from=init_from)


def reopen(run: runs.RunFolder, trust: bool = False) -> ResolvedRun:
    """Return an unfinished run as it was configured.

    Args:
        run: the run folder.
        trust: allow the configuration to name a user's own code.

    Raises:
        UserError: if the record is damaged, or something does not exist or fit together any more.
    """
    config = defaults.read_config(run, trust)
    resolved = _run(config, inspect(config), run.path)
    recorded = (run.manifest().get("init_from") or {}).get("run", config.init_from)
    return replace(resolved, init_from=None if config.init_from is None else str(recorded))


def _run(config: ResolvedConfig, properties: TaskProperties, path: Path) -> ResolvedRun:
    """Return a run of a complete configuration.

    Raises:
        UserError: if a stage does not work, or the run ends at a share of a ceiling that is not known.
    """
    stages: tuple[Stage, ...] = tuple(stages_of(config, properties)) if config.stages else ()
    learned = stages[-1].properties if stages else properties
    until = Until.asked(config.until, config.until_performance, learned, config.timesteps)
    return ResolvedRun(config, learned, stages, streams(config.seed), path, until=until)
