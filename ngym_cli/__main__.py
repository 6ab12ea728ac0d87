"""Entry point of the ``ngym`` command and of ``python -m ngym_cli``; checks that come before all other imports."""

from __future__ import annotations

import atexit
import gc
import glob
import re
import sys

from ngym_cli.processes import ignore_relative_paths, limit_blas, open_closed_streams, protect_command_line

#: New objects between two garbage collections. Importing torch and Matplotlib makes 600,000 permanent objects; with
#: Python's default of 700, collections take a twelfth of a short run.
NEW_OBJECTS = 10_000


def main() -> None:
    """Run the command line; report missing packages in a single line."""
    protect_command_line()
    open_closed_streams()
    ignore_relative_paths()
    limit_blas()
    gc.set_threshold(NEW_OBJECTS)
    atexit.register(gc.freeze)  # no garbage collection when the process ends
    warn_of_namesake()
    try:
        from ngym_cli.commands.app import main as run

        run()
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in of_extra("run"):
            raise
        fail(f"{missing} is not installed: pip install 'ngym[run]'")
    except ImportError as error:
        if type(error).__module__ != "neurogym.kernels":
            raise
        fail(str(error))


def fail(line: str) -> None:
    """Print a single line on stderr and exit."""
    sys.stderr.write(f"ngym: {line}\n")
    sys.exit(2)


def of_extra(extra: str) -> set[str]:
    """Return the modules that an extra of this distribution installs."""
    from importlib import metadata  # takes as long as half of all that `ngym --help` imports

    needed = [line for line in metadata.requires("ngym") or [] if line.endswith(f'extra == "{extra}"')]
    return {re.split(r"[^\w.-]", line, maxsplit=1)[0].replace("-", "_") for line in needed}


def warn_of_namesake() -> None:
    """Warn if the distribution ``neurogym``, whose package has the same name as ours, is installed too."""
    if not any(glob.glob("neurogym-*.dist-info", root_dir=folder) for folder in sys.path):  # noqa: PTH207 - pathlib is slow to import
        return
    repair = "pip uninstall -y neurogym && pip install --force-reinstall --no-deps ngym"
    sys.stderr.write(f"ngym: neurogym is installed too and overwrites files of ngym; to fix this: {repair}\n")


if __name__ == "__main__":
    main()
