"""Fits of tables: scores on held-out sessions, folders that resume, one-line errors."""

import json
import pickle
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ngym_cli as nc
from neurogym.behaviour.models.base import Problem, log_likelihoods, predict
from neurogym.behaviour.models.logistic import Logistic
from neurogym.behaviour.table import Behaviour, session
from ngym_cli import fit
from ngym_cli.errors import Question, UserError
from ngym_cli.evaluation import simulation
from ngym_cli.figures.files import FigureFiles
from ngym_cli.fitting import disentangled, figures, registry, requests
from ngym_cli.fitting import folder as fits
from ngym_cli.fitting.readout import fit_readout
from ngym_cli.fitting.request import FitSettings
from ngym_cli.fitting.settings import read_data
from ngym_cli.fitting.validation import FitData, mixture, prepared, validate
from tests.ngym_cli.fitting.own import OWN


def test_history_beats_no_history_and_a_second_call_resumes(rat, tmp_path, monkeypatch):
    result = fit(rat, model="logistic,logistic:history=1", runs=tmp_path / "runs", name="a", test=rat)
    scores = {name: row["log_likelihood"]["value"] for name, row in result["scores"].items()}
    assert scores["logistic:history=1"] > scores["logistic"] + 0.02 > scores["bias"] > scores["chance"] - 0.02
    assert scores["chance"] == pytest.approx(np.log(0.5))
    assert result["test_scores"]["logistic"]["trials"] == 640
    assert json.loads((Path(result["path"]) / "fit.json").read_text())["status"] == "finished"
    monkeypatch.setattr(requests.validation, "validate", None)  # nothing is fitted again
    again = fit(rat, model="logistic,logistic:history=1", runs=tmp_path / "runs", name="a", test=rat)
    assert again["scores"] == result["scores"]
    with pytest.raises(UserError, match="other settings or data"):
        fit(rat, model="logistic", runs=tmp_path / "runs", name="a")


def test_figures_of_a_fit_are_drawn_and_others_say_why_not(rat, tmp_path):
    result = fit(rat, model="psytrack,glm-hmm:states=2", folds=2, runs=tmp_path / "runs", name="f")
    path = fits.named("f", tmp_path / "runs")
    assert str(path.path) == result["path"] == str(fits.named("latest", tmp_path / "runs").path)
    assert len(figures.draw(path, ["likelihood", "likelihood"], FigureFiles())) == 1
    rows = figures.draw(path, (), FigureFiles())
    assert [row["id"] for row in rows] == list(figures.FIT_FIGURES)
    reasons = {row["id"]: row["reason"] for row in rows if row["path"] is None}
    assert all(Path(row["path"]).stat().st_size > 5000 for row in rows if row["path"] is not None)
    missing = {"bottlenecks": "disentangled", "trace": "--posterior", "design": "--design TASK"}
    missing |= dict.fromkeys(("quantiles", "accuracy", "times", "delta"), "no model of times")
    assert reasons.keys() == missing.keys() and all(words in reasons[name] for name, words in missing.items())
    fit(rat, model="logistic", folds=2, runs=tmp_path / "runs", name="g")
    with pytest.raises(UserError, match="glm-hmm"):
        figures.draw(fits.named("g", tmp_path / "runs"), ["states"], FigureFiles())
    with pytest.raises(UserError, match="did you mean 'phase'"):
        figures.draw(path, ["fase"], FigureFiles())


@pytest.mark.long
def test_figures_show_the_weights_of_each_of_three_choices(tmp_path):
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"stimulus": rng.normal(size=150).round(2), "choice": rng.choice([*"abc"], 150)})
    data.to_csv(tmp_path / "three.csv", index=False)
    models = "psytrack:history=0,glm-hmm:states=2:history=0"
    result = fit(tmp_path / "three.csv", model=models, folds=1, runs=tmp_path / "runs", name="f")
    assert {"state 2: stimulus -> c", "state 1: stay"} <= {
        *result["models"][models.split(",")[1]]["parameters"]["subject"]
    }
    path = fits.named("f", tmp_path / "runs")
    labels = ["weight (logit of b against a)", "weight (logit of c against a)"]
    for name in ("weights", "states"):
        axes = figures.figure_of(path, name).axes[-2:]
        assert [each.get_ylabel() for each in axes] == labels and all(len(each.lines) >= 2 for each in axes)
    assert [each.get_text() for each in axes[1].get_xticklabels()] == ["bias", "stimulus"]


def test_held_out_sessions_are_not_seen():
    rng = np.random.default_rng(1)
    table = Behaviour(tuple(session(rng.integers(0, 2, 50), name=str(k)) for k in range(6)))
    data = prepared(FitData(table, FitSettings(table="table", folds=3)))
    model = registry.build(["logistic:history=1"], (), 1)["logistic:history=1"]
    outcome = validate(model, data)
    saved = [each for k, each in enumerate(data.table.sessions) if k % 3 != 1]
    policy = model.fit([Problem(data.table.only(saved))])[0].policy
    np.testing.assert_allclose(outcome.held_out[50:100], predict(policy, [data.table.sessions[1]])[0])


@pytest.mark.parametrize(
    "cell", ["gru", *(pytest.param(cell, marks=pytest.mark.long) for cell in ("lstm", "rnn", "ctrnn"))]
)
def test_networks_learn_history(cell, rat, tmp_path):
    result = fit(rat, model=cell, units=2, folds=2, seeds=1, runs=tmp_path / "runs")
    scores = {name: row["log_likelihood"]["value"] for name, row in result["scores"].items()}
    assert scores[f"{cell}:units=2"] > scores["bias"] + 0.05


@pytest.mark.parametrize("cell", ["gru", "lstm", "rnn"])
def test_cells_have_the_weights_of_those_of_torch_as_earlier_fits_have(cell):
    import torch

    rng, model = np.random.default_rng(0), registry.build([f"{cell}:units=3"], (), 1)[f"{cell}:units=3"]
    w, x = model.drawn(Behaviour(()), 1, rng), rng.normal(size=(6, 4))
    module = getattr(torch.nn, cell.upper())(4, 3).double()
    module.load_state_dict({name[5:]: torch.tensor(each) for name, each in w.items() if name.startswith("cell.")})
    expected = module(torch.tensor(np.vstack([np.zeros(4), x])))[0].detach().numpy()
    state = model.begin(w)
    for row in x:
        state = model.update(w, state, model.drive(w, row, np.ones(1)))
    np.testing.assert_allclose(state[0], expected[-1], atol=1e-12)


@pytest.mark.parametrize("model", [pytest.param("gru:units=1", marks=pytest.mark.long), "gru:units=1:drift=true"])
def test_a_pooled_network_has_weights_of_each_subject(model):
    rng = np.random.default_rng(5)
    sessions = [
        session(rng.random(60) < p, name=str(k), subject=who) for k in range(5) for who, p in (("a", 0.9), ("b", 0.1))
    ]
    table, fitted = Behaviour(tuple(sessions)), registry.build([model], (), 1)[model]
    policy = fitted.fit([Problem(table)])[0].policy
    loaded = fitted.from_arrays(fitted.to_arrays(policy), Behaviour(()))
    a, b = predict(loaded, sessions[:2])
    assert a[0, 1] > 0.7 and b[0, 1] < 0.3  # without any past
    np.testing.assert_allclose(predict(policy, sessions[:2])[1], b)


def test_the_size_is_said_first_and_the_table_names_baselines(rat, tmp_path, ngym):
    settings = ("fit", rat, "--model", "logistic,psytrack", "--folds", "2", "--runs", tmp_path / "runs", "--name", "t")
    result = ngym(*settings)
    assert result.code == 0, result.err
    first = result.err.splitlines()[0]
    assert first == "3 models to fit to 640 trials, 2 folds"
    heads = {line.split("  ")[0]: line for line in result.out.splitlines()}
    assert {"chance (baseline)", "bias (baseline)", "mixture (of all models)"} <= set(heads)
    assert sum("best" in line.split() for line in heads.values()) == 2  # the heading and the best model
    assert ngym(*settings).err.startswith("0 models to fit")


def test_results_of_a_subject_fit_on_a_screen_and_flags_show_the_rest(rat, people, tmp_path, ngym):
    models = ",".join(["psytrack", "glm-hmm:states=2", *(f"logistic:history={k}" for k in range(1, 9))])
    command = ("fit", rat, "--model", models, "--folds", "2", "--runs", tmp_path / "runs", "--name", "s")
    text = ngym(*command).out
    lines = text.splitlines()
    assert sum(1 + (len(line) - 1) // 80 for line in lines) <= 24
    assert max(len(line) for line in lines[:10]) <= 80 and lines[10] == "and 4 more (--full)"
    record = json.loads(ngym(*command, "--json").out)
    best = fits.best_first(record)[0]
    assert f"{best}, subject" in lines and "not shown: parameters of 9 other models" in text
    assert fits.verdict(record) in text and fits.verdict(record).startswith(f"tie: {best} predicts best, but not")
    full = ngym(*command, "--full").out
    assert all(f"{label}, subject" in full for label in record["models"] if label != "bias")
    several = ("fit", people, "--model", "q-learning", "--folds", "2", "--runs", tmp_path / "runs", "--name", "p")
    first = ngym(*several).out
    assert "q-learning, s0" in first and "q-learning, s1" not in first and "--subjects-shown" in first
    assert "q-learning, s1" in ngym(*several, "--subjects-shown", "2").out


def test_the_verdict_says_who_wins_or_that_nobody_does(rat, tmp_path):
    record = fit(rat, "logistic,logistic:history=1", folds=2, runs=tmp_path / "runs")
    assert fits.verdict(record).startswith("logistic:history=1 predicts best; the next, logistic, is behind by -0.")
    rng = np.random.default_rng(0)
    coin = {"choice": rng.integers(0, 2, 200), "x": rng.normal(size=200), "session": np.arange(200) // 20}
    guessed = nc.fit(coin, "logistic", stimuli="x", folds=5, runs_root=tmp_path / "runs")
    assert fits.verdict(guessed.record).startswith("tie: no model predicts better than a constant preference")


def test_without_models_those_that_suit_the_table_are_fitted(rat, people):
    seen, bandit = (read_data(FitSettings(table=path)).table for path in (rat, people))
    names = "logistic logistic:history=5 psytrack glm-hmm gru gru:drift=true disentangled:drift=true"
    assert registry.suited(seen, "each") == tuple(names.split())
    assert {"q-learning", "q-learning-forgetting", "psytrack"} < {*registry.suited(bandit, "each")}
    assert registry.suited(bandit, "hierarchical") == ("logistic:history=5", "q-learning", "q-learning-forgetting")
    arms = Behaviour((session([0, 1, 2], reward=[1, 0, 1]),), ("a", "b", "c"))
    assert registry.suited(arms, "each")[-2:] == ("gru", "disentangled")
    assert "q-learning" in registry.suited(arms, "each")
    two = Behaviour((session([0, 1], reward=[1, 0], state=[0, 1], choice2=[0, 1]),))
    assert {"hybrid", "model-based", "model-free"} < {*registry.suited(two, "each")}
    result = fit(people, subjects="hierarchical", folds=1)
    assert result["settings"]["model"] == list(registry.suited(bandit, "hierarchical"))


def test_a_test_table_with_a_new_subject_is_refused_before_any_fit(people):
    Path("later.csv").write_text(people.read_text().replace("s3,", "s9,"))
    with pytest.raises(UserError, match="test= has subject s9"):
        fit(people, "rescorla-wagner", test="later.csv", folds=2)
    assert not Path("runs").exists()
    assert fit(people, "rescorla-wagner", test="later.csv", folds=2, subjects="pooled")["test_scores"]


def test_models_that_cannot_be_hierarchical_are_refused_before_any_fit(rat, tmp_path):
    with pytest.raises(UserError, match="hierarchically: psytrack, gru:units=2;"):
        fit(rat, "q-learning,psytrack,gru", subjects="hierarchical", runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_disentangled_network_learns_history_and_reports_its_bottlenecks(rat, tmp_path, monkeypatch):
    monkeypatch.setattr(disentangled, "WARM", 30)
    monkeypatch.setattr(disentangled, "EPOCHS", 60)
    model = "disentangled:latents=2:penalty=0.01"
    result = fit(rat, model=model, folds=2, name="d", runs=tmp_path / "runs")
    scores = {name: row["log_likelihood"]["value"] for name, row in result["scores"].items()}
    assert scores[model] > scores["bias"] + 0.05
    values = {key: each["value"] for key, each in result["models"][model]["parameters"]["subject"].items()}
    assert values["sigma of latent 1"] < 0.2 and values["sigma of latent 1"] < values["sigma of latent 2"] < 1
    fitted = fits.find("d", tmp_path / "runs")
    policy = simulation.load(fitted, model)[2]
    table = prepared(read_data(FitSettings(table=rat, folds=2))).table
    pairs = zip(predict(policy, table.sessions), table.sessions, strict=True)
    assert np.mean([np.nanmean(log_likelihoods(p, s.choice)) for p, s in pairs]) > scores["bias"] + 0.05
    rows = figures.draw(fitted, ["bottlenecks", "simulated"], FigureFiles())
    assert all(Path(row["path"]).stat().st_size > 5000 for row in rows)


@pytest.mark.long
def test_a_pooled_disentangled_network_learns_an_embedding_of_subjects(monkeypatch):
    monkeypatch.setattr(disentangled, "WARM", 30)
    monkeypatch.setattr(disentangled, "EPOCHS", 60)
    rng = np.random.default_rng(5)
    sessions = []
    for k in range(10):
        x, w = rng.normal(size=(60, 1)), 2 if k % 2 else -2
        choice = rng.random(60) < 1 / (1 + np.exp(-w * x[:, 0]))
        sessions.append(session(choice, name=str(k), subject="ab"[k % 2], stimuli=x))
    table = Behaviour(tuple(sessions), stimuli=("x",))
    model = registry.build(["disentangled:latents=2"], (), 1)["disentangled:latents=2"]
    folds = model.fit([Problem(table), Problem(table.only(sessions[:6]), 1)])  # folds are trained together
    policy = model.from_arrays(model.to_arrays(folds[0].policy), table)
    mean = np.mean([log_likelihoods(p, s.choice) for p, s in zip(predict(policy, sessions), sessions, strict=True)])
    assert mean > -0.55  # one weight for both subjects gives -0.69
    assert "subject, 1" in folds[0].details["bottleneck_names"]


def test_a_drifting_readout_follows_a_bias_that_changes():
    rng = np.random.default_rng(3)
    bias = np.where(np.arange(200) < 100, 2.0, -2.0)
    sessions = tuple(session(rng.random(200) < 1 / (1 + np.exp(-bias)), name=str(k)) for k in range(6))
    table = Behaviour(sessions)
    plain = Logistic(0).fit([Problem(table)])[0].policy
    drifting = fit_readout(plain, table.only(sessions[:4]), "bias")
    fixed, followed = (
        np.mean([log_likelihoods(p, s.choice) for p, s in zip(predict(each, sessions[4:]), sessions[4:], strict=True)])
        for each in (plain, drifting)
    )
    assert followed > fixed + 0.1


def test_a_mixture_follows_the_better_model():
    choice = np.tile([0, 0, 1], 60)
    each = session(choice)
    good = np.where(np.arange(2) == choice[:, None], 0.8, 0.2)
    mixed = mixture([good, 1 - good], [each])
    np.testing.assert_allclose(mixed[0], 0.5)
    assert log_likelihoods(mixed, choice)[20:].mean() > np.log(0.78)


@pytest.mark.long
def test_hierarchical_fits_draw_subjects_together(tmp_path):
    rng, rows = np.random.default_rng(2), ["subject,session,choice,reward"]
    for who in range(4):
        for k in range(4):
            for _ in range(15):
                choice = rng.integers(2)
                rows.append(f"s{who},{k},{choice},{int(rng.random() < (0.8 if choice else 0.2))}")
    path = tmp_path / "people.csv"
    path.write_text("\n".join(rows) + "\n")
    distance, drawn = (
        fit(path, model="rescorla-wagner", folds=2, subjects=how, runs=tmp_path / how)
        for how in ("each", "hierarchical")
    )
    spread = [
        np.std([private["beta"]["value"] for private in result["models"]["rescorla-wagner"]["parameters"].values()])
        for result in (distance, drawn)
    ]
    assert spread[1] < spread[0]
    group = drawn["models"]["rescorla-wagner"]["group"]["beta"]
    assert 0 < group["sd"] < 0.6 and "group" not in distance["models"]["rescorla-wagner"]
    pooled = fit(path, model="rescorla-wagner", folds=1, subjects="pooled", runs=tmp_path / "pooled")
    assert list(pooled["models"]["rescorla-wagner"]["parameters"]) == ["all"]


def test_a_model_of_ones_own_in_a_file(rat, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(OWN)
    result = fit(rat, model="mine.py:Mine", folds=2, runs=tmp_path / "runs")
    assert 1.2 < result["models"]["mine.py:Mine"]["parameters"]["subject"]["w"]["value"] < 2.8


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("logits = lambda *_: 1 / 0", "division by zero"),
        ("logits = lambda *_: jnp.zeros(3)", r"shape \(3,\), expected \(2,\)"),
        ("logits = lambda *_: jnp.array([0.0, jnp.nan])", "expected finite logits"),
        ("update = lambda *_: {'q': 0.0}", r"update returned \['q'\], begin \[\]"),
    ],
)
def test_what_is_wrong_in_a_model_of_ones_own_is_one_line(code, words, rat, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(f"{OWN}class Wrong(Mine):\n    {code}\n")
    with pytest.raises(UserError, match=words):
        fit(rat, model="mine.py:Wrong", folds=2, runs=tmp_path / "runs")


def test_a_plain_function_of_earlier_versions_is_refused_with_what_to_write(rat, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("PARAMETERS = {}\ndef plain(params, state, choice, reward, stimulus): ...\n")
    with pytest.raises(UserError, match="expected a class with begin, logits and update"):
        fit(rat, model="mine.py:plain", folds=2, runs=tmp_path / "runs")


def test_learners_of_ones_own_are_fitted_to_many_subjects_as_those_of_the_package(people, tmp_path):
    """It is that of the page for authors."""
    page = (Path(__file__).parents[3] / "docs/guide/own_parts.md").read_text(encoding="utf-8")
    code = page[page.index("    import jax.numpy") : page.index("`ngym fit` adds a bias")]
    Path("learners.py").write_text(textwrap.dedent(code))
    names = ["learners.py:DualRate", "rescorla-wagner"]
    result = fit(people, model=",".join(names), folds=2, subjects="hierarchical", runs=tmp_path / "own")
    assert {"fast", "slow", "beta", "bias"} <= set(result["models"][names[0]]["group"])
    scores = [result["scores"][name]["log_likelihood"]["value"] for name in names]
    assert min(scores) > scores[-1] - 0.05


def test_the_model_that_ngym_new_writes_is_fitted(rat, tmp_path, monkeypatch, ngym):
    monkeypatch.chdir(tmp_path)
    assert ngym("new", "model", "learner.py").out.startswith("learner.py written")
    result = ngym("fit", rat, "--model", "learner.py:Learner", "--folds", "2", "--json")
    assert result.code == 0, result.err
    fitted = json.loads(result.out)["models"]["learner.py:Learner"]["parameters"]["subject"]
    assert 0.5 < fitted["stickiness"]["value"] < 3.5  # the rat repeats its last choice
    assert "name the class in it, as learner.py:Learner" in ngym("fit", rat, "--model", "learner.py").err


@pytest.mark.long
def test_recovery_finds_the_model_that_simulated(rat, tmp_path):
    result = fit(rat, model="logistic,win-stay-lose-shift", folds=2, runs=tmp_path / "runs", recover=2)["recovery"]
    assert set(result["confusion"]) == {"logistic", "win-stay-lose-shift"}
    assert result["confusion"]["win-stay-lose-shift"]["win-stay-lose-shift"] >= 0.5
    assert result["parameters"]["win-stay-lose-shift"]["epsilon_win"]["coverage"] >= 0.5


def test_models_without_second_stage_choices_are_simulated_in_a_two_step_task(tmp_path):
    rng, rows = np.random.default_rng(0), ["session,trial,choice,state,choice2,reward"]
    for k in range(2):
        rows += [f"{k},{t},{','.join(map(str, rng.integers(0, 2, 4)))}" for t in range(30)]
    path = tmp_path / "two.csv"
    path.write_text("\n".join(rows) + "\n")
    result = fit(path, model="q-learning,win-stay-lose-shift", folds=2, runs=tmp_path / "runs", recover=2)
    assert set(result["recovery"]["confusion"]) == {"q-learning", "win-stay-lose-shift"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": "grue"}, "did you mean 'gru'"),
        ({"model": "glm-hmm:state=2"}, "did you mean 'states'"),
        ({"model": "glm-hmm:states=9"}, "states must be 2 to 4"),
        ({"model": "gru", "units": 99}, "units must be 1 to 64"),
        ({"model": "ddm"}, "reaction times"),
        ({"model": "logistic", "folds": 0}, "folds must be 1 to 1,000, not 0"),
        ({"model": "gru", "units": 2.5}, "units must be a whole number, not 2.5"),
        ({"model": "gru", "units": [2, True]}, "units must be a number, not true"),
        ({"model": "gru", "units": "1,2.5"}, "'2.5' is not a whole number"),
        ({"model": "gru", "units": "1,024"}, "'024' begins with 0"),
        ({"model": "logistic", "seed": -1}, "seed must be at least 0, not -1"),
        ({"model": "logistic", "folds": 2.5}, "folds must be a whole number, not 2.5"),
        ({"model": "logistic", "subjects": "pool"}, "did you mean 'pooled'"),
        ({"model": "gru", "subjects": "hierarchical"}, "cannot be fitted hierarchically"),
        ({"model": "logistic:history=-1"}, "history must be 0 to 50"),
        ({"model": "gru:learning_rate=0"}, "learning_rate must be 1e-06 to 1"),
        ({"model": "logistic", "fold": 3}, "did you mean 'folds'"),
        ({"model": "logistic", "choice": "coice"}, "did you mean 'choice'"),
    ],
)
def test_mistakes_get_one_line(rat, tmp_path, settings, words):
    with pytest.raises(UserError) as error:
        fit(rat, runs=tmp_path / "runs", **settings)
    assert words in str(error.value) and "\n" not in str(error.value)
    assert not list((tmp_path / "runs").rglob("*.*"))


@pytest.mark.parametrize(
    "model",
    [
        *("logistic:history=1", "psytrack", "glm-hmm:states=2", "gru", "own"),
        *(pytest.param(model, marks=pytest.mark.long) for model in ("bias", "q-learning", "gru:drift=true")),
    ],
)
def test_saved_policies_predict_as_fitted_ones(model, rat, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if model == "own":
        model = "mine.py:Mine"
        Path("mine.py").write_text(OWN)
    result = fit(rat, model=model, units=2, folds=2, seeds=1, name="a")
    label = list(result["models"])[-1]
    label, _, policy, _ = simulation.load(fits.find("a", Path("runs")), label)
    table = prepared(read_data(FitSettings(table=rat, folds=2))).table
    built = registry.build([model], (2,), 1)[label]
    again = built.fit([Problem(table, 0)])[0].policy
    for first, second in zip(predict(policy, table.sessions), predict(again, table.sessions), strict=True):
        np.testing.assert_allclose(first, second, atol=1e-6)


def test_a_fitted_model_acts_in_a_task_like_any_agent(rat, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = fit(rat, model="logistic:history=1", folds=2, name="a")
    run = nc.simulate(result, "RDM-v0", stimuli="coh=signed coh*0.02", trials=1500, task_args={"cohs": [0, 25, 50]})
    trials = run.evaluations[0].trials
    assert len(trials) == 1500 and run.manifest()["fit"]["model"] == "logistic:history=1"
    right = trials["performance"][trials["coh"] == 50]
    assert right.mean() > 0.8 and len(right) > 300
    assert run.plot("psychometric") is not None
    with pytest.raises(UserError, match="exists"):
        nc.simulate(result, "RDM-v0")
    with pytest.raises(UserError, match="no simple response rule"):
        nc.simulate(result, "DawTwoStep-v0", stimuli="coh=hi_state")
    with pytest.raises(UserError, match="did you mean 'coh'"):
        nc.simulate(result, "RDM-v0", stimuli="coh=cho", name="b")
    for message, wrong in {
        "trials must be 1 to 10,000,000, not 0": {"trials": 0},
        "expected NAME=COLUMN": {"stimuli": "coh=coh*1.2.3"},
        "appears twice": {"stimuli": "coh=coh,coh=coh*2"},
        "no such table of trials": {"compare": "nowhere.csv"},
        "which compare= names": {"columns": "map.toml"},
    }.items():
        with pytest.raises(UserError, match=message):
            nc.simulate(result, "RDM-v0", overwrite=True, **wrong)
    assert run.manifest()["status"] == "finished" and len(run.evaluations[0].trials) == 1500
    neighbour = nc.simulate(result, "RDM-v0", stimuli="coh=signed coh*0.02", trials=100, name="c", compare=rat)
    assert neighbour.evaluations[0].summary["comparison"]["data"] == str(rat)


@pytest.mark.usefixtures("in_process")
def test_subjects_are_fitted_one_by_one_with_the_same_result(people, ngym):
    model = ("--model", "rescorla-wagner,logistic:history=1", "--folds", "2", "--json")
    rows = ngym("fit", people, *model, "--name", "here")
    valid = ngym("fit", people, *model, "--name", "there", "--on", "local", "--workers", "2")
    assert valid.code == 0, valid.err
    first, second = json.loads(rows.out), json.loads(valid.out)
    for name in ("models", "scores"):  # up to rounding: batches of other sizes are added in another order
        here, there = (pd.json_normalize(each[name]) for each in (first, second))
        pd.testing.assert_frame_equal(here, there, rtol=1e-4, atol=1e-6)
    assert not list(Path("runs/people/fit/there").glob("subjects"))
    refused = ngym("fit", people, "--on", "local", "--subjects", "pooled")
    assert refused.code == 2 and "--subjects each" in refused.err and refused.err.count("\n") == 1
    assert "did you mean 'slurm'" in ngym("fit", people, "--on", "slrm").err


def test_a_model_without_stimuli_acts_in_a_bandit(people, ngym):
    fit(people, model="rescorla-wagner", folds=2, name="a")
    played = ngym("eval", "a", "--simulate", "ChangingBandit-v0", "--subject", "s1", "--trials", "1450", "--json")
    summary = json.loads(played.out)
    assert played.code == 0 and summary["performance"] > 0.55 and summary["trials"] == 1500  # to the end of the session
    assert 0.85 < summary["ceiling"] < 0.9 and summary["reward_ceiling"] > 0.6  # those of an observer of its rewards


def test_a_model_that_is_given_correctness_has_no_ceiling_of_an_observer_of_rewards(rat, ngym):
    fit(rat, model="logistic:history=1", folds=2, name="a")
    settings = ("--stimuli", "coh=p0*0", "--trials", "100", "--json")
    result = json.loads(ngym("eval", "a", "--simulate", "ChangingBandit-v0", *settings).out)
    assert result["ceiling"] is None and "correctness" in result["no_ceiling"]


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ("logistic,glm-hmm:transition=choice", "--transition choice needs two choices"),
        ("logistic,gru:drift=true:units=1", "with drift needs two choices"),
        ("logistic,disentangled:drift=true", "with drift needs two choices"),
        ("logistic,hybrid", "needs two choices"),
        ("logistic,ddm", "needs two choices"),
    ],
)
def test_a_model_that_does_not_suit_is_refused_before_any_progress(models, words, people, ngym):
    Path("three.csv").write_text(people.read_text().replace("s3,0,0,", "s3,0,2,"))
    result = ngym("fit", "three.csv", "--choice", "choice", "--model", models)
    assert result.code == 2 and words in result.err and result.err.count("\n") == 1
    assert not Path("runs").exists()


def test_the_history_effect_of_the_rat_is_in_the_simulation(rat, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = fit(rat, model="logistic:history=1", folds=2, name="a")
    table = nc.simulate(result, "RDM-v0", trials=4000, stimuli="coh=coh*0").evaluations[0].trials
    again = (table["choice"] == table["prev_choice"])[table["prev_choice"] > 0]
    expected = 1 / (1 + np.exp(-1.0))  # the rat repeats its last choice with logit 1
    assert abs(again.mean() - expected) < 0.04


def test_a_fit_that_fails_leaves_no_folder_and_removes_no_other_file(people, ngym):
    Path("broken.py").write_text(OWN + "class Broken(Mine):\n    def begin(self, p, n):\n        raise KeyError\n")
    settings = ("fit", people, "--folds", "2", "--model")
    assert ngym(*settings, "broken.py:Broken").code == 2 and not Path("runs").exists()
    assert ngym(*settings, "rescorla-wagner", "--name", "a").code == 0
    (note := next(Path("runs").glob("*/fit/a")) / "note.txt").write_text("mine")
    result = ngym(*settings, "broken.py:Broken", "--name", "a", "--overwrite")
    assert result.code == 2 and "note.txt, which ngym did not write" in result.err and note.is_file()
    note.unlink()
    assert ngym(*settings, "win-stay-lose-shift", "--name", "a", "--overwrite").code == 0
    assert not list(Path("runs").glob("*/fit/a/models/rescorla*"))


def test_a_public_data_set_is_fitted_by_name(tmp_path):
    result = fit("roitman2002", model="bias", folds=2, subjects="pooled", runs=tmp_path, name="monkeys")
    assert result["scores"]["bias"]["trials"] == 6149
    with pytest.raises(UserError, match="did you mean the data set roitman2002"):
        fit("roitman2003", model="bias", runs=tmp_path, name="no")


@pytest.mark.parametrize("table", ["eval/final/trials.parquet", "trials"])
def test_trials_of_an_agent_are_those_of_one_subject(ngym, run_folder, table):
    result = ngym("data", run_folder / table, "--json")
    assert result.code == 0, result.err
    assert [row["subject"] for row in json.loads(result.out)["subjects"]] == ["subject"]


def test_a_question_is_passed_on_by_a_worker():
    question = Question("which column?", [("a", "0, 1")], [(("--subject", "a"), "a names subjects")])
    passed_on = pickle.loads(pickle.dumps(question))
    assert str(passed_on) == "which column?"
    assert (passed_on.columns, passed_on.answers) == (question.columns, question.answers)
