"""All benchmarks, one after the other: ``python -m experiments.benchmarks``."""

from __future__ import annotations

import subprocess
import sys

#: Modules of this package, from the quickest to the slowest.
BENCHMARKS = ("variants", "learner", "stepping")

for name in BENCHMARKS:
    print(f"\n== {name}", flush=True)
    subprocess.run([sys.executable, "-m", f"experiments.benchmarks.{name}"], check=True)
