"""Request of ``ngym reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from ngym_cli.config.fields import Flag, Options, Request, Texts
from ngym_cli.config.launch import WHERE, LaunchSettings, parse_option
from ngym_cli.config.values import Values


class PaperLaunch(LaunchSettings):
    """Settings of the execution of a reproduction."""

    workers: Annotated[
        int | None, Flag("Largest number of networks at a time.", WHERE, default="one per core"), Field(ge=1)
    ] = None
    slurm: Annotated[
        Values, Flag("NAME=VALUE for sbatch, as in partition=gpu or time=2:00:00.", WHERE, parse=parse_option)
    ] = Field(default_factory=dict)


class ReproduceRequest(Request):
    """Repeat the experiments and test the claims of a paper.

    Trains the networks of the paper, measures its claims and draws its figures. Run the same command again to resume.

    Examples:
        ngym reproduce
        ngym reproduce roitman2002 --seeds 5
    """

    paper: Annotated[
        str | None,
        Flag(
            "Name of a paper, or folder of your own; without it, all papers are listed.",
            positional=True,
            completes="papers",
        ),
    ] = None
    only: Annotated[Texts, Flag("Only this part or claim (see ngym info PAPER); repeat for several.")] = []
    seeds: Annotated[int | None, Flag("Networks for each part.", default="as in the paper"), Field(ge=1, le=10_000)] = (
        None
    )
    first_seed: Annotated[
        int, Flag("First seed; others repeat a result with fresh networks."), Field(ge=0, le=2**31 - 1)
    ] = 0
    launch: Annotated[PaperLaunch, Options((PaperLaunch,))] = PaperLaunch()
    reproductions: Annotated[Path, Flag("Folder of all reproductions.", WHERE)] = Path("reproductions")
    trust: Annotated[bool, Flag("Trust the code in the folder of your paper.")] = False
    as_json: Annotated[bool, Flag("Print JSON.", names=("--json",))] = False
