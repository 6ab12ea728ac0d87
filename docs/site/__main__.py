"""Write the sources of the site.

python -m docs.site FOLDER                     # all pages; what an earlier call wrote and this one does not is removed
python -m docs.site FOLDER --only GoNogo-v0    # those of some names
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "agg")

from docs.site import commands, gallery, home, papers, reference, tasks
from docs.site.writing import Site
from neurogym.envs.registration import every_task


def _task(folder: Path, id_: str) -> tuple[dict[str, Any], set[Path]]:
    site = Site(folder)
    return tasks.write(site, id_), site.made


def _model(folder: Path, name: str) -> set[Path]:
    site = Site(folder)
    reference.write(site, "model", name)
    return site.made


def main() -> None:
    """Write what was requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="tasks drawn side by side")
    given = parser.parse_args()
    began, site = time.monotonic(), Site(given.folder)
    wanted = [id_ for id_ in every_task() if not given.only or id_ in given.only]
    found = []
    models = [name for name in reversed(reference.names("model")) if not given.only or name in given.only]
    with ProcessPoolExecutor(given.jobs) as pool:
        for made in pool.map(partial(_model, given.folder), models):  # the slowest first
            site.made |= made
        for described, made in pool.map(partial(_task, given.folder), wanted):
            found.append({name: what for name, what in described.items() if name != "trial"})
            site.made |= made
    for kind in reference.KINDS:
        for name in reference.names(kind):
            if kind != "model" and (not given.only or name in given.only):
                reference.write(site, kind, name)
        reference.write_list(site, kind)
    if not given.only:
        gallery.write(site, found)
        commands.write(site)
        reference.write_modules(site)
        papers.write(site)
        home.write(site, len(found))
        site.remove_others()
    print(f"{len(site.made)} files in {given.folder}, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
