"""Results of fits in the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from neurogym.analysis.results import Estimate
from ngym_cli.fitting.design import hardest
from ngym_cli.fitting.folder import (
    DesignRecord,
    FitRecord,
    PosteriorRecord,
    RecoveryRecord,
    ScoreRecord,
    ranked,
    score_tables,
)
from ngym_cli.terminal import console, estimate_cells, print_columns

#: Most parameters of a model that are printed.
MAX_PRINTED_PARAMETERS = 12
#: Rows of the table that are no models of their own.
BASELINE_LABELS = {"chance": "baseline", "bias": "baseline", "mixture": "of all models"}


def show(record: FitRecord) -> None:
    """Print scores, parameters and recovery of a fit."""
    out = console()
    for title, scores in score_tables(record).items():
        header = [title, "nats per trial", "95 % interval", "probability", "from the best", "95 % interval, paired"]
        print_columns([[with_kind(name), *score_cells(scores[name])] for name in ranked(scores)], header)
    for note in record.get("table", {}).get("notes", ()):
        out.print(f"note: {note}", soft_wrap=True)
    if timed := time_score_rows(record):
        print_columns(timed, ["held-out choice and time", "nats per trial", "95 % interval", "choice", "time | choice"])
    for label, about in record["models"].items():
        if about.get("group"):
            group = [[name, f"{p['mean']:.3f}", f"{p['sd']:.3f}"] for name, p in about["group"].items()]
            out.print(f"{label}, group: mean and s.d. of logits of rates and logarithms of positive numbers")
            print_columns(group, indent=2)
        if about.get("between"):
            out.print(f"{label}, group: weights of covariates, in the same scale")
            rows = [
                [f"{name}, {covariate}", *estimate_cells(Estimate.from_record(row), ".3f")]
                for name, effects in about["between"].items()
                for covariate, row in effects.items()
            ]
            print_columns(rows, indent=2)
        if about.get("posterior"):
            _posterior(label, about["posterior"])
        for who, parameters in about["parameters"].items():
            rows_of_subject = list(parameters.items())
            if label == "bias" or not rows_of_subject:
                continue
            out.print(f"{label}, {who}")
            marks = about.get("marks", {}).get(who, {})
            print_columns(
                [
                    parameter_cells(name, Estimate.from_record(p), marks)
                    for name, p in rows_of_subject[:MAX_PRINTED_PARAMETERS]
                ],
                indent=2,
            )
            if len(rows_of_subject) > MAX_PRINTED_PARAMETERS:
                out.print(f"  and {len(rows_of_subject) - MAX_PRINTED_PARAMETERS} more in fit.json")
            for note in about.get("notes", {}).get(who, []):
                out.print(f"  note: {note}", soft_wrap=True)
    if record.get("design"):
        _design(record["design"])
    if record.get("recovery"):
        _recovery(record["recovery"])
    out.print(record["path"], soft_wrap=True)


def _posterior(label: str, record: PosteriorRecord) -> None:
    """Print the posterior of the group, or of each subject where there is no group, with its diagnostics."""
    out = console()
    out.print(
        f"{label}, posterior: {record['chains']} chains of {record['draws']} draws, {record['divergences']} divergent"
    )
    rows = {f"{name}, {key}": row for name, group in record.get("group", {}).items() for key, row in group.items()}
    rows |= {f"{name}, {key}": row for name, group in record.get("between", {}).items() for key, row in group.items()}
    if not rows:
        rows = {f"{who}: {name}": row for who, each in record["parameters"].items() for name, row in each.items()}
    cells = [
        [name, *estimate_cells(Estimate.from_record(row), ".3f"), f"{row['r_hat'] or 0:.3f}", f"{row['ess'] or 0:.0f}"]
        for name, row in rows.items()
    ]
    print_columns(cells, ["  parameter", "mean", "95 % interval", "R-hat", "ESS"])
    if checks := record.get("predictive"):
        predictive_cells = [
            [
                f"  {name}",
                f"{row['observed'] or 0:.3f}",
                f"{row['value'] or 0:.3f}",
                f"[{row['low'] or 0:.3f}, {row['high'] or 0:.3f}]",
                f"{row['p'] or 0:.2f}",
            ]
            for name, row in checks.items()
        ]
        print_columns(predictive_cells, ["  posterior predictive check", "data", "simulated", "95 % interval", "p"])
    if loo := record.get("loo"):
        out.print(f"  leave-one-out: {loo['elpd']:.1f} nats, s.e. {loo['se']:.1f}, {loo['p']:.1f} effective parameters")


def time_score_rows(record: FitRecord) -> list[list[str]]:
    """Return rows of the held-out scores of models of choices and times, best first."""
    scores = {label: about["time_score"] for label, about in record["models"].items() if "time_score" in about}
    best_first = sorted(scores, key=lambda label: -Estimate.from_record(scores[label]["together"]).value)
    return [
        [
            label,
            *estimate_cells(Estimate.from_record(scores[label]["together"])),
            *(f"{Estimate.from_record(scores[label][name]).value:.4f}" for name in ("choice", "time")),
        ]
        for label in best_first
    ]


def parameter_cells(name: str, estimate: Estimate, marks: Mapping[str, str]) -> list[str]:
    """Return the cells of a parameter: name, value, and the interval or the reason why there is none."""
    value, interval = estimate_cells(estimate, ".3f")
    return [name, value, marks.get(name, interval)]


def with_kind(name: str) -> str:
    """Return the name of a row of scores, with what the row is if that is no model of the user's."""
    return f"{name} ({BASELINE_LABELS[name]})" if name in BASELINE_LABELS else name


def score_cells(score: ScoreRecord) -> list[str]:
    """Return the cells of a row of scores: log-likelihood, interval, probability, distance from the best, interval."""
    difference = Estimate.from_record(score["against_best"])
    is_best = difference.value == 0 and not difference.se > 0
    against = ["best", ""] if is_best else [f"{difference.value:+.4f}", difference.interval(".4f")]
    log_likelihood = estimate_cells(Estimate.from_record(score["log_likelihood"]))
    return [*log_likelihood, f"{score['probability']['value']:.4f}", *against]


def _design(record: DesignRecord) -> None:
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


def _recovery(record: RecoveryRecord) -> None:
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
