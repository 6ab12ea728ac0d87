"""Every measure and control of every paper, on networks that are hardly trained and fifty trials."""

from __future__ import annotations

import json
import warnings
from functools import cache

import pytest

from neurogym.analysis.results import UndeterminedError
from ngym_cli.config.model import from_dict
from ngym_cli.environments.properties import TaskProperties
from ngym_cli.papers import collection
from ngym_cli.papers.paper_runs import PaperRun
from ngym_cli.training.main_loop import train

TRIALS, UNITS = 50, 16
#: Constants of scripts that decide how long a measure takes.
SHORTER = {
    "dubreuil2022": {"DRAWN": 256},
    "driscoll2024": {"UPDATES": 3, "LESIONED": 60},
    "maheswaranathan2019": {"STARTS": 16, "SETTLED": 20, "TRIALS": 5},
    "sussillo2013": {"STARTS": 16},
    "wang2018": {"SIMULATED": 500},
    "yang2019": {"TRIALS": 100, "MOST": 4, "SHUFFLES": 1, "REGROUPED": 1},
}


@pytest.fixture(scope="module", autouse=True)
def without_references():
    """Scores of reference agents take longer than all measures, and no measure needs them."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("chance", "blind", "ceiling"):
            patch.setattr(TaskProperties, name, None)
        patch.setattr(TaskProperties, "tasks", {})
        patch.setattr(TaskProperties, "no_ceiling", "not computed here")
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A function that trains a part of a paper for an instant; parts of one configuration share the run."""
    root, kept, opened = tmp_path_factory.mktemp("papers"), {}, {}

    def of_part(paper, name):
        settings = paper.run_settings(name)
        small = {"batch_size": 2, "seq_len": 20} if settings.get("alg") == "supervised" else {"n_steps": 16}
        key = json.dumps(settings, sort_keys=True)
        if key not in kept:
            changes = {
                "seed": 0,
                "timesteps": 40,
                "n_envs": 2,
                "hyperparameters": settings.get("hyperparameters", {}) | small,
                "units": settings.get("units") if ":" in settings.get("network", "") else UNITS,
                "evaluation": {"every": 0, "trials": 2},
                "checkpoint": {"every": 0},
            }
            settings.pop("until", None)
            settings["stages"] = [{**each, "timesteps": 40} for each in settings.get("stages", ())]
            config = from_dict({key: value for key, value in (settings | changes).items() if value not in ([], None)})
            kept[key] = train(config, root, f"part{len(kept)}").run
        evaluations = paper.config.parts[name].evaluations.items()
        requested = {key: each.model_copy(update={"trials": TRIALS}) for key, each in evaluations}
        if (paper.id, name) not in opened:  # analyses are cached by the run
            opened[paper.id, name] = PaperRun.evaluated(kept[key], 0, requested)
        return opened[paper.id, name]

    return of_part


def number(measure, runs) -> None:
    """Check that a measure gives a number, or refuses in a line that says what is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            value = measure(*runs)
        except UndeterminedError as error:
            assert len(str(error)) > 10 and "\n" not in str(error)
            return
    values = value.values() if isinstance(value, dict) else [value]
    assert values and all(isinstance(float(each), float) for each in values)


#: Papers whose measures take seconds.
LONG = ("driscoll2024", "khona2023", "maheswaranathan2019", "song2017", "wang2018", "yang2019")
PAPERS = [name for name in collection.ids() if collection.load(collection.library() / name).config.parts]


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in PAPERS])
def paper(request, monkeypatch):
    """A paper whose measures take less time."""
    paper = collection.load(collection.library() / request.param)
    for constant, value in SHORTER.get(request.param, {}).items():
        monkeypatch.setattr(paper.script.module, constant, value)
    return paper


def test_a_measure_gives_a_number_or_a_named_refusal(paper, trained):
    for claim in paper.config.claims:
        if claim.untestable is None:
            number(paper.script.measure(claim.measure), [trained(paper, part) for part in claim.part])


@pytest.mark.long
def test_so_does_a_measure_of_a_control(paper, trained):
    opened = cache(lambda part, control: paper.script.control(control)(trained(paper, part)))
    for claim in paper.config.claims:
        for control in () if claim.untestable is not None else ("untrained", *claim.control):
            number(paper.script.measure(claim.measure), [opened(part, control) for part in claim.part])
