"""Runs as folders: making, finding and reading a run and the tables of a run.

Belongs here: what is known of a run without its agent. May use: `environments`, `config`, `files`. Imports no torch.
"""

from ngym_cli.files.writing import clear_leftovers
from ngym_cli.processes import start_of_process, this_process
from ngym_cli.runs.finding import LATEST, MANIFEST
from ngym_cli.runs.folder import (
    CONFIG,
    EVALUATION,
    FIT,
    MODEL,
    QUIET,
    RUNS_ROOT,
    TRIALS,
    RunFolder,
    create,
    describe,
    discard,
    find,
    find_all,
    folder_for,
    now,
    plain_name,
    refuse_existing,
    refuse_if_running_elsewhere,
    safe_name,
)
from ngym_cli.runs.records import RUN_STATES

__all__ = [
    "CONFIG",
    "EVALUATION",
    "FIT",
    "LATEST",
    "MANIFEST",
    "MODEL",
    "QUIET",
    "RUNS_ROOT",
    "RunFolder",
    "RUN_STATES",
    "TRIALS",
    "clear_leftovers",
    "create",
    "describe",
    "discard",
    "find",
    "find_all",
    "folder_for",
    "now",
    "plain_name",
    "refuse_existing",
    "refuse_if_running_elsewhere",
    "safe_name",
    "start_of_process",
    "this_process",
]
