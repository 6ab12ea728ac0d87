"""``ngym bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ngym_cli.commands.options import option, with_flags
from ngym_cli.config.flags import FLAGS


@with_flags(FLAGS.values())
def command(
    threads: Annotated[int | None, option(min=1)] = None,
    seconds: float = 40.0,
    config: Path | None = None,
    trust: bool = False,
    json: bool = False,
    **typed: object,
) -> None:
    """Find the fastest settings for a run on this machine.

    Tries numbers of environments and threads, and prints the flags and the expected duration.

    Trying:
        threads: Try only this number of threads. Default: from one to one per core.
        seconds: Longest duration of the trial runs (s).
        config: TOML file, such as a run's config.toml; flags override it.
        trust: Trust code that --config names and this command line does not.
        json: Print the result as JSON.
    """
    from ngym_cli import terminal
    from ngym_cli.config import flags
    from ngym_cli.training import timing

    found = timing.bench(flags.settings(**typed), config, threads, seconds, trust)
    terminal.print_json(found) if json else timing.print_timed(found)
