"""Batches in the memory of a device: a batch that is too large is computed in parts, whose gradients are added."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import torch

Result = TypeVar("Result")

logger = logging.getLogger("ngym_cli")


class BatchSplitter:
    """Number of parts in which batches fit into memory; it grows when memory runs out, with one line that says so.

    Attributes:
        n_parts: parts of each batch.
    """

    def __init__(self) -> None:
        self.n_parts = 1

    def __call__(self, n_sequences: int, compute: Callable[[int], Result]) -> Result:
        """Return the result of `compute`, a function of the number of parts.

        Args:
            n_sequences: sequences of the batch, which are not divided.
            compute: raises `torch.cuda.OutOfMemoryError` if a part is too large.

        Raises:
            torch.cuda.OutOfMemoryError: if a single sequence is too large.
        """
        while True:
            try:
                return compute(min(self.n_parts, n_sequences))
            except torch.cuda.OutOfMemoryError:
                if self.n_parts >= n_sequences:
                    raise
                self.n_parts = min(2 * self.n_parts, n_sequences)
            if torch.cuda.is_available():  # outside of the handler, which holds on to tensors
                torch.cuda.empty_cache()
            logger.warning("a batch is too large for the memory of the device; it is split into %d", self.n_parts)
