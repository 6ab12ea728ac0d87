"""Writes docs/migrating.md from the tables that the code itself uses.

python docs/migrating.py            # writes the page anew
python docs/migrating.py --check    # exit code 1 if it is out of date
"""

from __future__ import annotations

import sys
from pathlib import Path

from neurogym.compat.changes import ALIASES, MEMBERS, MOVED_MODULES, NAMES, RENAMED_ARGUMENTS
from neurogym.info import as_markdown, differences

PAGE = Path(__file__).with_name("migrating.md")
HEAD = """# Coming from NeuroGym

This page is written by `python docs/migrating.py` from the tables that the code uses; do not edit it.

Scripts of NeuroGym run as they are: `neurogym` has its modules, names, members, ids and both ways to write a task,
older ones included. What NeuroGym accepts in silence is warned of once, with the nearest valid name; with
`NGYM_STRICT=1`, and on the command line, it is an error. What is deliberately different follows at the end;
`ngym list differences` prints it, and

    ngym check my_script.py --neurogym

reads a script or notebook without executing it, and lists each outdated line and its replacement:
`works` (found as before), `warns`, `changed` (runs, and means something else) or `fails` (with the nearest valid name).

Not supported: `gym`, the predecessor of Gymnasium. Scripts of 2019 and 2020 need `import gymnasium as gym`, five values
from `step` and two from `reset`; the check names the lines.
"""


def page() -> str:
    """The whole page."""
    names = {
        f"{module}.{name}": target.replace(":", ".")
        for module, known in NAMES.items()
        for name, target in known.items()
    }
    ids = {old: new + (f" with {_phrase(kwargs)}" if kwargs else "") for old, (new, kwargs) in ALIASES.items()}
    arguments = {
        f"{owner}({old}=)": f"{owner}({new}=)"
        for owner, known in RENAMED_ARGUMENTS.items()
        for old, new in known.items()
    }
    toolkit = [row for row in differences() if row.task.startswith("toolkit: ")]
    tasks = [row for row in differences() if row not in toolkit]
    flat = "Modules of tasks are also found as they lay before version 1: `neurogym.envs.<task>`, by ids of 2019, too."
    parts = [
        HEAD,
        "## Modules\n",
        _table("then", "here", MOVED_MODULES),
        f"\n{flat}\n",
        "## Names\n",
        _table("then", "here", names),
        "\nEvery module of tasks also has `TruncExp`.\n",
        "## Ids\n",
        _table("then", "here", ids),
        "\n## Arguments\n",
        _table("then", "here", arguments),
        "\n## Members of environments\n",
        _table("then", "here", MEMBERS),
        "\n## What is different in the toolkit\n",
        as_markdown(toolkit),
        "\n## What is different in the tasks\n",
        "Where the code and the paper disagreed, the paper won.\n",
        as_markdown(tasks),
    ]
    return "\n".join(parts) + "\n"


def _phrase(kwargs: dict) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in kwargs.items())


def _table(left: str, right: str, rows: dict[str, str]) -> str:
    lines = [f"| `{old}` | {new if ' ' in new else f'`{new}`'} |" for old, new in sorted(rows.items())]
    return "\n".join([f"| {left} | {right} |", "|---|---|", *lines])


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
