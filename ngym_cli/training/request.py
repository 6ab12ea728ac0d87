"""Requests of ``ngym run`` and ``ngym bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from ngym_cli.config.fields import Options, Request, Texts
from ngym_cli.config.model import RUN_SECTIONS, RunConfig
from ngym_cli.config.trust import load
from ngym_cli.config.values import Values


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
    threads: int | None = Field(None, ge=1)
    resume: str | None = None
    config: Path | None = None
    name: str | None = None
    runs_root: Path = Path("runs")
    overwrite: bool = False
    trust: bool = False
    smoke: bool = False
    tag: Texts = []
    dry_run: bool = False
    print_config: bool = False
    as_json: bool = False

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
    threads: int | None = Field(None, ge=1)
    seconds: float = Field(40.0, gt=0)
    config: Path | None = None
    trust: bool = False
    as_json: bool = False
