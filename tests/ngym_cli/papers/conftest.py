"""A paper of a user's own whose networks are trained in a second."""

from __future__ import annotations

import pytest

PAPER = """
title = "A small study"
citation = "Nobody A (2020). A small study. Journal of Tests 1:1."
doi = "10.1234/small"
summary = "Something was done. Something was found."
seeds = 2

[[settings]]
what = "units"
value = 8
source = "Methods"
provenance = "P"

[parts.first]
what = "a network"
config = "first.toml"

[parts.first.evaluations.main]
trials = 40

[parts.first.evaluations.drawn]
trials = 20
deterministic = false

[parts.second]
what = "a network that begins with the first"
config = "second.toml"
after = "first"

[parts.second.evaluations.main]
trials = 20

[[claims]]
id = "number"
title = "A number"
published = 0.5
where = "Abstract"
provenance = "F"
part = "first"
measure = "number"
control = "other"
reached = "within 0.1"

[[claims]]
id = "several"
title = "Several numbers"
published = { a = 1, b = 2, c = 3 }
unit = "ms"
where = "Fig. 1"
provenance = "P"
part = ["first", "second"]
measure = "several"
reached = "within 0.1"
in_part = "within 0.1, most numbers"

[[claims]]
id = "late"
title = "A measure of the library"
published = "high"
where = "Fig. 2"
provenance = "P"
part = "second"
measure = "performance"
reached = "> 2"

[[claims]]
id = "never"
title = "Something else"
published = "much"
where = "Fig. 3"
provenance = "M"
untestable = "there are no neurons"
"""

RUN = """
task = "GoNogo-v0"
n_envs = 4
units = 8
timesteps = 512
hyperparameters = { n_steps = 64, n_epochs = 1 }
evaluation = { every = 0, trials = 10 }
checkpoint = { every = 64 }
"""

SCRIPT = '''
from pathlib import Path

from ngym_cli.figures.style import new_figure
from ngym_cli.papers.controls import answered


def number(run):
    assert len(run.trials()["trial"]) == 40 and len(run.trials("drawn")["trial"]) == 20
    if run.trials()["choice"].max() == 9:
        return 9.0
    if run.path.parts[-2] != "recurrent_ppo":
        return 0.0
    with Path("calls.txt").open("a") as file:
        file.write(f"number {run.seed}\\n")
    return 0.5 + 0.01 * run.seed


def control_other(run):
    """Always the same."""
    return answered(run, lambda table: {**table, "choice": 0 * table["choice"] + 9})


def several(first, second):
    assert first.seed == second.seed
    assert second.manifest["init_from"]["run"] and first.path != second.path
    return {"a": 1.0, "b": 3.0, "c": 3.05}


def figure_1_numbers(paper):
    """Numbers of all networks."""
    figure, axes = new_figure()
    values = paper.value("number")[""]["seeds"]
    axes.plot([run.seed for run in paper.runs("first")], values, "o")
    assert set(paper.trials("first")["seed"]) == {run.seed for run in paper.runs("first")}
    return figure


def figure_2_second(paper):
    """Second."""
    paper.runs("second")
    return new_figure()[0]
'''


@pytest.fixture
def study(tmp_path):
    """The folder of the paper, in an empty folder."""
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "paper.toml").write_text(PAPER)
    (folder / "figures.py").write_text(SCRIPT)
    for name in ("first", "second"):
        (folder / f"{name}.toml").write_text(RUN)
    return folder
