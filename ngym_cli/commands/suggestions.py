"""The option that was meant by an option that a command does not have."""

from __future__ import annotations

from ngym_cli.agents.algorithms import ALGORITHMS

#: Options whose values have names, with the command that lists the names.
TABLES = {"--set": "ngym info recurrent_ppo", "--timing": "ngym info TASK"}

#: Names of hyperparameters as other programs have them.
HYPERPARAMETERS = {
    "lr": "learning_rate",
    "entropy": "ent_coef",
    "discount": "gamma",
    "batch": "batch_size",
    "epochs": "n_epochs",
    "clip": "clip_range",
    "lam": "gae_lambda",
}

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
    known = {parameter for algorithm in ALGORITHMS.values() for parameter in algorithm.hyperparameters}
    hyperparameter = HYPERPARAMETERS.get(name, name)
    for table, entry in (("--set", hyperparameter if hyperparameter in known else None), ("--timing", name)):
        if table in options and entry is not None and (table != "--timing" or entry in PERIODS):
            return f"{table} {entry}=VALUE ({TABLES[table]} lists the names)"
    return None
