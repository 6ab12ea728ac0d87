"""Design of experiments: expected Bayes factors between fitted models in a task."""

import csv
import json

import numpy as np
import pytest

import ngym_cli
from neurogym.behaviour.models.base import Problem
from neurogym.behaviour.models.learning import QLearning
from neurogym.behaviour.models.logistic import Logistic
from neurogym.behaviour.models.responses import DiffusionResponse
from neurogym.behaviour.table import Behaviour, session
from ngym_cli.fitting.design import candidate_of, compare, hardest

STIMULI = ("--design", "RDM-v0", "--task-stimuli", "coh=signed coh*0.01")


@pytest.fixture(scope="module")
def dots(tmp_path_factory):
    """A subject whose drift depends on coherence, with times."""
    path = tmp_path_factory.mktemp("design") / "dots.csv"
    rng = np.random.default_rng(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["session", "coh", "choice", "rt", "reward"])
        for k in range(2):
            coh = rng.choice([-0.4, -0.1, 0.1, 0.4], 100)
            values = {name: np.array(value) for name, value in {"A": 0.9, "t_R": 0.3, "z": 0.5, "lapse": 0.0}.items()}
            choice, rt = DiffusionResponse().sample(6 * coh[:, None], values, rng)
            for row in zip(coh, choice, rt.round(3), (choice == 1) == (coh > 0), strict=True):
                writer.writerow([k, row[0], ("left", "right")[row[1]], row[2], int(row[3])])
    return path


def test_trials_of_a_task_separate_the_fitted_models(dots, tmp_path, ngym):
    own = tmp_path / "own.py"
    own.write_text(
        "import jax.numpy as jnp\nfrom neurogym.behaviour.models.agents import Agent\n"
        "from neurogym.behaviour.models.parameters import rate\n\n"
        "class Guess(Agent):\n    b, linear, needs_rewards = rate('b', 3, -3), False, False\n\n"
        "    def logits(self, p, state, trial):\n        return jnp.array([0.0, p.b])\n"
    )
    flags = f"--folds 2 --design-trials 20,60 --runs {tmp_path} --name d".split()
    arguments = ("fit", dots, "--model", f"logistic,{own}:Guess", *STIMULI, *flags)
    outcome = ngym(*arguments)
    assert outcome.code == 0, outcome.err
    assert "RDM-v0, all trials" in outcome.out and "expected log Bayes factors" in outcome.out
    record = json.loads((tmp_path / "dots" / "fit" / "d" / "fit.json").read_text())["design"]
    assert record["trials"] == [20, 60] and record["scored"] == "choices"
    rows = {(row["true"], row["condition"]): row for row in record["rows"]}
    whole = rows["logistic", "all trials"]
    first, second = (each["value"] for each in whole["log_bayes_factor"])
    assert second > first > 0 and second > 3
    assert whole["correct"][-1] > 0.9
    assert whole["trials_needed"] == pytest.approx(3 * 60 / second)
    strong, weak = (rows["logistic", f"|coh| = {level}"]["log_bayes_factor"][-1]["value"] for level in ("0.512", "0"))
    assert strong > weak  # strong evidence separates an observer of the stimulus from one of rewards
    assert ngym("plot", tmp_path / "dots" / "fit" / "d", "design").code == 0
    again = ngym(*arguments)  # the fit is complete; only the design is made again
    assert again.code == 0 and "RDM-v0, all trials" in again.out


def test_designs_from_python_count_times_where_all_models_have_them(dots, tmp_path):
    options = {"design": "RDM-v0", "design_trials": (20,), "task_stimuli": "coh=signed coh*0.01"}
    design = ngym_cli.fit(dots, "ddm,ddm:start=false:lapse=0", folds=2, runs=tmp_path, **options)["design"]
    assert design["scored"] == "choices and times"
    assert {row["condition"] for row in design["rows"]} >= {"all trials", "|coh| = 0.512"}
    assert all(np.isfinite(row["log_bayes_factor"][0]["value"]) for row in design["rows"])


def test_bayes_factors_integrate_over_parameters():
    rng = np.random.default_rng(1)
    x = rng.choice([-1.0, 1.0], 300)
    choice = (rng.random(300) < 1 / (1 + np.exp(-2 * x))).astype(int)
    data = Behaviour((session(choice, stimuli=x[:, None], reward=(choice == (x > 0)) * 1.0),), stimuli=("x",))
    models = {"logistic": Logistic(0), "q": QLearning("q")}
    candidates = {}
    for label, model in models.items():
        fit = model.fit([Problem(data)])[0]
        laplace = (fit.details["unbounded"], fit.details["covariance"]) if "covariance" in fit.details else None
        candidates[label] = candidate_of(label, model, fit.policy, data, laplace, 0)
    assert len(candidates["logistic"].draws) == 1 < len(candidates["q"].draws)
    rows = compare("task", {label: [(candidates, data.sessions)] for label in models}, (100, 300), ("x",), False)
    both = {(row["true"], row["rival"]): row["log_bayes_factor"][-1]["value"] for row in rows}
    assert both["logistic", "q"] == pytest.approx(-both["q", "logistic"])  # the same data for both
    assert len(hardest({"trials": [100, 300], "repeats": 1, "scored": "choices", "rows": rows})) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "logistic", "--design", "RDM-v0"), "--design compares models"),
        (("--model", "logistic,bias", "--design", "RDMv0"), "RDM-v0"),
        (("--model", "logistic,ddm", "--task-stimuli", "coh=coh"), "--task-stimuli requires --design"),
        (
            ("--model", "logistic,win-stay-lose-shift", "--design", "RDM-v0", "--task-stimuli", "coh=cohh"),
            "--task-stimuli coh=NAME",
        ),
        (("--model", "logistic,ddm", "--design", "RDM-v0", "--design-trials", "0"), "design-trials"),
    ],
)
def test_mistakes_in_designs_get_one_line(dots, tmp_path, ngym, arguments, words):
    outcome = ngym("fit", dots, *arguments, "--folds", "2", "--runs", tmp_path)
    assert outcome.code == 2
    assert words in outcome.err
    assert len(outcome.err.strip().splitlines()[-1]) < 400
