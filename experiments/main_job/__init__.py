"""What README's lines print: train random-dots motion with the defaults, evaluate it.

python -m experiments.records --make --only main_job
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from experiments.records.record import Record, Row, Rows

ITEM = "RDM-v0"
RUN = ("run", "--task", "RDM-v0", "--wrappers", "pass_reward,pass_action", "--alg", "recurrent_ppo")


def make(item: str, seed: int) -> Row:
    """Do as README says."""
    with tempfile.TemporaryDirectory() as folder:
        ngym(*RUN, "--seed", str(seed), folder=folder)
        printed = ngym("eval", "latest", "--overwrite", folder=folder)
        summary = json.loads(ngym("eval", "latest", "--overwrite", "--json", folder=folder))
    numbers = {name: summary[name] for name in ("performance", "performance_ci", "ceiling", "trials")}
    return {**numbers, "printed": printed}


def ngym(*arguments: str, folder: str) -> str:
    """Return what a command prints."""
    line = [sys.executable, "-m", "ngym_cli", *arguments]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=True).stdout


def printed(rows: Rows) -> str:
    """Printed evaluation of seed 0 as a block of a text, without paths and without the counts below the performance."""
    lines = rows.get(ITEM, {}).get("0", {}).get("printed", "").rstrip().splitlines()
    printed_lines = [line for line in lines if "runs/" not in line and not line.startswith(("trials", "reward per"))]
    return "\n".join(f"    {line}".rstrip() for line in printed_lines)


RECORD = Record(
    name="main_job",
    what="what README's first lines print",
    file=Path(__file__).with_name("results.json"),
    items=lambda: [ITEM],
    make=make,
    tasks=lambda _: ["RDM-v0"],
    settings=lambda _: list(RUN),
    trainings=lambda _: [{"task": ITEM, "wrappers": "pass_reward,pass_action", "alg": "recurrent_ppo"}],
    tables={"printed": printed},
)
