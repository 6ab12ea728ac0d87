"""Make the numbers that the repository keeps, where they are out of date.

    python -m experiments.records                     # what is kept, and what of it is out of date
    python -m experiments.records --make              # make that anew, one row after the other; can be interrupted
    python -m experiments.records --make --only defaults/GoNogo-v0 --jobs 2
    python -m experiments.records --make --only learners/ctrnn --seeds 1 --on slurm --slurm partition=cpu
    python -m experiments.records --collect    # keep the rows of runs that are finished, while others go on
    python -m experiments.records --texts             # write the tables in the texts anew

A row is measured with one thread. Rows that are read from a run are made by the engine of `ngym sweep`, here or on a
cluster, and kept at the end; all others are kept as soon as they are there. Another call resumes where the last ended.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed

os.environ.setdefault("OMP_NUM_THREADS", "1")

from experiments.records import quotes, sweeping
from experiments.records.registry import RECORDS, measure
from ngym_cli.config import checked
from ngym_cli.config.launch import LaunchSettings, parse_option
from ngym_cli.config.values import parse_assignments
from ngym_cli.errors import UserError, one_line, unknown
from ngym_cli.sweeps import launchers
from ngym_cli.sweeps.folder import SweepFolder
from ngym_cli.sweeps.recipe import Recipe

#: Name of the record, item, seed.
Job = tuple[str, str, int]


def chosen(only: list[str]) -> dict[str, set[str]]:
    """Return the items of each record that ``NAME``, ``NAME/ITEM`` or ``NAME/GROUP`` mean; all without a word.

    A group is what stands before the stroke in the names of items.

    Raises:
        UserError: If there is no such record or item.
    """
    items_by_record: dict[str, set[str]] = {}
    for word in only or list(RECORDS):
        name, _, item = word.partition("/")
        if name not in RECORDS:
            raise unknown("record", name, RECORDS)
        available = list(RECORDS[name].items())
        meant = [each for each in available if item in ("", each, each.partition("/")[0])]
        if not meant:
            raise unknown(f"item of record {name}", item, available)
        items_by_record.setdefault(name, set()).update(meant)
    return items_by_record


def at_least_one(text: str) -> int:
    """Read a number of seeds or rows.

    Raises:
        ArgumentTypeError: If it is not a whole number, or less than 1.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of 1 or more, not {text!r}")
    return int(text)


def main() -> None:
    """List, make, or write texts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--make", action="store_true", help="make what is out of date")
    parser.add_argument("--collect", action="store_true", help="keep the rows of finished runs, make none")
    parser.add_argument("--only", action="append", default=[], metavar="NAME[/ITEM]")
    parser.add_argument("--seeds", type=at_least_one, default=1_000, help="at most so many seeds of each item")
    parser.add_argument("--jobs", type=at_least_one, default=1, help="rows side by side")
    parser.add_argument("--on", help="where runs are made, as for ngym sweep")
    parser.add_argument("--slurm", action="append", metavar="NAME=VALUE", help="as for ngym sweep")
    parser.add_argument("--texts", action="store_true", help="write the tables in the texts anew")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        requested = chosen(arguments.only)
        slurm = parse_assignments(arguments.slurm or (), "--slurm", parse_option)
        settings = {"on": arguments.on, "workers": arguments.jobs, "slurm": slurm}
        launch = checked(LaunchSettings, {name: value for name, value in settings.items() if value})
        if arguments.make:
            launchers.find(launch)
    except UserError as error:
        parser.exit(2, f"{one_line(error)}\n")
    missing = {}
    only_texts = arguments.texts and not (arguments.make or arguments.collect)
    for name, items in () if only_texts else requested.items():
        rows = missing[name] = RECORDS[name].missing([item for item in RECORDS[name].items() if item in items])
        total = sum(map(RECORDS[name].seeds_of, items))
        print(f"{name:<12} {total - len(rows):>4} of {total:>4} rows are up to date  {RECORDS[name].what}", flush=True)
    failed = 0
    if arguments.collect:
        wanted = sweeping.needed(jobs_of(missing, requested, arguments.seeds))
        sweeping.collect(wanted, SweepFolder(sweeping.PLACE, Recipe(), ()))
    if arguments.make:
        work = jobs_of(missing, requested, arguments.seeds)
        failed += make_all(work, launch, arguments.jobs)
    if arguments.make or arguments.collect or arguments.texts:
        for path in quotes.renew():
            print(f"tables anew in {path.relative_to(quotes.ROOT)}")
    if failed:
        sys.exit(f"{failed} rows could not be made")


def jobs_of(missing: dict[str, list[tuple[str, int]]], requested: dict[str, set[str]], seeds: int) -> list[Job]:
    """Return the missing rows of the first seeds that are requested, the first seed of each item first."""
    every = ((name, item, seed) for name, rows in missing.items() for item, seed in rows)
    rows_to_make = [(name, item, seed) for name, item, seed in every if item in requested[name]]
    return sorted((job for job in rows_to_make if job[2] < seeds), key=lambda job: job[2])


def make_all(work: list[Job], launch: LaunchSettings, jobs: int) -> int:
    """Measure rows, those that are read from runs first; return how many failed.

    Raises:
        SystemExit: If it is interrupted.
    """
    of_runs = sweeping.needed(work)
    failed, interrupted = sweeping.make(of_runs, launch) if of_runs else (0, False)
    if interrupted:
        quotes.renew()
        sys.exit("interrupted; what was made is kept, and the same call goes on")
    return failed + make([job for job in work if RECORDS[job[0]].run is None], jobs)


def make(work: list[Job], jobs: int) -> int:
    """Measure rows that are not read from runs, and keep each as soon as it is there; return how many failed."""
    failed = 0
    with ProcessPoolExecutor(jobs, max_tasks_per_child=1) as pool:
        try:
            waiting = {pool.submit(measure, *job): job for job in work}
            for count, future in enumerate(as_completed(waiting), start=1):
                name, item, seed = waiting[future]
                text = f"{count} of {len(work)}: {name}/{item}, seed {seed}"
                try:
                    row, seconds = future.result()
                except Exception as error:  # the others can still be made
                    failed += 1
                    print(f"{text}: {type(error).__name__}: {error}", flush=True)
                    continue
                RECORDS[name].keep(item, seed, {**row, "seconds_to_make": round(seconds, 1)})
                print(f"{text}: {seconds:.0f} s", flush=True)
        except KeyboardInterrupt:
            print("ended; what was made is kept", file=sys.stderr)
            for worker in multiprocessing.active_children():
                worker.terminate()
            os._exit(1)  # the pool would wait for workers that are gone
    return failed


if __name__ == "__main__":
    try:
        main()
    except UserError as error:  # such as another call that makes runs here
        print(error, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit("interrupted; what was made is kept, and the same call goes on")
