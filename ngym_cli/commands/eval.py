"""``ngym eval``."""

from __future__ import annotations

from ngym_cli.evaluation.request import EvalRequest


def execute(request: EvalRequest) -> None:
    """Evaluate runs and print a summary of each."""
    from ngym_cli import processes, terminal

    processes.limit_libraries()
    from ngym_cli.evaluation import service, summary_text

    rows = []
    bar = summary_text.EvaluationBar(terminal.console(stderr=True))
    several = len(request.run) > 1 or request.at_checkpoints is not None or len(request.separately()) > 1
    for summary, folder in service.perform(request, request.runs_root, bar.show):
        rows.append(summary)
        bar.stop()
        if not request.as_json:
            summary_text.print_evaluated(summary, folder, several)
    if request.as_json:
        terminal.print_json(rows[0] if len(rows) == 1 and not request.at_checkpoints else rows)
