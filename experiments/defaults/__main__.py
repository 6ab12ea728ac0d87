"""Which tasks the default settings learn: every task until 95 % of its ceiling, or for five minutes.

    python -m experiments.defaults [TASK ...] [--limit SECONDS] [--seed N] [--processes N] [--set NAME=VALUE ...]

Each task is one `ngym run --task TASK --until 0.95`; tasks whose trials depend on each other get the wrappers
`pass_reward,pass_action`, without which they cannot be learned. Results are kept in `results.json` and are made anew
only for the tasks that are named.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from neurogym.envs.registration import every_task, metadata

RESULTS = Path(__file__).with_name("results.json")

#: Most steps of a run; the learning rate falls over them. More than five minutes suffice for with most tasks.
TIMESTEPS = 3_000_000


def with_ground_truth() -> list[str]:
    """Ids of the tasks that say what the right action of each step is."""
    return [id_ for id_ in every_task() if "supervised" in metadata(id_)["tags"]]


def wrappers_of(id_: str) -> str:
    """What a task needs around it."""
    return "pass_reward,pass_action" if metadata(id_).get("carries") else ""


def learn(id_: str, limit: float, seed: int, settings: list[str]) -> dict[str, Any]:
    """Train on a task; returns what its record says."""
    wrappers = wrappers_of(id_)
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-m", "ngym_cli", "run", "--task", id_, "--until", "0.95", "--seed", str(seed)]
        line += ["--timesteps", str(TIMESTEPS), "--runs", folder, "--name", "run", "--json"]
        line += ["--wrappers", wrappers] if wrappers else []
        line += [part for setting in settings for part in ("--set", setting)]
        began = time.perf_counter()
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            _, complaint = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            _, complaint = process.communicate()
        seconds = time.perf_counter() - began
        found = list(Path(folder).glob("*/*/run/manifest.json"))
        if not found:
            return {"error": complaint.strip()}
        manifest = json.loads(found[0].read_text())
    until = manifest.get("until") or {}
    return {
        "wrappers": wrappers,
        "reached": bool(until.get("reached")),
        "of": until.get("of"),
        "target": until.get("target"),
        **{name: manifest.get(name) for name in ("performance", "chance", "ceiling", "steps", "trials")},
        "seconds": round(until.get("seconds") or seconds, 1),
    }


def main() -> None:
    """Learn and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--set", dest="settings", action="append", default=[])
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    results = json.loads(given.out.read_text()) if given.out.exists() else {}

    def one(id_: str) -> None:
        row = learn(id_, given.limit, given.seed, given.settings)
        results[id_] = row
        given.out.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n")
        print(f"{id_:45} {row}", flush=True)

    with ThreadPoolExecutor(given.processes) as pool:
        list(pool.map(one, given.tasks or with_ground_truth()))
    reached = sum(row.get("reached", False) for row in results.values())
    print(f"{reached} of {len(results)}")


if __name__ == "__main__":
    main()
