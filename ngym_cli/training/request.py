"""Requests of ``ngym run`` and ``ngym bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from ngym_cli.config.fields import Flag, Options, Request, Texts, root_of
from ngym_cli.config.model import RUN_SECTIONS, RunConfig
from ngym_cli.config.sections import RUN
from ngym_cli.config.trust import load
from ngym_cli.config.values import Values

TRYING = "Trying"


class RunRequest(Request):
    """Train an agent and keep everything in a run folder.

    The folder holds the configuration, every trial, learning curves, checkpoints, the model and an evaluation.

    Examples:
        ngym run --task RDM-v0 --wrappers pass_reward,pass_action
        ngym run --task DelayComparison-v0 --timing delay=500 --reward fail=-0.1 --until 0.95
        ngym run --task GoNogo-v0 --alg supervised --timesteps 1e5 --seed 3
        ngym run --resume latest
    """

    common = ("task", "wrappers", "alg", "network", "timing", "timesteps", "seed", "resume")

    settings: Annotated[Values, Options(RUN_SECTIONS)] = {}
    threads: Annotated[
        int | None,
        Flag("Threads for learning; the result does not depend on them.", RUN, default="one per core"),
        Field(ge=1),
    ] = None
    resume: Annotated[
        str | None,
        Flag("Continue an interrupted run: its folder, its name, or 'latest'.", RUN, completes="run_folders"),
    ] = None
    config: Annotated[Path | None, Flag("TOML file, such as a run's config.toml; flags override it.", RUN)] = None
    name: Annotated[str | None, Flag("Name of the run folder.", RUN)] = None
    runs_root: Annotated[Path, root_of("runs", RUN)] = Path("runs")
    overwrite: Annotated[bool, Flag("Replace a run of this name.", RUN)] = False
    trust: Annotated[bool, Flag("Trust code that --config or --resume names and this command line does not.", RUN)] = (
        False
    )
    smoke: Annotated[bool, Flag("Build, check and train for a few hundred steps; keep nothing.", RUN)] = False
    tag: Annotated[Texts, Flag("Tag of the run, as for ngym runs; repeat for several.", RUN)] = []
    dry_run: Annotated[bool, Flag("Print what would be trained, where and for how long; make nothing.", RUN)] = False
    print_config: Annotated[bool, Flag("Print the complete configuration as TOML; make nothing.", RUN)] = False
    as_json: Annotated[bool, Flag("Print the result as JSON.", RUN, names=("--json",))] = False

    def is_empty(self) -> bool:
        """Return whether nothing is to be trained, printed or tried."""
        return not (self.settings or self.config or self.resume or self.name or self.smoke or self.is_planned)

    @property
    def is_planned(self) -> bool:
        """Whether a plan or a configuration is printed and nothing is made."""
        return self.dry_run or self.print_config

    def load(self) -> RunConfig:
        """Return the configuration before defaults are spelled out."""
        return load(self.config, self.settings, self.trust)


class BenchRequest(Request):
    """Find the fastest settings for a run on this machine.

    Tries numbers of environments and threads, and prints the flags and the expected duration.

    Examples:
        ngym bench --task RDM-v0 --wrappers pass_reward,pass_action
        ngym bench --task GoNogo-v0 --units 256 --n-envs 64 --timesteps 1e7
    """

    common = ("task", "wrappers", "alg", "network", "units", "n_envs", "timesteps", "threads")

    settings: Annotated[Values, Options(RUN_SECTIONS)] = {}
    threads: Annotated[
        int | None,
        Flag("Try only this number of threads.", TRYING, default="from one to one per core"),
        Field(ge=1),
    ] = None
    seconds: Annotated[float, Flag("Longest duration of the trial runs (s).", TRYING), Field(gt=0)] = 40.0
    config: Annotated[Path | None, Flag("TOML file, such as a run's config.toml; flags override it.", TRYING)] = None
    trust: Annotated[bool, Flag("Trust code that --config names and this command line does not.", TRYING)] = False
    as_json: Annotated[bool, Flag("Print the result as JSON.", TRYING, names=("--json",))] = False
