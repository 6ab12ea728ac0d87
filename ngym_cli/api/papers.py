"""Reproductions of papers from Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ngym_cli.agents import threads
from ngym_cli.api import tables
from ngym_cli.errors import UserError


def reproduce(
    paper: str,
    only: Sequence[str] = (),
    *,
    seeds: int | None = None,
    first_seed: int = 0,
    on: str = "local",
    workers: int | None = None,
    reproductions: str | Path = "reproductions",
    trust: bool = False,
) -> Reproduction:
    """Repeat the experiments of a paper, test the paper's claims, and return the outcome.

    Args:
        paper: name of a paper (``ngym list papers``), or folder of your own.
        only: parts or claims; all by default.
        seeds: networks for each part (as in the paper).
        first_seed: first seed.
        on: where to run: local, ray, ray:auto, ray:HOST:PORT or slurm.
        workers: largest number of networks at a time (one per core).
        reproductions: folder of all reproductions.
        trust: trust the code in the folder of your own paper.

    Raises:
        UserError: if the paper does not exist, or no network could be trained.
        KeyboardInterrupt: if interrupted; the same call continues.
    """
    threads.one()
    from ngym_cli.papers import collection, requests
    from ngym_cli.sweeps import control

    root = Path(reproductions)
    launch = requests.launch_settings(on, workers, None)
    asked = requests.SeedRange(seeds, first_seed)
    code = requests.reproduce(paper, only, asked, launch, root, trust, False)
    if code == control.INTERRUPTED:
        raise KeyboardInterrupt("interrupted; the same call continues")
    place = root / collection.find(paper).id
    if not (place / requests.CLAIMS).is_file():
        raise UserError(f"{paper}: no network was trained; see the messages above")
    return Reproduction(place)


class Reproduction:
    """Outcome of the reproduction of a paper.

    Args:
        path: folder of the reproduction.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)

    @property
    def document(self) -> dict[str, Any]:
        """Everything that was found, as in ``claims.json``."""
        from ngym_cli.files.reading import read_json
        from ngym_cli.papers.requests import CLAIMS

        return dict(read_json(self.path / CLAIMS))

    @property
    def claims(self) -> Any:
        """Claims with results, a row each, as a pandas.DataFrame, or a pyarrow.Table where pandas is not installed."""
        plain = (str, int, float, bool, type(None))
        rows = [{k: v for k, v in row.items() if isinstance(v, plain)} for row in self.document["claims"]]
        return tables.frame_of_rows(rows)

    def __repr__(self) -> str:
        """Return a short description."""
        return f"<Reproduction {self.path}: {len(self.document['claims'])} claims>"
