"""``ngym fit``."""

from __future__ import annotations

from ngym_cli.config.fields import checked
from ngym_cli.fitting.request import FitLaunch, FitRequest


def execute(request: FitRequest) -> None:
    """Fit models and print the scores."""
    from ngym_cli import processes, terminal

    processes.limit_libraries()
    from ngym_cli.fitting import printing, requests
    from ngym_cli.training import tracked_fits

    err = terminal.console(stderr=True)

    def progress(label: str, fitted: int, total: int) -> None:
        err.print(f"{label} ({fitted + 1} of {total})", soft_wrap=True)

    elsewhere = None
    if request.launch:
        from ngym_cli.sweeps import fits

        elsewhere = fits.on(checked(FitLaunch, request.launch, typed=True), progress)
    hooks = requests.FitHooks(progress, err.print, elsewhere)
    record = tracked_fits.run(request, hooks, err.print)
    terminal.print_json(record) if request.as_json else printing.show(record, request.subjects_shown, request.full)
