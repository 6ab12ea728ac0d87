"""Public tables of behaviour by name: shipped, in a data folder, or downloaded on request."""

from __future__ import annotations

import functools
import os
import tarfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neurogym.messages.names import nearest
from ngym_cli.errors import UserError, message_of, option, unknown
from ngym_cli.files.writing import atomic_file

#: Folders of the data that come with ngym: installed, and in a checkout.
SHIPPED = (
    Path(__file__).resolve().parents[1] / "papers" / "library" / "data",
    Path(__file__).resolve().parents[2] / "experiments" / "data",
)
#: Folder of downloads, below that of caches.
CACHE = "ngym/data"
LARGEST = 2**28  #: bytes of a table in an archive


@dataclass(frozen=True)
class DataSet:
    """Public table of behaviour: an entry of ``data_sets.toml``, which explains the fields."""

    name: str
    description: str
    species: str
    task: str
    size: str
    paper: str
    link: str
    licence: str
    file: str
    shipped: bool = False
    address: str = ""
    sha256: str = ""
    member: str = ""
    by_hand: str = ""
    columns: Mapping[str, Any] | None = field(default=None)

    def find(self, folder: Path | None = None, download: bool = False) -> Path:
        """Return the path of the table.

        Args:
            folder: data folder; None for the cache.
            download: fetch the table if it is not there.

        Raises:
            UserError: if the table is not there, with the way to get it.
        """
        places = [folder or cache(), *((*SHIPPED,) if self.shipped else ())]
        for candidate in places:
            if (candidate / self.file).exists():
                return candidate / self.file
        if self.address and download:
            return self._download(folder or cache())
        target = (folder or cache()) / self.file
        if self.by_hand:
            raise UserError(f"data set {self.name}: {target} is not there; {self.by_hand}")
        raise UserError(
            f"data set {self.name}: {target} is not there; {option('--download')} fetches it from {self.address} "
            f"(licence: {self.licence}), or put it there by hand"
        )

    def _download(self, folder: Path) -> Path:
        try:
            import pooch
        except ModuleNotFoundError:
            raise UserError(f"{option('--download')} needs pooch: pip install 'ngym[data]'") from None
        checksum = f"sha256:{self.sha256}" if self.sha256 else None
        name = self.address.rpartition("/")[2] if self.member else self.file
        try:
            fetched = Path(pooch.retrieve(self.address, checksum, fname=name, path=folder, progressbar=False))
            if self.member:
                self._unpack(fetched, folder / self.file)
        except (OSError, ValueError, KeyError, tarfile.TarError) as error:
            raise UserError(f"data set {self.name}: {self.address} cannot be fetched: {message_of(error)}") from None
        return folder / self.file

    def _unpack(self, archive: Path, target: Path) -> None:
        """Write the table that an archive holds; nothing else of the archive is unpacked."""
        with tarfile.open(archive) as packed:
            member = packed.extractfile(self.member)
            if member is None:
                raise KeyError(f"{archive.name} holds no file {self.member}")
            with atomic_file(target) as file:
                file.write(member.read(LARGEST))


def cache() -> Path:
    """Return the folder of downloads."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / CACHE


@functools.cache
def every() -> dict[str, DataSet]:
    """Return all data sets by name."""
    content = tomllib.loads((Path(__file__).parent / "data_sets.toml").read_text(encoding="utf-8"))
    return {name: DataSet(name, **entry) for name, entry in content.items()}


def find(name: str) -> DataSet:
    """Return a data set.

    Raises:
        UserError: if there is none of this name, with the nearest.
    """
    if name not in every():
        raise unknown("data set", name, every())
    return every()[name]


def named_by(path: Path) -> DataSet | None:
    """Return the data set that a path names, or None if the path is that of a file.

    Raises:
        UserError: if there is neither a file nor a data set.
    """
    if path.exists() or path.suffix or len(path.parts) > 1:
        return None
    if str(path) not in every():
        close = nearest(str(path), every())
        hint = f"; did you mean the data set {close}?" if close else "; 'ngym list data' names public data sets"
        raise UserError(f"no such table of trials: {path}{hint}")
    return find(str(path))


def rows() -> list[dict[str, object]]:
    """Return a row for each data set, for ``ngym list data``."""
    return [
        {
            "id": name,
            **{key: value for key, value in vars(each).items() if key not in ("name",)},
            "where": "with ngym" if each.shipped else "--download" if each.address else "by hand",
        }
        for name, each in every().items()
    ]
