"""Choices and times from the command line: scores, marks, formulas, notes."""

import csv
import json
import shutil

import numpy as np
import pytest

import ngym_cli as nc
from neurogym.behaviour.models import with_times
from neurogym.behaviour.models.agents import AgentPolicy
from neurogym.behaviour.models.base import Problem
from neurogym.behaviour.models.learning import QLearning
from neurogym.behaviour.models.responses import DiffusionResponse
from neurogym.behaviour.models.timed import ResponseParameters, TimedPolicy
from neurogym.behaviour.models.times import TimeSettings
from neurogym.behaviour.models.with_times import TimedModel, diffusion_response
from neurogym.behaviour.simulate import ReversingBandit, simulate
from neurogym.behaviour.table import Behaviour, session
from ngym_cli.evaluation import simulation
from ngym_cli.fitting.figure_data import FitPlotData
from ngym_cli.fitting.folder import FitFolder
from ngym_cli.fitting.networks import Recurrent
from ngym_cli.fitting.time_figures import timed_choices
from tests.ngym_cli.fitting.own import OWN

TWO = Behaviour((session([0, 1], reward=[1, 0]),))
VALUES = {"A": 0.9, "t_R": 0.3, "z": 0.5, "lapse": 0.03}


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """Two subjects with five sessions, whose drift depends on a block; some times are missing with a code."""
    path = tmp_path_factory.mktemp("times") / "dots.csv"
    rng = np.random.default_rng(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["subject", "session", "coh", "block", "choice", "rt"])
        for subject in ("anna", "bob"):
            for session in range(5):
                coh, block = rng.choice([-0.4, -0.1, 0.1, 0.4], 80), rng.choice(["a", "b"], 80)
                drift = (6 * coh + (block == "b"))[:, None]
                values = {name: np.array(value) for name, value in VALUES.items()}
                choice, rt = DiffusionResponse().sample(drift, values, rng)
                words = np.where(choice == 1, "right", "left")
                for row in zip(coh, block, words, rt.round(3), strict=True):
                    writer.writerow([subject, session, *row])
    return path


@pytest.fixture(scope="module")
def plain(timed, tmp_path_factory):
    """Folder of a fit of the diffusion to both subjects."""
    return nc.fit(timed, "ddm", folds=2, name="f", runs=tmp_path_factory.mktemp("runs")).path


def fit(ngym, *arguments, runs):
    """Return the record of a fit."""
    outcome = ngym("fit", *arguments, "--json", "--runs", runs)
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def test_formulas_and_times_are_scored_together_and_apart(timed, plain, tmp_path, ngym):
    record = fit(
        ngym,
        timed,
        *("--model", "ddm,logistic", "--times", "ddm", "--vary", "drift=coh + block,bound=block"),
        *("--folds", "2"),
        runs=tmp_path,
    )
    for label in ("ddm", "logistic"):
        score = record["models"][label]["time_score"]
        pieces = [score[name]["value"] for name in ("choice", "time")]
        assert score["together"]["value"] == pytest.approx(sum(pieces))
        assert 790 < score["trials"] <= 800  # a few anticipations are left out
    ddm, logistic = (record["models"][label]["time_score"]["together"]["value"] for label in ("ddm", "logistic"))
    assert ddm > logistic  # the block is in the drift
    assert {"drift: coh", "drift: block[T.b]", "log A: block[T.b]"} < set(record["models"]["ddm"]["parameters"]["anna"])
    again = ngym("fit", timed, "--model", "ddm", "--folds", "2", "--name", "f", "--runs", plain.parents[2])
    assert "held-out choice and time" in again.out


def test_posterior_predictive_figures_are_drawn_and_explained_where_they_cannot_be(timed, plain, tmp_path, ngym):
    names = ("quantiles", "accuracy", "times", "delta")
    drawn = ngym("plot", plain, *names)
    assert drawn.code == 0, drawn.err
    assert all((plain / "figures" / f"{name}.png").stat().st_size > 5000 for name in names)
    fit(ngym, timed, "--model", "logistic", "--folds", "2", "--name", "g", runs=tmp_path)
    refused = ngym("plot", tmp_path / "dots" / "fit" / "g", "quantiles")
    assert refused.code == 2
    assert "no model of times was fitted" in refused.err


def test_predictive_quantiles_are_those_of_the_data(timed, tmp_path, ngym):
    fit(ngym, timed, "--model", "ddm", "--vary", "drift=coh + block", "--folds", "2", "--name", "f", runs=tmp_path)
    content = FitPlotData(FitFolder(tmp_path / "dots" / "fit" / "f"))
    rows, names = timed_choices(content)
    data, model = rows
    assert names == ["|coh| = 0.1", "|coh| = 0.4"]
    for k in range(2):
        assert data.of(k).right.mean() == pytest.approx(model.of(k).right.mean(), abs=0.05)
        assert np.quantile(data.of(k).rt, 0.5) == pytest.approx(np.quantile(model.of(k).rt, 0.5), abs=0.06)


@pytest.mark.usefixtures("in_process")
def test_subjects_fitted_together_and_one_by_one_have_the_same_times(timed, plain, tmp_path, ngym):
    alone = fit(ngym, timed, "--model", "ddm", "--folds", "2", "--on", "local", runs=tmp_path)
    assert alone["models"] == json.loads((plain / "fit.json").read_text())["models"]


def test_hierarchical_diffusion_draws_subjects_together(timed, tmp_path, ngym):
    record = fit(ngym, timed, "--model", "ddm", "--folds", "2", "--subjects", "hierarchical", runs=tmp_path)
    group = record["models"]["ddm"]["group"]
    assert np.exp(group["A"]["mean"]) == pytest.approx(0.9, abs=0.15)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "logistic", "--vary", "bound=block"), "--vary needs a model of times"),
        (("--model", "logistic", "--times", "ddm", "--vary", "drift=coh"), "--vary drift needs --model ddm"),
        (("--model", "ddm", "--vary", "bound"), "expected PARAMETER=FORMULA"),
        (("--model", "ddm", "--vary", "bound=blok"), "column 'blok'"),
        (("--model", "logistic:lapse=0.1"), "lapse needs times=ddm"),
        (("--model", "ddm:lapse=0.9"), "lapse"),
        (("--model", "ddm:collapse=linear:time_range=true"), "collapsing bounds exclude"),
        (("--model", "logistic", "--fix", "lapse=0"), "--fix needs a model of times"),
        (("--model", "ddm", "--fix", "lapse"), "expected PARAMETER=NUMBER"),
        (("--model", "ddm", "--fix", "laps=0"), "did you mean 'lapse'"),
        (("--model", "ddm", "--fix", "lapse=2"), "between 0 and 0.5"),
        (("--model", "ddm", "--fix", "bound=1", "--vary", "bound=block"), "--fix and --vary both name bound"),
        (("--model", "ddm", "--vary", "bound=state"), "column 'state'"),
        (("--model", "ddm", "--transition", "reward"), "--transition needs --model glm-hmm"),
        (("--model", "ddm", "--between", "block"), "--between needs --subjects hierarchical"),
    ],
)
def test_mistakes_in_options_of_times_get_one_line(timed, tmp_path, ngym, arguments, words):
    outcome = ngym("fit", timed, *arguments, "--folds", "2", "--runs", tmp_path)
    assert outcome.code == 2
    assert words in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


def test_estimates_without_meaning_are_marked_in_terminal_record_and_report(timed, tmp_path, ngym):
    rows = list(csv.DictReader(timed.open()))
    path = tmp_path / "noise.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        rng = np.random.default_rng(1)
        for row in rows:
            writer.writerow(row | {"choice": rng.choice(["left", "right"]), "rt": 0.5 + 1e-4 * rng.random()})
    outcome = ngym("fit", path, "--model", "ddm", "--folds", "2", "--name", "noise", "--runs", tmp_path)
    assert outcome.code == 0
    record = json.loads((tmp_path / "noise" / "fit" / "noise" / "fit.json").read_text())["models"]["ddm"]
    (name, mark), *_ = record["marks"]["anna"].items()
    assert record["parameters"]["anna"][name]["low"] is None
    assert mark in outcome.out
    page = ngym("report", tmp_path / "noise" / "fit" / "noise")
    assert page.code == 0
    assert mark in (tmp_path / "noise" / "fit" / "noise" / "report.html").read_text()


@pytest.mark.parametrize(
    "names",
    [
        "ddm,logistic",
        pytest.param("glm-hmm:states=2", marks=pytest.mark.long),
        pytest.param("q-learning:times=ddm,psytrack", marks=pytest.mark.long),
    ],
)
def test_a_subject_alone_and_among_others_has_the_same_fit(timed, tmp_path, ngym, names):
    models = ("--model", names, "--folds", "2", "--derive", "reward=(choice == 'right') * (coh > 0)")
    both = fit(ngym, timed, *models, "--name", "both", runs=tmp_path)["models"]
    alone = fit(ngym, timed, *models, "--where", "subject == bob", "--name", "alone", runs=tmp_path)["models"]
    for label in both:
        for key in ("parameters", "log_likelihood", "marks", "notes"):
            assert both[label].get(key, {}).get("bob") == alone[label].get(key, {}).get("bob"), (label, key)


def as_by_an_earlier_version(folder):
    """Rewrite a fit as versions did whose diffusion had k, A, t_R and x0 alone."""
    np.savez(
        folder / "models" / "ddm.npz",
        held_out=np.load(folder / "models" / "ddm.npz")["held_out"],
        **{f"policy{k}.values": np.array([5.1 + k, 0.85, 0.33, -0.09]) for k in range(2)},
    )
    for path in (folder / "fit.json", folder / "models" / "ddm.json"):
        record = json.loads(path.read_text())
        models = record.get("models", {"ddm": record})
        for name in ("time_score", "marks", "notes"):
            models["ddm"].pop(name, None)
        for parameters in models["ddm"]["parameters"].values():
            for name in ("z", "lapse"):
                parameters.pop(name)
        path.write_text(json.dumps(record))


def test_fits_of_earlier_versions_are_read(timed, plain, tmp_path, ngym):
    folder = tmp_path / "dots" / "fit" / "f"
    shutil.copytree(plain, folder)
    as_by_an_earlier_version(folder)
    for command in ("report", "export"):
        assert ngym(command, folder).code == 0
    assert ngym("plot", folder, "likelihood").code == 0
    refused = ngym("plot", folder, "quantiles")
    assert refused.code == 2 and len(refused.err.strip().splitlines()) == 1
    simulated = ngym(
        "eval",
        folder,
        *("--simulate", "RDM-v0", "--model", "ddm", "--subject", "bob", "--trials", "40"),
        *("--stimuli", "coh=signed coh*0.01", "--runs"),
        tmp_path,
    )
    assert simulated.code == 0, simulated.err
    again = ngym("fit", timed, "--model", "ddm", "--folds", "2", "--name", "f", "--runs", tmp_path)
    assert again.code == 0, again.err


def test_models_with_times_act_in_tasks(timed, tmp_path, ngym):
    options = ("--times", "ddm", "--vary", "bound=block", "--fix", "lapse=0", "--folds", "2")
    fit(ngym, timed, "--model", "logistic", *options, "--name", "g", runs=tmp_path)
    simulated = ngym(
        "eval",
        tmp_path / "dots" / "fit" / "g",
        *("--simulate", "RDM-v0", "--model", "logistic", "--subject", "bob", "--trials", "200"),
        *("--stimuli", "coh=signed coh*0.01", "--json", "--runs"),
        tmp_path,
    )
    assert simulated.code == 0, simulated.err
    summary = json.loads(simulated.out)
    assert summary["performance"] > 0.7 and "times of logistic are not simulated" in summary["warnings"][-1]


def test_simulated_times_are_those_of_the_model(plain, tmp_path):
    run = nc.simulate(
        plain,
        "perceptualdecisionmaking.roitman02-v0",
        subject="bob",
        model="ddm",
        stimuli="coh=signed coh*0.01",
        trials=300,
        runs_root=tmp_path,
    )
    policy = simulation.load(FitFolder(plain), "ddm", "bob")[2]
    trials = run.evaluations[0].trials
    sides = np.where(np.asarray(trials["ground_truth"]) == 1, -1, 1)
    stimuli = (np.asarray(trials["coh"], float) * 0.01 * sides)[:, None]
    _, rt = policy.respond(policy.begin(300), stimuli, np.random.default_rng(0))
    found = np.asarray(trials["rt"], float)
    assert np.isfinite(found).mean() == pytest.approx((rt < 2).mean(), abs=0.06)
    assert np.nanmedian(found) / 1000 == pytest.approx(np.median(rt[rt < 2]), rel=0.15)
    assert not run.evaluations[0].summary["warnings"]


@pytest.mark.parametrize(
    "names",
    [
        "ddm,glm-hmm:states=2",  # times together with choices, and after them
        pytest.param("ddm,lba,logistic,psytrack,q-learning,gru:seeds=1,disentangled", marks=pytest.mark.long),
    ],
)
def test_every_kind_of_model_has_times(timed, tmp_path, ngym, names):
    own = tmp_path / "own.py"
    own.write_text(OWN)
    models = f"{names},{own}:Mine"
    options = ("--times", "ddm", "--fix", "lapse=0.03", "--folds", "2", "--where", "subject == bob")
    reward = ("--derive", "reward=(choice == 'right') * (coh > 0)")
    record = fit(ngym, timed, "--model", models, *options, *reward, runs=tmp_path)
    labels = [label for label in record["models"] if label != "bias"]
    assert len(labels) == len(models.split(","))
    for label in labels:
        score = record["models"][label]["time_score"]
        assert score["together"]["value"] == pytest.approx(score["choice"]["value"] + score["time"]["value"])
        assert score["trials"] == record["models"]["ddm"]["time_score"]["trials"]
        assert "lapse" not in record["models"][label]["parameters"]["bob"]


@pytest.mark.long
def test_networks_learn_from_choices_and_times(monkeypatch):
    """Strong evidence makes nearly certain choices, and only times tell how strong it is."""
    rng, learner, response = np.random.default_rng(1), QLearning("q"), diffusion_response()
    parameters, values = (
        learner.parameters(TWO),
        {"alpha": 0.6, "beta": 4.0, "A": 1.3, "t_R": 0.4, "z": 0.5, "lapse": 0.01},
    )
    x = np.array([each.unbounded(values.get(each.name, 0.0)) for each in parameters])
    response_x = np.array([each.unbounded(values[each.name]) for each in response.parameters])
    inner = AgentPolicy(learner, parameters, x, 2)
    truth = TimedPolicy(inner, ResponseParameters(response), response_x, TimeSettings())
    table = simulate(truth, ReversingBandit(12, 150, 2, rng), TWO, rng)
    train, new = table.only(table.sessions[:8]), table.sessions[8:]
    scores = []
    for rounds in (0, 2):
        monkeypatch.setattr(with_times, "ROUNDS", rounds)
        fit = TimedModel(Recurrent("gru", "gru", 2, seeds=1)).fit([Problem(train)])[0]
        scores.append(float(np.mean(np.concatenate(fit.policy.log_densities(new)))))
    assert scores[1] > scores[0] + 0.01


def test_options_of_diffusions_are_refused_for_races(timed, tmp_path, ngym):
    for model in ("lba:drift_sd=true", "logistic:times=lba:collapse=linear"):
        outcome = ngym("fit", timed, "--model", model, "--folds", "2", "--runs", tmp_path)
        assert outcome.code == 2 and "requires the diffusion model" in outcome.err
