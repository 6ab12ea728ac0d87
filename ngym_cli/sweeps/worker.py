"""Worker of a sweep: a job can be repeated in any state, any number of times."""

from __future__ import annotations

import traceback
from pathlib import Path

from ngym_cli.agents import threads
from ngym_cli.errors import one_line
from ngym_cli.files.writing import write_text
from ngym_cli.sweeps import folder, search
from ngym_cli.sweeps.one_run import DONE, FAILED, STOPPED, run_one


def perform(path: str, job: int, trust: bool = False) -> str:
    """Do a job: skip finished runs, resume interrupted runs, start the rest.

    Args:
        path: the sweep's folder.
        job: number of the job.
        trust: let the recipe name a user's own code.

    Returns:
        ``done``, ``stopped`` (by a signal, and can be resumed) or ``failed`` (the reason is in the folder).
    """
    sweep = folder.load(Path(path))
    threads.in_worker()
    try:
        if sweep.recipe.search is None:
            ended = [run_one(sweep, entry, entry.values, trust) for entry in sweep.jobs[job]]
            state = DONE if all(status == "finished" for status, _ in ended) else STOPPED
        else:
            state = search.perform_trial(sweep, job, trust)
    except Exception as error:
        write_text(sweep.error_path(job), f"{one_line(error)}\n\n{traceback.format_exc()}")
        return FAILED
    sweep.error_path(job).unlink(missing_ok=True)
    return state
