"""What ``ngym run`` does, from the flags to the last printed line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ngym_cli import config as configuration
from ngym_cli import runs, terminal
from ngym_cli.agents import threads
from ngym_cli.agents.from_config import find_algorithm
from ngym_cli.config import RunConfig
from ngym_cli.errors import UserError

if TYPE_CHECKING:
    from ngym_cli.environments.facts import Facts
    from ngym_cli.training.progress import Display

INTERRUPTED = 130


def run(
    flags: Mapping[str, object],
    file: Path | None,
    root: Path,
    name: str | None,
    overwrite: bool,
    json: bool,
    resume: str | None = None,
    trust: bool = False,
) -> int:
    """Train an agent and print how it went; return the exit code.

    Args:
        flags: from ``ngym_cli.config.flags.settings``.
        file: configuration file below the flags.
        root: folder of all runs.
        name: name of the run.
        overwrite: replace a run of that name.
        json: print one JSON document on stdout; progress goes to stderr in any case.
        resume: the run to continue, instead of starting one.
        trust: let the file, or the record of the run to continue, name a user's own code.
    """
    if resume is not None and (flags or file or name or overwrite):
        raise UserError("--resume continues a run as it was configured; no other settings go with it")
    config = configuration.load(file, flags, trust) if resume is None else None
    err = terminal.console(stderr=True)
    from ngym_cli.evaluation import printing
    from ngym_cli.training import main_loop, timing
    from ngym_cli.training.progress import LiveDisplay, Silent

    def announce(resolved: RunConfig, facts: Facts) -> None:
        stack = "".join(f" + {entry.name}" for entry in resolved.wrappers)
        network = f" ({resolved.network})" if resolved.network else ""
        seconds = timing.expected(resolved, facts) if resume is None else None
        about = f"; about {terminal.in_words(seconds)}" if seconds else ""
        steps = f"{int(resolved.timesteps or 0):,} steps"
        err.print(
            f"training {resolved.alg}{network} on {resolved.task}{stack}, seed {resolved.seed}: {steps}{about}",
            soft_wrap=True,
        )
        threads.one_in_torch()

    def display(resolved: RunConfig, facts: Facts, path: Path) -> Display:
        err.print(f"run folder {path}; tensorboard --logdir {root}", soft_wrap=True)
        if facts.lacks_reward:
            err.print(
                "the task needs the last reward as input, which the agent is not shown (--wrappers pass_reward); "
                "the ceiling is that without it",
                soft_wrap=True,
            )
        actions = "most probable actions" if find_algorithm(resolved.alg).needs_truth else "sampled actions"
        return Silent() if json else LiveDisplay(err, int(resolved.timesteps or 0), facts.references, actions)

    hooks = main_loop.Hooks(announce, display)
    if config is None:
        outcome = main_loop.resume(runs.find(str(resume), root), trust, hooks)
    else:
        outcome = main_loop.train(config, root, name, overwrite, hooks)
    if json:
        terminal.print_json({"id": str(outcome.run.path), "status": outcome.status, **outcome.summary})
    else:
        printing.print_evaluation(outcome.summary)
        path = outcome.run.path
        next_ = f"ngym run --resume {path}" if outcome.status == "interrupted" else f"ngym plot {path}"
        terminal.console().print(f"\n{outcome.status}: {path}\nnext: {next_}", soft_wrap=True)
    return INTERRUPTED if outcome.status == "interrupted" else 0
