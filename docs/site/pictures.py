"""An example of each figure: of a run of the record `defaults`, or of a small run made for it."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

import ngym_cli as nc
from docs.site.writing import Site, code, escaped, figure, sentence
from experiments.defaults import RECORD, lines
from ngym_cli.errors import UserError
from ngym_cli.figures.registry import FIGURES
from ngym_cli.figures.solutions import catalogue, catalogue_figure
from ngym_cli.figures.style import styled

#: Settings of small networks with large initial weights, which differ in their attractors almost without training.
SMALL: dict[str, Any] = {
    **{"task": "RDM-v0", "wrappers": "pass_reward,pass_action", "units": 16, "n_envs": 16, "eval_trials": 50},
    **{"timesteps": 1_000, "hyperparameters": {"n_steps": 32}, "network_args": {"radius": 2.0}},
}
#: Architectures and seeds of small networks.
NETWORKS = [(network, seed) for network in ("rnn", "gru") for seed in range(2)]
#: Runs that figures are drawn of, as arguments of `ngym_cli.train`, by figure; the first serves all others.
#: A recording is the activity of the run that it names.
RUNS: dict[str, dict[str, Any]] = {
    "all others": {
        "task": "RDM-v0",
        "wrappers": "pass_reward,pass_action",
        "timesteps": 200_000,
        "checkpoint_every": 40_000,
    },
    "cues": {
        "task": "MultiSensoryIntegration-v0",
        "task_args": {"modalities": ["both", "first", "second"]},
        "timesteps": 200_000,
    },
    "reports": {"task": "ReachingDelayResponse-v0", "timesteps": 200_000},
    "forgetting": {
        "task": "RDM-v0+GoNogo-v0",
        "schedule": "block:200",
        "timesteps": 100_000,
        "eval_every": 10_000,
    },
    "recording": {"task": "RDM-v0", "alg": "supervised", "timesteps": 200_000, "recording": "all others"},
    **{f"attractors of {network} {seed}": {**SMALL, "network": network, "seed": seed} for network, seed in NETWORKS},
}

#: Flags that a figure needs.
FLAGS = {"bifurcation": " --input 0 --input 1,0,0", "similarity": " --across period"}

#: Where the runs are kept between builds.
KEPT = Path(__file__).resolve().parents[2] / "build" / "docs" / "runs"


@functools.cache
def run(which: str) -> Any:
    """Return a run, trained unless an earlier build did; the name of its folder stands for its settings."""
    settings = RUNS[which]
    name = hashlib.sha256(repr(settings).encode()).hexdigest()[:12]
    made = next((path.parent for path in KEPT.glob(f"*/*/{name}/manifest.json")), None)
    if made is not None and nc.Run(made).status == "finished":
        return nc.Run(made)
    if "recording" in settings:
        teacher = run(settings["recording"])
        teacher.evaluate(400, record="activity", export="npz", name="recorded", overwrite=True)
        settings = {**settings, "recording": teacher.path / "eval" / "recorded" / "trials.npz"}
    trained_now = nc.train(**{"seed": 0, **settings}, name=name, runs_root=KEPT, overwrite=True, progress=False)
    if "checkpoint_every" in settings:
        trained_now.evaluate(200, checkpoints="all")
    return trained_now


def example(site: Site, name: str) -> str:
    """Return an example of a figure with how it was made, or why there is none."""
    recorded = lines.figures_by_name().get(name)
    if recorded is not None:
        task, file = recorded
        path = site.copy(file, f"figures/{name}")
        said, command = f"A network trained on {task}.", f"{RECORD.command_of(task, 0)}\nngym plot latest {name}"
    else:
        try:
            drawn, said, command = _drawn(name)
        except UserError as error:
            return f"There is no example here: {escaped(sentence(str(error)))}"
        with styled():
            path = site.picture(f"figures/{name}", drawn)
    return f"{figure(Path(path).name, f'{sentence(FIGURES[name].summary)} {said}', said)}\n\n{code(command)}"


def _drawn(name: str) -> tuple[Any, str, str]:
    """Return a figure, what it is drawn of, and the command that draws it.

    Raises:
        UserError: if it cannot be drawn of the run.
    """
    if name == "solutions":
        id_, entry = next(iter(catalogue().items()))
        said = f"Networks of the catalogue of {id_}."
        with styled():
            return catalogue_figure(entry.solutions), said, f"ngym run --task {id_}\nngym plot latest solutions"
    if name == "attractors":
        small = [run(which) for which in RUNS if which.startswith(name)]
        drawn = nc.plot(*small, name, input=["0"], overwrite=True)[name]
        said = "Networks of 16 units with large initial weights, before they have learned, under input 0."
        return drawn, said, "ngym plot RUN RUN RUN RUN attractors --input 0"
    given = run(name if name in RUNS else next(iter(RUNS)))
    said = f"A network trained on {given.config.task} for {given.steps:,} steps."
    if name == "similarity":
        drawn = nc.compare(given, across="period").plot()
    else:
        drawn = given.plot(name, **({"input": FLAGS[name].split()[1::2]} if name in FLAGS else {}))
    return drawn, said, f"ngym plot latest {name}{FLAGS.get(name, '')}"
