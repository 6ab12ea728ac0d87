"""Schedule by which weights are pruned during training. No torch here."""

from __future__ import annotations

from typing import NamedTuple

from ngym_cli.config import options
from ngym_cli.config.values import parse_call, parse_scalar, parse_whole
from ngym_cli.errors import UserError, check_known

#: Methods of pruning: weights of the smallest magnitude are removed.
METHODS = ("magnitude",)

#: Range of the final sparsity.
SPARSITY = options.field({"type": "float", "gt": 0, "lt": 1})


class Pruning(NamedTuple):
    """Gradual pruning of the recurrent and input weights (Zhu & Gupta 2017, arXiv:1710.01878).

    Attributes:
        sparsity: final share of each matrix that is zero.
        by: training step at which it is reached.
    """

    sparsity: float
    by: int

    def at(self, step: int) -> float:
        """Return the sparsity at a training step, which rises quickly at first and slowly at the end."""
        return self.sparsity * (1 - (1 - min(step / self.by, 1.0)) ** 3)


def parse(text: str, timesteps: int | None = None) -> Pruning:
    """Parse ``magnitude:SPARSITY:by=STEP``.

    Args:
        text: as written; without ``by`` the sparsity is reached after half of the training.
        timesteps: steps of the training; None: not known, and ``by`` is required.

    Example:
        >>> parse("magnitude:0.9:by=2e5").at(100_000)
        0.7875

    Raises:
        UserError: if it cannot be read, or ends after the training.
    """
    call = parse_call(text, "prune")
    check_known("method of pruning", call.name, METHODS)
    for key, _ in call.named:
        check_known("entry of prune", key, ("by",))
    if len(call.positional) != 1:
        raise UserError(f"prune needs a method and a final sparsity, as in magnitude:0.9:by=200000, not '{text}'")
    sparsity = float(options.read("sparsity of prune", SPARSITY, parse_scalar(call.positional[0])))
    named = dict(call.named)
    try:
        by = parse_whole(named["by"]) if "by" in named else max(1, (timesteps or 2) // 2)
    except ValueError as error:
        raise UserError(f"prune: by={error}") from None
    if by < 1 or by > (by if timesteps is None else timesteps):
        raise UserError(f"prune: by={by:,} must be a step of the training, which has {timesteps or by:,}")
    return Pruning(sparsity, by)


def complete(text: str, timesteps: int) -> str:
    """Return the written form with every entry, of a training of so many steps; errors as of `parse`."""
    pruning = parse(text, timesteps)
    return f"magnitude:{pruning.sparsity:g}:by={pruning.by}"
