"""Request of ``ngym reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from ngym_cli.config.fields import Options, Request, Texts
from ngym_cli.config.launch import LaunchSettings
from ngym_cli.config.values import Values


class PaperLaunch(LaunchSettings):
    """Settings of the execution of a reproduction."""

    workers: int | None = Field(None, ge=1)
    slurm: Values = {}


class ReproduceRequest(Request):
    """Repeat the experiments and test the claims of a paper.

    Trains the networks of the paper, measures its claims and draws its figures. Run the same command again to resume.

    Examples:
        ngym reproduce
        ngym reproduce roitman2002 --seeds 5
    """

    paper: str | None = None
    only: Texts = []
    seeds: int | None = Field(None, ge=1, le=10_000)
    first_seed: int = Field(0, ge=0, le=2**31 - 1)
    launch: Annotated[PaperLaunch, Options((PaperLaunch,))] = PaperLaunch()
    reproductions: Path = Path("reproductions")
    trust: bool = False
    as_json: bool = False
