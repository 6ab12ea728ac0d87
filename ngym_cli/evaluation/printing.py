"""Printed results of an evaluation."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from neurogym.analysis.results import Estimate
from ngym_cli import terminal
from ngym_cli.evaluation.quota import SECONDS_PER_REPORT
from ngym_cli.runs.summary import aborts_in_words, performance_of
from ngym_cli.terminal import REFERENCES, cell, estimate_cells, print_columns, with_interval

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from ngym_cli.runs.records import ActivityComparison, MeasureRecord, Summary

#: Monte-Carlo error of a ceiling above which the error is printed.
NOTABLE = 0.003


def print_evaluation(found: Summary, heading: str = "") -> None:
    """Print the result of an evaluation: measures of the task, performance next to chance and ceiling, and conditions.

    Args:
        found: summary of the evaluation.
        heading: line that distinguishes this table from other evaluations of the same run.
    """
    out = terminal.console()
    if heading:
        out.print(heading, style="bold", soft_wrap=True)
    rows = [(row["label"], measure_in_words(row)) for row in found.get("measures", ())]
    spread = f" over {found['sessions']} sessions" if found.get("sessions") else ""
    performance = performance_of(found)
    rows.append(("performance", f"{with_interval(performance)}{spread}{aborts_in_words(found)}"))
    rows += [("", text) for text in references_in_words(found)]
    blind = found.get("blind")
    if blind is not None and performance.low <= blind:
        rows.append(("", "not significantly above the stimulus-blind baseline (blind)"))
    if found.get("no_ceiling"):
        rows.append(("ceiling", f"not known: {found['no_ceiling']}"))
    chosen = "most probable actions" if found["deterministic"] else "sampled actions"
    rows.append(("trials", f"{found['trials']:,}, {chosen}"))
    rows.append(("reward per trial", _reward_in_words(found)))
    rows.append(("fixation breaks", f"{found['abort_rate']:.2%} of trials; no answer {found['miss_rate']:.2%}"))
    if found.get("reaction_times_vary") and all(row["id"] != "reaction_time" for row in found.get("measures", ())):
        rows.append(("reaction time", f"{found['reaction_time']:.0f} ms on average"))
    print_columns(rows)
    values = Counter(row["condition"] for row in found["conditions"])
    conditions = [row for row in found["conditions"] if values[row["condition"]] > 1]
    if conditions:
        known = [name for name in REFERENCES if any(name in row for row in conditions)]
        lines = [
            (row["condition"], cell(row["value"]), *estimate_cells(performance_of(row)), f"{row['trials']:,}",
             *(cell(row.get(name)) if name in row else "" for name in known))
            for row in conditions
        ]  # fmt: skip
        out.print()
        header = ("condition", "value", "performance", "95 % interval", "trials", *known)
        print_columns(lines, header, right=len(header) - 1)


def _reward_in_words(found: Summary) -> str:
    """Return the mean reward with an interval and, where known, the reward of the ideal observer."""
    ends = dict(zip(("low", "high"), found.get("reward_ci") or (), strict=False))
    text = with_interval(Estimate.from_record({"value": found["reward_per_trial"], **ends}))
    return text + (f"; ceiling {found['reward_ceiling']:.4f}" if found.get("reward_ceiling") is not None else "")


def measure_in_words(row: MeasureRecord) -> str:
    """Return a measure with interval and unit."""
    unit = row.get("unit") or ""
    return with_interval(Estimate.from_record(row), ".0f" if unit == "ms" else ".4f", unit)


def references_in_words(found: Summary) -> list[str]:
    """Return lines with the reference scores and the performance relative to chance and ceiling."""
    known = [(name, found.get(name)) for name in REFERENCES]
    known.insert(1, ("chance among answers", found.get("chance_among_answers")))
    lines = [", ".join(f"{name} {value:.4f}" for name, value in known if value is not None)]
    if (found.get("ceiling_error") or 0) > NOTABLE:
        lines[0] += f" (standard error {found['ceiling_error']:.4f})"
    among, ceiling = found.get("chance_among_answers"), found.get("ceiling")
    floor = among if among is not None else found.get("chance")
    if floor is not None and ceiling is not None and ceiling > floor:
        share = (found["performance"] - floor) / (ceiling - floor)
        zero = "guessing" if among is not None else "chance"
        lines.append(f"normalised performance {share:.3f} (0 = {zero}, 1 = ceiling)")
    return [line for line in lines if line]


def print_evaluated(found: Summary, folder: Path, several: bool = False) -> None:
    """Print an evaluation, in full or as a single line, then the written files and the distances to other data.

    The simulation of a fitted model is always printed in full, after the model and before warnings.
    """
    out, fit = terminal.console(), found.get("fit")
    if fit:
        out.print(f"{fit['model']} of {fit['path']}, parameters {fit['parameters']}", soft_wrap=True)
    if several and not fit:
        at = f" at {found['model_steps']:,} steps" if found.get("checkpoint") is not None else ""
        text = f"{performance_of(found):.4f}, {found['trials']:,} trials{at}{aborts_in_words(found)}"
        out.print(f"{text}  {folder}", soft_wrap=True)
    else:
        trials = f"{found['trials']:,} fresh trials (seed {found['seed']})"
        later = "" if fit else ", other than those at the end of training"
        print_evaluation(found, f"evaluation on {trials}{later}")
        out.print(f"\ntrials and summary: {folder}", soft_wrap=True)
    for path in found.get("exports") or ():
        out.print(f"exported: {path}", soft_wrap=True)
    comparison = found.get("comparison")
    if comparison:
        out.print(f"\ncompared with {comparison['data']}")
        rows = [
            (
                row["name"],
                *(text for key in ("a", "b") for text in estimate_cells(Estimate.from_record(row[key]), ".4g")),
                *map(cell, (row["difference"]["value"], row["distance"])),
            )
            for row in comparison["statistics"]
        ]
        header = ("statistic", "agent", "95 % interval", "data", "95 % interval", "difference", "standard errors")
        print_columns(rows, header, right=6)
        for reason in comparison.get("left_out", ()):
            out.print(f"left out: {reason}", soft_wrap=True)
        out.print(f"distance, root mean square: {cell(comparison['distance'])} standard errors")
        out.print(f"figure: {comparison['figure']}", soft_wrap=True)
    if found.get("activity"):
        _print_activity(found["activity"])
    for line in found.get("warnings", ()):
        out.print(f"note: {line}", soft_wrap=True)


def _print_activity(found: ActivityComparison) -> None:
    """Print the agreement of activity with a recording, by part of the trial."""
    out = terminal.console()
    out.print(f"\nactivity compared with {found['data']}, by {', '.join(found['by'])}", soft_wrap=True)
    keys = ("value", "corrected", "shuffled", "p")
    rows = [
        (row["part"], row["measure"], *(cell(row.get(key)) if row.get(key) is not None else "-" for key in keys),
         str(row["conditions"]))
        for row in found["agreement"]
    ]  # fmt: skip
    header = ("part", "measure", "agreement", "corrected for noise", "conditions shuffled", "p", "conditions")
    print_columns(rows, header, right=5)
    for reason in found["left_out"]:
        out.print(f"left out: {reason}", soft_wrap=True)
    out.print(f"figure: {found['figure']}", soft_wrap=True)


class EvaluationBar:
    """Progress of an evaluation and the time left; nothing is shown of evaluations that are soon over.

    Args:
        console: console to draw on.
    """

    def __init__(self, console: Console):
        self._view = terminal.LiveView(console)
        self._bars = terminal.progress_bars(console)
        self._task = self._bars.add_task("evaluating", text="")
        self._began = 0.0
        self._finished = 0

    def show(self, finished: int, total: int) -> None:
        """Draw the number of finished trials.

        Args:
            finished: trials that are over.
            total: trials in all.
        """
        now = time.monotonic()
        if not self._began or finished < self._finished:
            self._began = now - SECONDS_PER_REPORT
        self._finished = finished
        left = terminal.left_in_words((now - self._began) * (total / finished - 1)) if finished else ""
        text = f"{finished:,} of {total:,} trials"
        self._bars.update(self._task, completed=finished, total=total, text=f"{text} {left}".rstrip())
        self._view.show(self._bars, f"evaluating: {text}, {left}" if finished else "")

    def stop(self) -> None:
        """Remove the bar."""
        self._view.stop()
        self._began = 0.0
