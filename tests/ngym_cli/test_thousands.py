"""Ten thousand command lines, a thousand damaged files, a hundred wrong entries: no traceback, nothing else changed.

Reproducible: a line or a damage is determined by its seed and number. ``NGYM_LINES`` and ``NGYM_DAMAGES`` change how
many of each there are for each seed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given, seed

from ngym_cli.agents import checkpoints
from tests.ngym_cli.apart import call
from tests.ngym_cli.test_fuzz import VALID, command_lines, fuzzing
from tests.ngym_cli.test_hostile import reseal

LINES = [
    *VALID,
    "run --task RDM-v0+GoNogo-v0 --schedule block:100 --until 0.9 --n-envs 2",
    "run --task RDM-v0 --wrappers reaction_time --name it --overwrite",
    "run --task own.py:Own --alg recurrent_a2c --runs exp:1 --name it",
    "info pass_reward",
    "sweep --task RDM-v0 --alg recurrent_ppo,recurrent_a2c --seed 0:3 --set n_steps=8,16 --dry-run",
    "sweep good.toml --on slurm --slurm time=2:00:00 --slurm comment=x --seed 0:2",
    "sweep status it --sweeps sweeps",
    "new fresh_task.py",
]
#: Lines that take seconds each, and are drawn seldom.
SLOW = [
    "eval it --trials 10 --stochastic --balanced",
    "eval it --trials 10 --record activity --export csv --lesion 0.2 --name again --overwrite",
    "plot it learning --format svg --out precious",
    "plot it other learning --compare run --by coh",
    "report it --out precious",
    "info RDM-v0 --figure precious/trial.png",
]
#: Pieces of command lines that mean something in the folder of the user.
OF_THE_FOLDER = [
    *"precious precious/data.txt runs exp:1 good.toml latest it other . /dev/null".split(),
    *"--help --json --trust --out --name --runs".split(),
    *("\x1b[2J", "\n", "9223372036854775807", "x" * 300, "é" * 140),
]


def digests(folder: Path) -> dict[str, str]:
    """Return the digest of every file that no command may change: all but what belongs to a run or a sweep."""
    results = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).as_posix()
        private = inside.split("/")[4:5] and inside.startswith(("runs/", "exp:1/"))
        if path.is_file() and not (private and inside.split("/")[4] in ("eval", "figures", "report.html")):
            results[inside] = hashlib.sha256(path.read_bytes()).hexdigest()
    return results


@pytest.fixture
def world(run_folder, tmp_path, monkeypatch):
    """A user's folder: two runs, precious files, a configuration and a task."""
    monkeypatch.chdir(tmp_path)
    for name in ("it", "other"):
        shutil.copytree(run_folder, tmp_path / "runs/RDM-v0/recurrent_ppo" / name)
    shutil.copytree(tmp_path / "runs", tmp_path / "exp:1")
    (tmp_path / "precious").mkdir()
    for name in ("data.txt", "learning.svg", "report.html", "trial.png"):
        (tmp_path / "precious" / name).write_text("years of work")
    (tmp_path / "good.toml").write_text('task = "RDM-v0"\nunits = 8\n[timing]\nstimulus = 300\n')
    assert call(["new", "own.py"], tmp_path).wrong is None
    return tmp_path


def named(new: str, arguments: list[str]) -> bool:
    """Say whether the user named the place of a new file."""
    first = new.split("/", maxsplit=1)[0]
    return first in ("runs", "sweeps", "exp:1") or any(first in argument for argument in arguments)


@pytest.mark.long
@pytest.mark.parametrize("number", range(10))
def test_a_thousand_command_lines(world, number):
    before = digests(world)

    @seed(number)
    @fuzzing(int(os.environ.get("NGYM_LINES", "1000")))
    @given(command_lines(20 * LINES + SLOW, OF_THE_FOLDER))
    def check(arguments):
        ended = call(arguments or ["--help"], world, trains=False)
        after = digests(world)
        new = [name for name in after if name not in before]
        for name in new:
            (world / name).unlink()
        assert ended.wrong is None
        assert [name for name, digest in before.items() if after.get(name) != digest] == []
        assert [name for name in new if not named(name, arguments)] == []

    check()


WRONG = [None, True, -1, 0, 1.5, 10**30, float("nan"), "", "x", "\x1b[2J", "é" * 5000]
WRONG += [[], [1], {}, {"a": 1}, [[]], ["x"]]


def places(tree, at=()):
    """Yield every place in a JSON document."""
    yield at
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from places(value, (*at, key))


def damage_json(path: Path, random_: random.Random) -> None:
    tree = json.loads(path.read_text())
    for _ in range(random_.randint(1, 2)):
        at = random_.choice(list(places(tree))[:5000])
        value = random_.choice(WRONG)
        if not at:
            tree = value
            break
        inner = tree
        for key in at[:-1]:
            inner = inner[key]
        if random_.random() < 0.15:
            del inner[at[-1]]
        else:
            inner[at[-1]] = value
        if not isinstance(tree, dict):
            break
    path.write_text(json.dumps(tree))


def damage_text(path: Path, random_: random.Random) -> None:
    lines = path.read_text().splitlines()
    at = random_.randrange(len(lines))
    values = ["1", "-1", "1.5", "nan", "'x'", "[]", "{}", "true", "[[1]]", "{a = 1}", "1e400", "10000000000"]
    lines[at] = lines[at].partition("=")[0] + "= " + random_.choice(values)
    if random_.random() < 0.3:
        lines.insert(at, random_.choice(["_init_setup_model = false", "verbose = 3", "[x]", "= 1", "device = 'x'"]))
    path.write_text("\n".join(lines))


def damage_bytes(path: Path, random_: random.Random) -> None:
    data = bytearray(path.read_bytes())
    kind = random_.randrange(5)
    if kind == 0:
        data = data[: random_.randrange(len(data) + 1)]
    elif kind == 1:
        data += bytes(random_.randrange(256) for _ in range(random_.randint(1, 50)))
    elif kind == 2:
        at = random_.randrange(len(data))
        data[at : at + 100] = b"\0" * 100
    else:
        for _ in range(random_.randint(1, 20)):
            data[random_.randrange(min(len(data), random_.choice([200, 10**9])))] = random_.randrange(256)
    path.write_bytes(bytes(data))


def damages(folder: Path, random_: random.Random) -> list[list[str]]:
    """Damage one file of a run; return the commands that read it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and "events." not in path.name)
    path = random_.choice(files)
    if path.suffix == ".json" and random_.random() < 0.85:
        damage_json(path, random_)
    elif path.suffix == ".toml" and random_.random() < 0.85:
        damage_text(path, random_)
    else:
        damage_bytes(path, random_)
    if "checkpoints" in path.parts:
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            reseal(path.parent)
        return [["run", "--resume", str(folder)]]
    commands = [
        ["eval", str(folder), "--trials", "5"],
        ["plot", str(folder), "learning"],
        ["report", str(folder)],
        ["plot", str(folder)],
        ["run", "--resume", str(folder)],
    ]
    return [["list", "runs"], ["diff", "it", str(folder)], random_.choice(commands)]


@pytest.mark.long
@pytest.mark.parametrize("series", range(10))
def test_a_hundred_damaged_files(world, interrupted, series, record_property):
    before, problems = digests(world), []
    count = int(os.environ.get("NGYM_DAMAGES", "100"))
    victim = world / "runs/RDM-v0/recurrent_ppo/victim"
    for number in range(count):
        random_ = random.Random(f"damage-{series}-{number}")
        shutil.copytree(random_.choice([interrupted, world / "runs/RDM-v0/recurrent_ppo/it"]), victim)
        commands = damages(victim, random_)
        for arguments in commands:
            wrong = call(arguments, world).wrong
            if wrong:
                problems.append((number, arguments, wrong))
        shutil.rmtree(victim)
        if digests(world) != before:
            problems.append((number, commands, "something else was changed"))
            before = digests(world)
    record_property("damages", count)
    assert not problems, "\n".join(map(str, [len(problems), *problems[:20]]))


#: So many entries of each part of ``state.json``, each with another wrong value, and of these in the quick tests.
ENTRIES, QUICK_ENTRIES = 26, 2
PARTS = ("session", "learner", "environments", "joined")


def mutated(state: dict, array: str, number: int) -> str:
    """Change one entry of a part of the state, deterministically; return what was done."""
    random_ = random.Random(f"{array}-{number}")
    at = random_.choice([position for position in places(state[array]) if position][:5000])
    inner = state[array]
    for key in at[:-1]:
        inner = inner[key]
    if number % 6 == 5 and isinstance(inner, dict):
        del inner[at[-1]]
        return f"{at} left out"
    inner[at[-1]] = random_.choice(WRONG)
    return f"{at}: {inner[at[-1]]!r}"


@pytest.mark.parametrize(
    "number",
    [pytest.param(number, marks=[pytest.mark.long] * (number >= QUICK_ENTRIES)) for number in range(ENTRIES)],
)
@pytest.mark.parametrize("section", PARTS)
def test_an_entry_of_another_kind_is_refused_or_harmless(ngym, interrupted, tmp_path, section, number):
    folder = shutil.copytree(interrupted, tmp_path / "run")
    for path in checkpoints.resumable_in(folder / checkpoints.CHECKPOINTS_FOLDER):
        state = json.loads((path / checkpoints.STATE).read_text())
        count = mutated(state, section, number)
        (path / checkpoints.STATE).write_text(json.dumps(state))
        reseal(path)
    result = ngym("run", "--resume", folder)
    assert result.code in (0, 2), (count, result)
    assert "Traceback" not in result.err
    if result.code == 2:
        assert result.err.strip().splitlines()[-1].startswith("ngym: "), (count, result)
