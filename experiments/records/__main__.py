"""Make the numbers that the repository keeps, where they are out of date.

    python -m experiments.records                     # what is kept, and what of it is out of date
    python -m experiments.records --make              # make that anew, one row after the other; can be interrupted
    python -m experiments.records --make --only defaults/GoNogo-v0 --jobs 2
    python -m experiments.records --make --first-decides   # after a change that should not change a result
    python -m experiments.records --texts             # write the tables in the texts anew

A row is measured with one thread, and kept as soon as it is there: another call resumes where the last ended.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed

os.environ.setdefault("OMP_NUM_THREADS", "1")

from experiments.records import quotes
from experiments.records.registry import RECORDS, measure

#: Name of the record, item, seed.
Job = tuple[str, str, int]


def chosen(only: list[str]) -> dict[str, set[str]]:
    """Return the items of each record that ``NAME`` or ``NAME/ITEM`` mean; all without a word.

    Raises:
        SystemExit: If there is no such record or item.
    """
    found: dict[str, set[str]] = {}
    for word in only or list(RECORDS):
        name, _, item = word.partition("/")
        if name not in RECORDS or item and item not in RECORDS[name].items():
            sys.exit(f"no record {word!r}; there are {', '.join(RECORDS)}")
        found.setdefault(name, set()).update([item] if item else RECORDS[name].items())
    return found


def main() -> None:
    """List, make, or write texts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--make", action="store_true", help="make what is out of date")
    parser.add_argument("--only", action="append", default=[], metavar="NAME[/ITEM]")
    parser.add_argument("--jobs", type=int, default=1, help="rows side by side")
    parser.add_argument(
        "--first-decides",
        action="store_true",
        help="make the first seed of each item; where it comes out as it was, digit by digit, the other seeds stand",
    )
    parser.add_argument("--texts", action="store_true", help="write the tables in the texts anew")
    given = parser.parse_args()
    asked = chosen(given.only)
    missing = {name: RECORDS[name].missing() for name in asked}
    for name, rows in missing.items():
        total = sum(map(RECORDS[name].seeds_of, RECORDS[name].items()))
        print(f"{name:<12} {total - len(rows):>4} of {total:>4} rows are up to date  {RECORDS[name].what}")
    failed = 0
    if given.make and given.first_decides:
        failed += make([job for job in jobs_of(missing, asked) if job[2] == 0], given.jobs, decides=True)
        missing = {name: RECORDS[name].missing() for name in asked}
    if given.make:
        failed += make(jobs_of(missing, asked), given.jobs)
    if given.make or given.texts:
        for path in quotes.renew():
            print(f"tables anew in {path.relative_to(quotes.ROOT)}")
    if failed:
        sys.exit(f"{failed} rows could not be made")


def jobs_of(missing: dict[str, list[tuple[str, int]]], asked: dict[str, set[str]]) -> list[Job]:
    """Return the missing rows that are requested, the first seed of each item first."""
    found = [(name, item, seed) for name, rows in missing.items() for item, seed in rows if item in asked[name]]
    return sorted(found, key=lambda job: job[2])


def make(work: list[Job], jobs: int, *, decides: bool = False) -> int:
    """Measure rows, and keep each as soon as it is there; return how many failed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    failed = 0
    with ProcessPoolExecutor(jobs, max_tasks_per_child=1) as pool:
        try:
            waiting = {pool.submit(measure, *job): job for job in work}
            for done, future in enumerate(as_completed(waiting), start=1):
                name, item, seed = waiting[future]
                said = f"{done} of {len(work)}: {name}/{item}, seed {seed}"
                try:
                    row, seconds = future.result()
                except Exception as error:  # the others can still be made
                    failed += 1
                    print(f"{said}: {type(error).__name__}: {error}", flush=True)
                    continue
                RECORDS[name].keep(item, seed, {**row, "seconds_to_make": round(seconds, 1)}, decides=decides)
                print(f"{said}: {seconds:.0f} s", flush=True)
        except KeyboardInterrupt:
            print("ended; what was made is kept", file=sys.stderr)
            for worker in multiprocessing.active_children():
                worker.terminate()
            os._exit(1)  # the pool would wait for workers that are gone
    return failed


if __name__ == "__main__":
    main()
