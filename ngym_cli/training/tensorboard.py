"""TensorBoard: a view of a run; every number in it can be recomputed from the trial table."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ngym_cli.config import flatten

#: What the summary of hyperparameters compares runs by.
METRICS = ("evaluation/performance", "behaviour/performance", "behaviour/reward_per_trial")


class Board:
    """Writes the event files of one run.

    Args:
        folder: where they go.
        state: of the board of the same run up to a checkpoint; what was written later is removed.
    """

    def __init__(self, folder: Path, state: Mapping[str, int] | None = None):
        from torch.utils.tensorboard import SummaryWriter

        self._folder = folder
        _cut_back(folder, state or {})
        self._excepthook = threading.excepthook
        threading.excepthook = self._of_a_thread
        try:
            self._writer: Any = SummaryWriter(str(folder), flush_secs=10)
        except BaseException:
            threading.excepthook = self._excepthook
            raise

    def _of_a_thread(self, what: threading.ExceptHookArgs) -> None:
        """Be silent about TensorBoard's own thread: what it could not write is raised again at the next point."""
        if not type(what.thread).__module__.startswith("tensorboard."):
            self._excepthook(what)

    def hyperparameters(self, config: Mapping[str, Any], text: str) -> None:
        """Show the configuration, as a table to compare runs by and as text."""
        from torch.utils.tensorboard.summary import hparams

        for summary in hparams(flatten(config), dict.fromkeys(METRICS, 0)):
            self._writer.file_writer.add_summary(summary)
        self._writer.add_text("configuration", "\n".join("    " + line for line in text.splitlines()), 0)

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Add one point to each curve."""
        for tag, value in values.items():
            self._writer.add_scalar(tag, value, step)

    def figure(self, tag: str, figure: Any, step: int) -> None:
        """Add a matplotlib figure."""
        self._writer.add_figure(tag, figure, step)

    def flush(self) -> None:
        """Write everything out."""
        self._writer.flush()

    def state(self) -> dict[str, int]:
        """Return how many bytes each event file has, all points so far included."""
        self.flush()
        return {path.name: path.stat().st_size for path in sorted(self._folder.glob("events.out.tfevents.*"))}

    def close(self) -> None:
        """Write everything out and end."""
        try:
            self._writer.close()
        finally:
            threading.excepthook = self._excepthook


def _cut_back(folder: Path, sizes: Mapping[str, int]) -> None:
    """Let event files hold what they held when they had certain sizes, and no others be there."""
    for path in folder.glob("events.out.tfevents.*"):
        size = int(sizes.get(path.name, 0))
        if size <= 0:
            path.unlink()
        elif size < path.stat().st_size:
            os.truncate(path, size)
