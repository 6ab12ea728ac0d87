"""Printed results of an evaluation."""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from neurogym.analysis.results import Estimate
from ngym_cli import terminal
from ngym_cli.environments.quota import SECONDS_PER_REPORT
from ngym_cli.runs.summary import breaks_beside, breaks_of, changed_in_words, performance_of
from ngym_cli.terminal import REFERENCES, cell, estimate_cells, print_columns, reference_word, with_interval

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from ngym_cli.runs.records import ActivityComparison, ControlRecord, MeasureRecord, Summary

#: Monte-Carlo error of a ceiling above which the error is printed.
NOTABLE = 0.003


def print_evaluation(summary: Summary, heading: str = "") -> None:
    """Print the result of an evaluation: measures of the task, performance next to chance and ceiling, and conditions.

    Args:
        summary: summary of the evaluation.
        heading: line that distinguishes this table from other evaluations of the same run.
    """
    out = terminal.console()
    if heading:
        out.print(heading, style="bold", soft_wrap=True)
    rows = [(row["label"], measure_in_words(row)) for row in summary.get("measures", ())]
    spread = f" over {summary['sessions']} sessions" if summary.get("sessions") else ""
    performance = performance_of(summary)
    is_defined = not math.isnan(performance.value)
    if is_defined:
        rows.append(("performance", f"{with_interval(performance)}{spread}{breaks_beside(summary)}"))
        rows += [("", text) for text in references_in_words(summary)]
    else:
        rows.append(("performance", "not defined: the trials are episodes without a correct answer"))
    if summary.get("control"):
        rows += control_in_words(summary["control"])
    blind = summary.get("blind")
    if blind is not None and performance.low <= blind:
        rows.append(("", "not significantly above the no-stimulus baseline"))
    if summary.get("half_width_missed"):
        rows.append(("", limit_in_words(summary)))
    if summary.get("no_ceiling") and is_defined:
        rows.append(("ceiling", f"not known: {summary['no_ceiling']}"))
    chosen = "most probable actions" if summary["deterministic"] else "sampled actions"
    requested = summary.get("trials_requested")
    more = "" if requested is None else f" ({requested:,} requested; sessions and blocks are evaluated whole)"
    rows.append(("trials", f"{summary['trials']:,}{more}, {chosen}"))
    rows.append(("reward per trial", _reward_in_words(summary)))
    if is_defined:
        rows += _fixation_rows(summary)
    is_measured = any(row["id"] == "reaction_time" for row in summary.get("measures", ()))
    if is_defined and summary.get("reaction_times_vary") and not is_measured:
        rows.append(("reaction time", f"{summary['reaction_time']:.0f} ms on average"))
    print_columns(rows)
    values = Counter(row["condition"] for row in summary["conditions"])
    conditions = [row for row in summary["conditions"] if values[row["condition"]] > 1]
    if conditions:
        references = [name for name in REFERENCES if any(name in row for row in conditions)]
        lines = [
            (
                row["condition"],
                cell(row["value"]),
                *estimate_cells(performance_of(row)),
                f"{row['trials']:,}",
                *(cell(row.get(name)) if name in row else "" for name in references),
            )
            for row in conditions
        ]
        out.print()
        header = ("condition", "value", "performance", "95 % interval", "trials", *map(reference_word, references))
        print_columns(lines, header, right=len(header) - 1)


def _fixation_rows(summary: Summary) -> list[tuple[str, str]]:
    """Return fixation breaks with the periods counted, actions before the decision, and trials without an answer."""
    breaks = breaks_of(summary)
    rows = [("no answer", f"{summary['miss_rate']:.2%} of trials")]
    if breaks is None:
        return rows
    counted = f", counted in {breaks.periods}" if breaks.periods else ""
    rows.insert(0, ("fixation breaks", f"{breaks.rate:.2%} of trials{counted}"))
    if math.isfinite(breaks.early):
        rows.insert(1, ("early actions", breaks.early_in_words()))
    return rows


def control_in_words(control: ControlRecord) -> list[tuple[str, str]]:
    """Return performance with equally many random units perturbed, and of the intact network."""
    mean, units = with_interval(Estimate.from_record(control["mean"])), control["units"]
    random = f"{units} random unit{'s' if units != 1 else ''}, mean of {len(control['draws'])} draws"
    return [("control", f"{mean}: {random}"), ("intact", f"{control['intact']:.4f}")]


def limit_in_words(summary: Summary) -> str:
    """Return that an evaluation ended before the interval of performance was as narrow as needed, and what helps."""
    performance = performance_of(summary)
    half_width = (performance.high - performance.low) / 2
    return (
        f"performance is known to {half_width:.3f}, not {summary['half_width_missed']:g}: "
        f"{summary['trials']:,} trials are the limit, unless a number is given"
    )


def _reward_in_words(summary: Summary) -> str:
    """Return the mean reward with an interval and, where known, the reward of the ideal observer."""
    ends = dict(zip(("low", "high"), summary.get("reward_ci") or (), strict=False))
    text = with_interval(Estimate.from_record({"value": summary["reward_per_trial"], **ends}))
    return text + (f"; ceiling {summary['reward_ceiling']:.4f}" if summary.get("reward_ceiling") is not None else "")


def measure_in_words(row: MeasureRecord) -> str:
    """Return a measure with interval and unit."""
    unit = row.get("unit") or ""
    return with_interval(Estimate.from_record(row), ".0f" if unit == "ms" else ".4f", unit)


def references_in_words(summary: Summary) -> list[str]:
    """Return lines with the reference scores, and the performance relative to the no-stimulus baseline and ceiling."""
    scores = [(reference_word(name), summary.get(name)) for name in REFERENCES]
    scores.insert(1, ("chance among answers", summary.get("chance_among_answers")))
    lines = [", ".join(f"{name} {value:.4f}" for name, value in scores if value is not None)]
    if (summary.get("ceiling_error") or 0) > NOTABLE:
        lines[0] += f" (standard error {summary['ceiling_error']:.4f})"
    known: dict[str, Any] = {name: value for name, value in scores if value is not None}
    zero = next((name for name in (reference_word("blind"), "chance among answers", "chance") if name in known), "")
    if "ceiling" in known and known["ceiling"] > known.get(zero, math.inf):
        share = (summary["performance"] - known[zero]) / (known["ceiling"] - known[zero])
        lines.append(f"normalised performance {share:.3f} (0 = {zero}, 1 = ceiling)")
    return [line for line in lines if line]


def print_evaluated(summary: Summary, folder: Path, several: bool = False) -> None:
    """Print an evaluation, in full or as a single line, then the written files and the distances to other data.

    The simulation of a fitted model is always printed in full, after the model and before warnings.
    """
    out, fit, changed = terminal.console(), summary.get("fit"), changed_in_words(summary)
    if fit:
        out.print(f"{fit['model']} of {fit['path']}, parameters {fit['parameters']}", soft_wrap=True)
    if several and not fit:
        at = f" at {summary['model_steps']:,} steps" if summary.get("checkpoint") is not None else ""
        text = f"{performance_of(summary):.4f}, {summary['trials']:,} trials{at}{breaks_beside(summary)}"
        text += f"; {changed}" if changed else ""
        if summary.get("control"):
            text += "; " + ", ".join(map(" ".join, control_in_words(summary["control"]))).replace("  95 % interval", "")
        out.print(f"{text}  {folder}", soft_wrap=True)
    else:
        trials = f"{summary['trials']:,} fresh trials (seed {summary['seed']})"
        later = "" if fit else ", other than those at the end of training"
        print_evaluation(summary, f"evaluation on {trials}{later}" + (f"\nchanged: {changed}" if changed else ""))
        out.print(f"\ntrials and summary: {folder}", soft_wrap=True)
    for path in summary.get("exports") or ():
        out.print(f"exported: {path}", soft_wrap=True)
    comparison = summary.get("comparison")
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
        for note in comparison.get("notes", ()):
            out.print(f"note: {note}", soft_wrap=True)
        out.print(f"distance, root mean square: {cell(comparison['distance'])} standard errors")
        out.print(f"figure: {comparison['figure']}", soft_wrap=True)
    if summary.get("activity"):
        _print_activity(summary["activity"])
    for line in summary.get("warnings", ()):
        out.print(f"note: {line}", soft_wrap=True)


def _print_activity(comparison: ActivityComparison) -> None:
    """Print the agreement of activity with a recording, by part of the trial."""
    out = terminal.console()
    out.print(f"\nactivity compared with {comparison['data']}, by {', '.join(comparison['by'])}", soft_wrap=True)
    keys = ("value", "corrected", "halves", "spread", "shuffled", "p")
    rows = [
        (
            row["part"],
            row["measure"],
            *(cell(row.get(key)) if row.get(key) is not None else "-" for key in keys),
            str(row["conditions"]),
        )
        for row in comparison["agreement"]
    ]
    of_halves = ("halves of the recording", "s.d.")
    header = ("part", "measure", "agreement", "corrected for noise", *of_halves, "shuffled", "p", "conditions")
    print_columns(rows, header, right=7)
    if comparison.get("explained"):
        out.print(
            "\nexplained variance of held-out trials, mean over neurons (unseen: predicted from other conditions)"
        )
        judged = [
            (
                row["neurons"],
                row["model"],
                *(
                    cell(row[key]) if row[key] is not None else "-"
                    for key in ("value", "low", "high", "ceiling", "share")
                ),
                str(row["n"]),
            )
            for row in comparison["explained"]
        ]
        names = ("neurons", "predicted from", "explained", "95 % from", "to", "noise ceiling", "share of it", "n")
        print_columns(judged, names, right=6)
    for reason in comparison["left_out"]:
        out.print(f"left out: {reason}", soft_wrap=True)
    out.print(f"figure: {comparison['figure']}", soft_wrap=True)


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
