"""A trained agent of each task, from the record `defaults`: nothing is trained to show it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from docs.site.writing import Site, code, escaped, figure, prose, sentence
from experiments.defaults import RECORD, lines, tables
from experiments.solutions import RECORD as SOLUTIONS
from experiments.solutions import table as solutions_table
from ngym_cli.agents.per_task import LEARNERS, LineResult
from ngym_cli.agents.per_task import measured as of_learner
from ngym_cli.figures.registry import FIGURES
from ngym_cli.figures.solutions import catalogue, catalogue_figure
from ngym_cli.figures.style import COLOURS, new_figure, reference_lines, styled

Row = dict[str, Any]

#: A row of the table of tasks that are not learned, in the text next to the record.
REASONS = Path(RECORD.file).with_name("README.md")


@functools.cache
def kept() -> dict[str, dict[str, Row]]:
    """Return the rows of the record by task and seed, without those that ended in an error."""
    return {
        id_: {seed: row for seed, row in seeds.items() if "error" not in row} for id_, seeds in RECORD.rows().items()
    }


@functools.cache
def trainable() -> set[str]:
    """Return the tasks that the record is to hold."""
    return set(RECORD.items())


def minutes(id_: str) -> float | None:
    """Return the median of the minutes of a run, None where the task is not measured or not learned."""
    row = of_learner(id_)
    return row.seconds / 60 if row is not None and row.learned else None


@functools.cache
def reasons() -> dict[str, str]:
    """Return why the defaults do not learn a task, and who learns the task elsewhere, by id.

    The sentences come from two tables in the text next to the record.
    """
    found = {id_: cells[-1] for id_, cells in _rows("| task | reached of asked |").items()}
    for id_, (who, missing) in _rows("| task | learned by |").items():
        found[id_] = f"{sentence(found.get(id_, ''))} Learned by: {who}. Missing here: {missing}".strip()
    return {id_: why for id_, why in found.items() if id_ in trainable()}


def _rows(head: str) -> dict[str, list[str]]:
    """Return the cells after the first of each row of a table by the task's id; the table begins with a head."""
    found, inside = {}, False
    for line in REASONS.read_text(encoding="utf-8").splitlines():
        inside = line.startswith("|") and (inside or line.startswith(head))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if inside:
            found[f"{cells[0]}-v0"] = cells[1:]
    return found


def section(site: Site, id_: str) -> str:
    """Return what a page says of a trained agent, and draw it."""
    seeds = kept().get(id_, {})
    if id_ not in trainable():
        return (
            "The task has no ground truth for each step, so that there is no criterion for it among "
            "[the trainings of every task](../learned.md). Train it with:\n\n" + code(f"ngym run --task {id_}")
        )
    if not seeds:
        return (
            "There is no trained agent of this task in the records yet; `make records ONLY=defaults/"
            f"{id_}` makes one. The same on the command line:\n\n" + code(f"ngym run --task {id_} --until 0.95")
        )
    parts = [_result(id_, seeds), _curve(site, id_, seeds), _behaviour(site, id_), _made(seeds)]
    return "\n\n".join(part for part in parts if part)


def _result(id_: str, seeds: Mapping[str, Row]) -> str:
    measured = tables.measured("default", id_, seeds)
    if measured is not None:
        return _of_the_default_line(id_, measured)
    reached = sum(bool(row["reached"]) for row in seeds.values())
    rows = list(seeds.values())
    goal = "95 % of its ceiling" if rows[0].get("of") == "ceiling" else "95 % of what the oracle reaches"
    score = _median(rows, "performance")
    told = (
        f"Evaluated on fresh trials, the performance is {score:.3f}"
        f"{'' if len(rows) == 1 else f' (median of {len(rows)} seeds)'}"
    )
    if reached == len(rows):
        took = f"{_median(rows, 'steps'):,.0f} steps and {_duration(_median(rows, 'seconds'))}"
        every = "With one seed" if len(rows) == 1 else f"With each of {len(rows)} seeds"
        return f"{every} the defaults reach {goal}, after {took}. {told}."
    many = f"{reached} of {len(rows)} seeds reach" if reached else "The defaults do not reach"
    why = reasons().get(id_, "")
    return (
        f":::{{admonition}} Not learned with the defaults\n:class: warning\n{many} {goal} within "
        f"{_duration(max(row['seconds'] for row in rows))}. {told}, {rows[0]['target'] or 0.95:.3f} is required."
        f"{f' {sentence(prose(why))}' if why else ''} See [what the defaults learn](../learned.md).\n:::"
    )


def _of_the_default_line(id_: str, measured: LineResult) -> str:
    others = [f"`{name}` {row.share}" for name in LEARNERS if name != "default" and (row := of_learner(id_, name))]
    beside = f" Other learners, with the same number of steps or their own: {', '.join(others)}." if others else ""
    effort = f"{measured.steps:,} steps, {_duration(measured.seconds)} of one processor core"
    told = (
        f"With {measured.share} seeds, `ngym run --task {id_}` reaches 95 % of the best possible performance"
        f" ({measured.target:.3f}), in {effort}. The median of the performance is {measured.performance:.3f}.{beside}"
    )
    if measured.learned:
        return told
    why = reasons().get(id_, "")
    return (
        f":::{{admonition}} Not learned with the defaults\n:class: warning\n{told}"
        f"{f' {sentence(prose(why))}' if why else ''} See [what the defaults learn](../learned.md).\n:::"
    )


def _median(rows: list[Row], name: str) -> float:
    return float(np.median([row.get(name) or 0 for row in rows]))


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.1f} minutes"


def _curve(site: Site, id_: str, seeds: Mapping[str, Row]) -> str:
    curves = {seed: np.array(row["curve"], float) for seed, row in seeds.items() if row.get("curve")}
    if not curves:
        return "The learning curve is not in the records yet."
    path = site.picture(f"tasks/{id_}-learning", learning_curve(curves, next(iter(seeds.values()))))
    row = next(iter(seeds.values()))
    levels = " and ".join(name for name in ("chance", "ceiling") if row.get(name) is not None)
    which = "one seed" if len(curves) == 1 else f"{len(curves)} seeds"
    said = f"Performance in the trials of training, {which}{f', with {levels}' if levels else ''}."
    return figure(Path(path).name, said, said)


def learning_curve(curves: Mapping[str, np.ndarray], row: Row) -> Any:
    """Draw performance along training, a line for each seed, with chance and ceiling."""
    with styled():
        drawn, axes = new_figure(width=5.6, height=3.0)
        for number, (seed, points) in enumerate(curves.items()):
            axes.plot(points[:, 0], points[:, 1], color=COLOURS[number % len(COLOURS)], label=f"seed {seed}")
        reference_lines(axes, {name: row.get(name) for name in ("chance", "ceiling")})
        axes.set(xlabel="steps", ylabel="performance", ylim=(-0.03, 1.05), xlim=(0, None))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.xaxis.get_major_locator().set_params(nbins=5)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.3)
    return drawn


def _behaviour(site: Site, id_: str) -> str:
    file = lines.figure_of(id_)
    if file is None:
        return ""
    spec = FIGURES[file.stem.rpartition(".")[2]]
    path = site.copy(file, f"tasks/{id_}-behaviour")
    said = f"{sentence(spec.summary)} One agent, evaluated on fresh trials."
    linked = f"[{spec.name}](../figures/{spec.name}.md): {escaped(said)}"
    return figure(Path(path).name, said, linked)


def _made(seeds: Mapping[str, Row]) -> str:
    row = next(iter(seeds.values()))
    made, machine = row["made"], row["machine"]
    where = f"one thread of an {machine['processor']} processor, compiled functions {machine['kernels']}"
    said = f"Made on {made['date']} with version {made['version']}, commit `{made['commit']}`, and {where}"
    return f"{said}:\n\n{code(made['command'])}"


def solutions(site: Site, id_: str) -> str:
    """Return the figure and the table of the networks of the catalogue of a task; empty without a catalogue."""
    entry = catalogue().get(id_)
    if entry is None:
        return ""
    with styled():
        path = site.picture(f"tasks/{id_}-solutions", catalogue_figure(entry.solutions))
    said = (
        f"{len(entry.solutions)} networks trained in the task: similarity of their activity, and fixed-point topology."
    )
    rows = {item: seeds for item, seeds in SOLUTIONS.rows().items() if item.partition("/")[0] == id_}
    return f"{figure(Path(path).name, said, said)}\n\n{solutions_table(rows)}"
