"""``ngym bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from ngym_cli.commands.options import all_flags, option, with_flags

TRYING = "Trying"


@with_flags(all_flags())
def command(
    threads: Annotated[
        int | None, option("Try only this number of threads. Default: from one to one per core.", panel=TRYING, min=1)
    ] = None,
    seconds: Annotated[float, option("Longest duration of the trial runs (s).", panel=TRYING)] = 40.0,
    config: Annotated[
        Path | None, option("TOML file, such as a run's config.toml; flags override it.", panel=TRYING)
    ] = None,
    trust: Annotated[
        bool, option("Trust code that --config names and this command line does not.", "--trust", panel=TRYING)
    ] = False,
    json: Annotated[bool, option("Print the result as JSON.", "--json", panel=TRYING)] = False,
    **typed: Any,
) -> None:
    """Find the fastest settings for a run on this machine.

    Tries numbers of environments and threads, and prints the flags and the expected duration.
    """
    from ngym_cli import terminal
    from ngym_cli.config import flags
    from ngym_cli.training import timing

    found = timing.bench(flags.settings(**typed), config, threads, seconds, trust)
    terminal.print_json(found) if json else timing.print_timed(found)
