"""The option that was meant by an option that a command does not have."""

from __future__ import annotations

from ngym_cli.agents.algorithms import HYPERPARAMETERS
from ngym_cli.config.options import about

#: Periods that many tasks have.
PERIODS = ("fixation", "stimulus", "sample", "delay", "cue", "test", "decision", "choice", "go", "target", "iti")


def meant(option: str, options: list[str]) -> str | None:
    """Return how an unknown option is written in a command, or None.

    Args:
        option: as typed, with its hyphens.
        options: options of the command.

    Example:
        >>> meant("--lr", ["--set", "--timing"])
        '--set learning_rate=VALUE (ngym info recurrent_ppo lists the names)'
    """
    name = option.lstrip("-").replace("-", "_")
    aliases = ((known, name in (known, *about(field).aliases)) for known, field in HYPERPARAMETERS.items())
    hyperparameter = next((known for known, is_meant in aliases if is_meant), None)
    if "--set" in options and hyperparameter is not None:
        return f"--set {hyperparameter}=VALUE (ngym info recurrent_ppo lists the names)"
    if "--timing" in options and name in PERIODS:
        return f"--timing {name}=VALUE (ngym info TASK lists the names)"
    return None
