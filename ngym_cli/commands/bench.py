"""``ngym bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from ngym_cli.commands.options import all_flags, option, with_flags

TRYING = "Trying"


@with_flags(all_flags())
def command(
    threads: Annotated[
        int | None, option("Try this number only. Default: from one to one on each core.", panel=TRYING, min=1)
    ] = None,
    seconds: Annotated[float, option("How long to try at most.", panel=TRYING)] = 40.0,
    config: Annotated[
        Path | None, option("TOML file, as a run's config.toml; flags are laid over it.", panel=TRYING)
    ] = None,
    trust: Annotated[
        bool, option("Let --config import task code that this line does not name.", "--trust", panel=TRYING)
    ] = False,
    json: Annotated[bool, option("Print the result as one JSON document.", "--json", panel=TRYING)] = False,
    **typed: Any,
) -> None:
    """Find the fastest number of environments and threads for a run; prints the flags and how long it will take."""
    from ngym_cli import terminal
    from ngym_cli.config import flags
    from ngym_cli.training import timing

    found = timing.bench(flags.settings(**typed), config, threads, seconds, trust)
    terminal.print_json(found) if json else timing.print_timed(found)
