"""How long a user waits: help, listings, completion, the first line of a run, and its first step.

    python -m experiments.benchmarks.startup

Each is the best of several fresh processes. On a machine that is busy with other things the processor's seconds tell
more than the clock's.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time

import psutil

NGYM = [sys.executable, "-m", "ngym_cli"]
COMPLETION = {"_NGYM_COMPLETE": "complete_bash", "COMP_WORDS": "ngym run --task RD", "COMP_CWORD": "3"}
REPETITIONS = 5

#: What is waited for, and how long at most (s).
COMMANDS = {
    "ngym --help": (["--help"], {}, 0.5),
    "ngym list tasks": (["list", "tasks"], {}, 1.0),
    "ngym list algs": (["list", "algs"], {}, 1.0),
    "completion of --task": ([], COMPLETION, 0.5),
}
RUN = {"first line of ngym run": ("training", 1.0), "first step of ngym run": ("run folder", 6.0)}


def spent(arguments: list[str], variables: dict[str, str]) -> tuple[float, float]:
    """Return seconds on the clock and of the processor of one fresh process."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*NGYM, *arguments], env={**os.environ, **variables}, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return time.perf_counter() - began, cpu


def run_times(folder: str) -> dict[str, tuple[float, float]]:
    """Return the same until the first line of a run, and until its folder is made and training begins."""
    began = time.perf_counter()
    command = [*NGYM, "run", "--task", "RDM-v0", "--wrappers", "pass_reward,pass_action", "--runs", folder]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    seconds = {}
    assert process.stderr is not None
    for line in process.stderr:
        for name, (beginning, _) in RUN.items():
            if line.startswith(beginning) and name not in seconds:
                times = psutil.Process(process.pid).cpu_times()
                seconds[name] = time.perf_counter() - began, times.user + times.system
        if len(seconds) == len(RUN):
            break
    process.kill()
    process.wait()
    return seconds


def main() -> None:
    """Print a table of what was measured next to what is allowed."""
    print(f"{'what':<28}{'clock (s)':>10}{'processor (s)':>15}{'at most (s)':>13}")
    for name, (arguments, variables, most) in COMMANDS.items():
        show(name, [spent(arguments, variables) for _ in range(REPETITIONS)], most)
    with tempfile.TemporaryDirectory() as folder:
        measured = [run_times(folder) for _ in range(REPETITIONS)]
    for name, (_, most) in RUN.items():
        show(name, [seconds[name] for seconds in measured], most)


def show(name: str, measured: list[tuple[float, float]], most: float) -> None:
    """Print the best of several measurements."""
    clock, cpu = (min(column) for column in zip(*measured, strict=True))
    print(f"{name:<28}{clock:>10.2f}{cpu:>15.2f}{most:>13.1f}", flush=True)


if __name__ == "__main__":
    main()
