"""The option that was meant by an option that a command does not have."""

from __future__ import annotations

from ngym_cli.agents.algorithms import ALGORITHMS

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
    if "--set" in options and hyperparameter in known:
        return f"--set {hyperparameter}=VALUE (ngym info recurrent_ppo lists the names)"
    if "--timing" in options and name in PERIODS:
        return f"--timing {name}=VALUE (ngym info TASK lists the names)"
    return None
