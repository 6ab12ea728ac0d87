"""Results of fits in the terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from neurogym.analysis.results import Estimate
from ngym_cli.fitting import folder as fits
from ngym_cli.fitting.design import hardest
from ngym_cli.terminal import LiveView, console, estimate_cells, print_columns, progress_bars

WIDTH = 80  #: of a terminal
#: Most lines of the terminal, and rows of scores and of parameters, without ``--full``.
LINES, SCORES, TIME_SCORES, PARAMETERS = 24, 9, 3, 12
#: Rows of the table that are no models of their own.
BASELINE_LABELS = {"chance": "baseline", "bias": "baseline", "mixture": "of all models"}


def show(record: fits.FitRecord, subjects_shown: int = 1, full: bool = False) -> None:
    """Print the scores of a fit and the parameters of the best model.

    Args:
        record: of the fit.
        subjects_shown: most subjects whose parameters are printed.
        full: print the parameters of all models and subjects, and all notes.
    """
    out, used = console(), 0
    for title, scores in fits.score_tables(record).items():
        used += _scores(title, scores, full)
    for text in (fits.verdict(record), *(f"note: {note}" for note in record.get("table", {}).get("notes", ()))):
        if text:
            out.print(text, soft_wrap=True)
            used += _height(text)
    if timed := time_score_rows(record):
        timed = timed if full else timed[:TIME_SCORES]
        print_columns(timed, ["held-out choice and time", "nats/trial", "95 % interval", "choice", "time | choice"])
        used += 1 + len(timed)
    left = _parameters(record, subjects_shown, full, LINES - used - 2)
    if record.get("design"):
        _design(record["design"])
    if record.get("recovery"):
        _recovery(record["recovery"])
    if left:
        out.print(f"not shown: {'; '.join(left)}", soft_wrap=True)
    out.print(record["path"], soft_wrap=True)


@contextlib.contextmanager
def progress_shown() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that shows the model that is fitted, its number and how many there are, until the block ends."""
    out = console(stderr=True)
    view, bars = LiveView(out), progress_bars(out)
    task = bars.add_task("fitting", text="")

    def show_model(label: str, fitted: int, total: int) -> None:
        text = f"{label} ({fitted + 1} of {total})"
        bars.update(task, completed=fitted, total=total, text=text)
        view.show(bars, f"fitting {text}", force=view.draws)

    try:
        yield show_model
    finally:
        view.stop()


def _scores(title: str, scores: Mapping[str, fits.ScoreRecord], full: bool) -> int:
    """Print a table of scores, best first, and return the number of its lines."""
    names, rest = fits.ranked(scores), 0
    if full:
        header = [title, "nats per trial", "95 % interval", "probability", "from the best", "95 % interval, paired"]
        rows = [[with_kind(name), *score_cells(scores[name])] for name in names]
    else:
        rest = max(len(names) - SCORES, 0)
        header = [title.removesuffix(" of sessions"), "nats/trial", "probability", "from best", "95 % interval"]
        cells = [score_cells(scores[name]) for name in names[:SCORES]]
        rows = [[with_kind(name), each[0], *each[2:]] for name, each in zip(names, cells, strict=False)]
    print_columns(rows, header)
    if rest:
        console().print(f"and {rest} more (--full)")
    return len(rows) + 1 + bool(rest)


def _parameters(record: fits.FitRecord, subjects_shown: int, full: bool, lines: int) -> list[str]:
    """Print the parameters of the best model, or of all, and return what was left out, with the flags that show it.

    Args:
        record: of the fit.
        subjects_shown: most subjects.
        full: print all models, subjects and notes.
        lines: number of lines that are left on the screen.
    """
    ordered = fits.best_first(record)
    labels = [
        label for label in ordered if label != fits.BASELINE and any(record["models"][label]["parameters"].values())
    ]
    for label in labels if full else labels[:1]:
        about = record["models"][label]
        lines -= _group(label, about)
        if about.get("posterior"):
            _posterior(label, about["posterior"])
        if full and about.get("priors"):
            rows = [[name, f"{p['mean']:.3f}", f"{p['sd']:.3f}", p["scale"]] for name, p in about["priors"].items()]
            print_columns(rows, [f"{label}, priors", "mean", "s.d.", "scale"], indent=2)
        subjects = list(about["parameters"])
        for who in subjects if full else subjects[:subjects_shown]:
            lines -= _subject(label, who, about, None if full else lines)
    if full or not labels:
        return []
    about, left = record["models"][labels[0]], []
    subjects = list(about["parameters"])
    if len(subjects) > subjects_shown:
        left.append(f"{len(subjects) - subjects_shown} of {len(subjects)} subjects (--subjects-shown {len(subjects)})")
    more = [f"parameters of {len(labels) - 1} other model{'s' * (len(labels) > 2)}"] if labels[1:] else []
    more += ["notes"] if any(record["models"][label].get("notes") for label in ordered if label != labels[0]) else []
    return [*left, *([f"{' and '.join(more)} (--full)"] if more else [])]


def _group(label: str, about: fits.ModelRecord) -> int:
    """Print the distribution of the subjects of a hierarchical fit, and return the number of lines."""
    out, lines = console(), 0
    if about.get("group"):
        group = [[name, f"{p['mean']:.3f}", f"{p['sd']:.3f}"] for name, p in about["group"].items()]
        out.print(f"{label}, group: mean and s.d. of logits of rates and logarithms of positive numbers")
        print_columns(group, indent=2)
        lines += 1 + len(group)
    if about.get("between"):
        out.print(f"{label}, group: weights of covariates, in the same scale")
        rows = [
            [f"{name}, {covariate}", *_cells(row)]
            for name, effects in about["between"].items()
            for covariate, row in effects.items()
        ]
        print_columns(rows, indent=2)
        lines += 1 + len(rows)
    return lines


def _subject(label: str, who: str, about: fits.ModelRecord, lines: int | None) -> int:
    """Print parameters and notes of a model of a subject, and return the number of lines.

    Args:
        label: of the model.
        who: the subject.
        about: record of the model.
        lines: lines that are left on the screen; None to print all.
    """
    out, rows = console(), list(about["parameters"][who].items())
    notes = [f"  note: {note}" for note in about.get("notes", {}).get(who, [])]
    if lines is None:
        most = len(rows)
    else:
        while notes and sum(map(_height, notes)) > lines - 5:
            notes.pop()
        room = lines - 1 - sum(map(_height, notes))
        most = len(rows) if len(rows) <= min(room, PARAMETERS) else max(3, min(PARAMETERS, room - 1))
    out.print(f"{label}, {who}")
    marks = about.get("marks", {}).get(who, {})
    print_columns([parameter_cells(name, Estimate.from_record(p), marks) for name, p in rows[:most]], indent=2)
    if rows[most:]:
        out.print(f"  and {len(rows) - most} more (--full)")
    for note in notes:
        out.print(note, soft_wrap=True)
    return 1 + min(len(rows), most) + bool(rows[most:]) + sum(map(_height, notes))


def _height(text: str) -> int:
    """Return the number of lines of a text on a terminal."""
    return 1 + (len(text) - 1) // WIDTH


def _cells(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return value and interval of a record."""
    return estimate_cells(Estimate.from_record(record), ".3f")


def _posterior(label: str, record: fits.PosteriorRecord) -> None:
    """Print the posterior of the group, or of each subject where there is no group, with its diagnostics."""
    out = console()
    out.print(
        f"{label}, posterior: {record['chains']} chains of {record['draws']} draws, {record['divergences']} divergent"
    )
    rows = {f"{name}, {key}": row for name, group in record.get("group", {}).items() for key, row in group.items()}
    rows |= {f"{name}, {key}": row for name, group in record.get("between", {}).items() for key, row in group.items()}
    if not rows:
        rows = {f"{who}: {name}": row for who, each in record["parameters"].items() for name, row in each.items()}
    cells = [[name, *_cells(row), f"{row['r_hat'] or 0:.3f}", f"{row['ess'] or 0:.0f}"] for name, row in rows.items()]
    print_columns(cells, ["  parameter", "mean", "95 % interval", "R-hat", "ESS"])
    if checks := record.get("predictive"):
        predictive_cells = [
            [f"  {name}", f"{row['observed'] or 0:.3f}", *_cells(row), f"{row['p'] or 0:.2f}"]
            for name, row in checks.items()
        ]
        print_columns(predictive_cells, ["  posterior predictive check", "data", "simulated", "95 % interval", "p"])
    if loo := record.get("loo"):
        out.print(f"  leave-one-out: {loo['elpd']:.1f} nats, s.e. {loo['se']:.1f}, {loo['p']:.1f} effective parameters")


def time_score_rows(record: fits.FitRecord) -> list[list[str]]:
    """Return rows of the held-out scores of models of choices and times, best first."""
    scores = {label: about["time_score"] for label, about in record["models"].items() if "time_score" in about}
    ordered = sorted(scores, key=lambda label: -Estimate.from_record(scores[label]["together"]).value)
    return [
        [
            label,
            *estimate_cells(Estimate.from_record(scores[label]["together"])),
            *(f"{Estimate.from_record(scores[label][name]).value:.4f}" for name in ("choice", "time")),
        ]
        for label in ordered
    ]


def parameter_cells(name: str, estimate: Estimate, marks: Mapping[str, str]) -> list[str]:
    """Return the cells of a parameter: name, value, and the interval or the reason why there is none."""
    value, interval = estimate_cells(estimate, ".3f")
    return [name, value, marks.get(name, interval)]


def with_kind(name: str) -> str:
    """Return the name of a row of scores, with what the row is if that is no model of the user's."""
    return f"{name} ({BASELINE_LABELS[name]})" if name in BASELINE_LABELS else name


def score_cells(score: fits.ScoreRecord) -> list[str]:
    """Return the cells of a row of scores: log-likelihood, interval, probability, distance from the best, interval."""
    difference = Estimate.from_record(score["against_best"])
    is_best = difference.value == 0 and not difference.se > 0
    against = ["best", ""] if is_best else [f"{difference.value:+.4f}", difference.interval(".4f")]
    log_likelihood = estimate_cells(Estimate.from_record(score["log_likelihood"]))
    return [*log_likelihood, f"{score['probability']['value']:.4f}", *against]


def _design(record: fits.DesignRecord) -> None:
    """Print the pair of models that is hardest to separate in each condition of each task."""
    numbers = [f"{n:,} trials" for n in record["trials"]]
    rows = [
        [
            f"{row['task']}, {row['condition']}",
            f"{row['true']} / {row['rival']}",
            *(f"{factor['value'] or 0:.1f}" for factor in row["log_bayes_factor"]),
            f"{row['correct'][-1]:.0%}",
            "-" if row["trials_needed"] is None else f"{row['trials_needed']:,.0f}",
        ]
        for row in hardest(record)
    ]
    header = ["design: task, condition", "true / rival (hardest pair)", *numbers, "right", "for 3 nats"]
    print_columns(rows, header, right=len(numbers) + 2)
    console().print(
        f"expected log Bayes factors (nats) of new {record['scored']}, means of {record['repeats']} simulations; "
        "right: share of simulations that favour the true model",
        soft_wrap=True,
    )


def _recovery(record: fits.RecoveryRecord) -> None:
    out = console()
    out.print(f"recovery, {record['n']} simulations of each model, {record['trials']:,} trials each")
    for label, parameters in record["parameters"].items():
        for name, row in parameters.items():
            r = "-" if row["correlation"] is None else f"{row['correlation']:.2f}"
            out.print(f"  {label}: {name}: correlation {r}, inside the interval {row['coverage']:.0%}", soft_wrap=True)
    names = list(record["confusion"])
    if names:
        confusion = record["confusion"]
        rows = [
            [f"  from {a}", *(f"{confusion[a][b]:.0%}" if b in confusion[a] else "-" for b in names)] for a in names
        ]
        print_columns(rows, header=["  chosen by BIC:", *names], right=len(names))
