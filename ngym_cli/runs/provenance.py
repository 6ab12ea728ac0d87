"""Provenance of a run: command line, seeds, versions, commit, machine, time."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from neurogym import kernels
from ngym_cli import processes, runs
from ngym_cli.config import trust
from ngym_cli.config.model import RunConfig
from ngym_cli.environments.properties import TaskProperties
from ngym_cli.runs.records import Manifest, RunState

#: Folder that holds the packages of this project: the checkout, or the folder of installed packages.
PACKAGES_FOLDER = Path(__file__).resolve().parents[2]

#: Packages whose versions decide what a run computes.
PACKAGES = (
    "ngym",
    "numpy",
    "torch",
    "gymnasium",
    "stable-baselines3",
    "sb3-contrib",
    "scipy",
    "safetensors",
    "pyarrow",
)


def opening(
    config: RunConfig,
    settings: dict[str, Any],
    seeds: Mapping[str, int],
    properties: TaskProperties,
    threads: int | None = None,
) -> Manifest:
    """Return the manifest entries at the start of a run.

    Args:
        config: complete configuration.
        settings: the configuration as plain data.
        seeds: seed of each random stream.
        properties: known properties of the task.
        threads: threads that share the learning; None for those of this process.
    """
    manifest: Manifest = {
        "status": "running",
        "task": config.task,
        "task_id": properties.id,
        "alg": config.alg,
        "network": config.network,
        "seed": config.seed,
        "seeds": dict(seeds),
        "reset_state": config.reset_state,
        "config": settings,
        "command": sys.argv,
        "started": runs.now(),
        "steps": 0,
        "trials": 0,
        "rt_from": properties.rt_from,
        "process": runs.this_process(),
        "machine": machine(threads),
        "versions": versions(),
        "git": git_state(PACKAGES_FOLDER),
    }
    if code := trust.record(config):
        manifest["code"] = code
    return manifest


def reopening(manifest: Mapping[str, object], step: int, config: RunConfig) -> dict[str, object]:
    """Return the manifest entries of a run that is resumed.

    Args:
        manifest: the manifest so far.
        step: steps after which it continues.
        config: its configuration.
    """
    resumption = {"at": runs.now(), "step": step, "command": sys.argv, "versions": versions()}
    resumption["machine"] = machine()
    if code := trust.record(config):
        resumption["code"] = code
    earlier = manifest.get("resumed")
    return {
        "status": "running",
        "process": runs.this_process(),
        "resumed": [*(earlier if isinstance(earlier, list) else []), resumption],
        **dict.fromkeys(("ended", "exit_reason", "wall_seconds", "cpu_seconds")),
    }


def closing(times: tuple[float, float], status: RunState, reason: str) -> Manifest:
    """Return the manifest entries at the end of a run.

    Args:
        times: elapsed wall-clock and CPU time (s).
        status: final status.
        reason: reason in words.
    """
    wall, cpu = times
    return {
        "status": status,
        "exit_reason": reason,
        "ended": runs.now(),
        "wall_seconds": round(wall, 3),
        "cpu_seconds": round(cpu, 3),
    }


def machine(threads: int | None = None) -> dict[str, object]:
    """Return a description of this machine, and the number of learning threads, by default those of this process."""
    return {
        "host": platform.node(),
        "system": "-".join((platform.system(), platform.release(), platform.machine())),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "threads": processes.learning_threads() if threads is None else threads,
        "kernels": kernels.variant(),
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Return the versions of the packages that affect the results of a run."""
    installed = {}
    for name in PACKAGES:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            installed[name] = "not installed"
    return installed


def git_state(folder: Path) -> dict[str, object] | None:
    """Return the commit of a source tree and whether files were changed since; None without a repository."""

    def git(*arguments: str) -> str:
        line = [program, "-C", str(folder), *arguments]
        return subprocess.run(line, capture_output=True, text=True, timeout=5, check=True).stdout.strip()

    try:
        program = processes.program("git")
        if Path(git("rev-parse", "--show-toplevel")).resolve() != folder:
            return None
        return {"commit": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return None
