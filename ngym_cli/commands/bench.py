"""``ngym bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ngym_cli.commands.options import all_flags, with_flags

TRYING = "Trying"


@with_flags(all_flags())
def command(
    threads: Annotated[
        int | None,
        typer.Option(
            min=1, help="Try this number only. Default: from one to one on each core.", rich_help_panel=TRYING
        ),
    ] = None,
    seconds: Annotated[float, typer.Option(help="How long to try at most.", rich_help_panel=TRYING)] = 40.0,
    config: Annotated[
        Path | None,
        typer.Option(help="TOML file, as a run's config.toml; flags are laid over it.", rich_help_panel=TRYING),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Let --config import task code that this line does not name.", rich_help_panel=TRYING
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the result as one JSON document.", rich_help_panel=TRYING)
    ] = False,
    **typed: Any,
) -> None:
    """Find the fastest number of environments and threads for a run; prints the flags and how long it will take."""
    from ngym_cli import terminal
    from ngym_cli.config import flags
    from ngym_cli.training import timing

    found = timing.bench(flags.settings(**typed), config, threads, seconds, trust)
    terminal.print_json(found) if json else timing.print_timed(found)
