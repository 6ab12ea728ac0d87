"""List the numbers that the repository keeps with what made them, and make them anew.

    python -m experiments.records                     # what is kept, and which commits made it
    python -m experiments.records --only defaults/GoNogo-v0    # every row: commit, date, version, command
    python -m experiments.records --make              # make all rows that an earlier commit made; can be interrupted
    python -m experiments.records --make --only defaults/GoNogo-v0 --jobs 2
    python -m experiments.records --make --only learners/ctrnn --seeds 1 --on slurm --slurm partition=cpu
    python -m experiments.records --collect    # keep the rows of runs that are finished, while others go on
    python -m experiments.records --measure --only solutions    # measure kept runs anew; trains nothing
    python -m experiments.records --sample 10         # make ten drawn rows again, compare with the spread of the seeds
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
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from datetime import date
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")

from experiments.records import made, quotes, sample, sweeping
from experiments.records.record import Record
from experiments.records.registry import RECORDS, measure
from ngym_cli.config.fields import checked
from ngym_cli.config.launch import LaunchSettings
from ngym_cli.config.values import parse_assignments, parse_option
from ngym_cli.errors import UserError, one_line, unknown
from ngym_cli.sweeps import launchers
from ngym_cli.sweeps.folder import SweepFolder
from ngym_cli.sweeps.recipe import Recipe

#: Name of the record, item, seed.
Job = tuple[str, str, int]

#: What a listing says of the making of a record's rows.
ORIGIN = ("commit", "date", "version")


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


def parsed() -> argparse.Namespace:
    """Return the command line, with ``requested`` (items by record) and ``launch``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--make", action="store_true", help="make the rows that an earlier commit made")
    parser.add_argument("--collect", action="store_true", help="keep the rows of finished runs, make none")
    parser.add_argument("--measure", action="store_true", help="measure the kept runs of rows again, train nothing")
    parser.add_argument("--only", action="append", default=[], metavar="NAME[/ITEM]")
    parser.add_argument("--seeds", type=at_least_one, default=1_000, help="at most so many seeds of each item")
    parser.add_argument("--jobs", type=at_least_one, default=1, help="rows side by side")
    parser.add_argument("--on", help="where runs are made, as for ngym sweep")
    parser.add_argument("--slurm", action="append", metavar="NAME=VALUE", help="as for ngym sweep")
    parser.add_argument("--sample", type=at_least_one, metavar="N", help="make N drawn rows again and compare them")
    parser.add_argument("--draw", type=int, default=date.today().toordinal(), help="seed of the sample (the day)")
    parser.add_argument("--texts", action="store_true", help="write the tables in the texts anew")
    arguments = parser.parse_args()
    try:
        arguments.requested = chosen(arguments.only)
        slurm = parse_assignments(arguments.slurm or (), "--slurm", parse_option)
        settings = {"on": arguments.on, "workers": arguments.jobs, "slurm": slurm}
        arguments.launch = checked(LaunchSettings, {name: value for name, value in settings.items() if value})
        if arguments.make:
            launchers.find(arguments.launch)
        if arguments.make or arguments.measure:
            made.require_commit()
    except UserError as error:
        parser.exit(2, f"{one_line(error)}\n")
    return arguments


def main() -> None:
    """List, make, sample, or write texts."""
    arguments = parsed()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    failed = 0
    if arguments.make or arguments.collect or arguments.measure:
        work = jobs_of(arguments.requested, arguments.seeds)
        print(f"rows that the present commit has not made: {len(work)}", flush=True)
        if arguments.collect:
            sweeping.collect(sweeping.needed(work), SweepFolder(sweeping.PLACE, Recipe(), ()))
        if arguments.measure:
            print(f"measured on kept runs: {sweeping.read_again(work)}", flush=True)
        if arguments.make:
            failed = make_all(work, arguments.launch, arguments.jobs)
    elif arguments.sample:
        requested = arguments.requested.items()
        records = {name: replace(RECORDS[name], items=partial(sorted, items)) for name, items in requested}
        failed = sampled(records, arguments.sample, arguments.draw)
    elif not arguments.texts:
        for line in listing(arguments.requested, every_row=bool(arguments.only)):
            print(line)
    if arguments.make or arguments.collect or arguments.measure or arguments.texts:
        for path in quotes.renew():
            print(f"tables anew in {path.relative_to(quotes.ROOT)}")
    if failed:
        sys.exit(f"{failed} rows {'do not agree with the record' if arguments.sample else 'could not be made'}")


def listing(requested: dict[str, set[str]], every_row: bool) -> Iterator[str]:
    """Yield what is kept and what made it: a line for each record, or for each row.

    Args:
        requested: items by record.
        every_row: whether each row has a line.
    """
    for name, items in requested.items():
        record = RECORDS[name]
        rows = {(item, seed): row["made"] for item, seeds in record.rows().items() for seed, row in seeds.items()}
        rows = {key: origin for key, origin in rows.items() if key[0] in items}
        commits, dates, versions = (sorted({origin[key] for origin in rows.values()}) for key in ORIGIN)
        span = " to ".join(dict.fromkeys((dates[0], dates[-1]))) if rows else "not made yet"
        total = sum(map(record.seeds_of, items))
        yield (
            f"{name:<12} {len(rows):>4} of {total:>4} rows, {span}, version {', '.join(versions) or '-'}, "
            f"{len(commits)} commit{'' if len(commits) == 1 else 's'}: {record.what}"
        )
        for (item, seed), origin in rows.items() if every_row else ():
            yield f"  {item}, seed {seed}: {', '.join(origin[key] for key in (*ORIGIN, 'command'))}"
        if not every_row:
            yield f"{'':<12} {record.command_of(next(item for item in record.items() if item in items), 0)}"


def sampled(records: dict[str, Record], n: int, draw: int) -> int:
    """Make drawn rows again and print them beside the record; return how many do not agree."""
    different = 0
    for name, item, seed in sample.draw(records, n, draw):
        text = f"{name}/{item}, seed {seed}"
        try:
            comparisons = sample.again(records[name], item, seed)
        except Exception as error:  # what cannot be made any more is what the sample is to find
            different += 1
            print(f"FAILS    {text}: {type(error).__name__}: {error}", flush=True)
            continue
        different += not all(each.agrees for each in comparisons)
        for each in comparisons:
            verdict = "agrees" if each.agrees else "DIFFERS"
            numbers = f"{each.number} {each.value:.4g}, record {each.low:.4g} to {each.high:.4g}"
            print(f"{verdict:<8} {text}: {numbers}", flush=True)
    return different


def jobs_of(requested: dict[str, set[str]], seeds: int) -> list[Job]:
    """Return the rows that the present commit has not made, the first seed of each item first."""
    commit, jobs = made.commit(), list[Job]()
    for name, items in requested.items():
        ordered = [item for item in RECORDS[name].items() if item in items]
        jobs += [(name, item, seed) for item, seed in RECORDS[name].to_make(ordered, commit) if seed < seeds]
    return sorted(jobs, key=lambda job: job[2])


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
