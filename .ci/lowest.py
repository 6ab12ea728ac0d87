"""Print the lowest version that pyproject.toml allows of each package of some extras, as constraints of pip.

Words are extras, or NAME==VERSION for a package of which another version is wanted.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[(?P<extras>[\w,-]+)\])?(>=(?P<lowest>[\w.]+))?")


def lowest(project: dict, extras: list[str]) -> dict[str, str]:
    """Return name and lowest version of what the project and some of its extras need."""
    versions, waiting = {}, [*project["dependencies"]]
    for extra in extras:
        waiting += project["optional-dependencies"][extra]
    while waiting:
        requirement = REQUIREMENT.match(waiting.pop())
        if requirement["name"] == project["name"]:
            for extra in requirement["extras"].split(","):
                waiting += project["optional-dependencies"][extra]
        elif requirement["lowest"]:
            versions[requirement["name"]] = requirement["lowest"]
    return versions


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    others = dict(word.split("==") for word in sys.argv[1:] if "==" in word)
    versions = lowest(project, [word for word in sys.argv[1:] if "==" not in word])
    for name, version in sorted({**versions, **others}.items()):
        print(f"{name}=={version}")
