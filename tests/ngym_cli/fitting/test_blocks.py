"""Subjects with one session: parameters of the whole session, folds that are blocks of it, or no folds at all."""

import json
from dataclasses import replace

import numpy as np
import pytest

from neurogym.behaviour.models.agents import AgentPolicy
from neurogym.behaviour.models.base import Problem, predict
from neurogym.behaviour.simulate import ReversingBandit, TwoStepWorld, simulate
from neurogym.behaviour.table import Behaviour, session
from ngym_cli import fit
from ngym_cli.api.tables import Fit
from ngym_cli.errors import UserError
from ngym_cli.fitting import networks, registry
from ngym_cli.fitting.request import FitSettings
from ngym_cli.fitting.validation import FitData, prepared, validate
from ngym_cli.terminal import cell
from tests.ngym_cli.api.notebook import html

#: A model of each family with a memory, and one of each without.
FAST = ("bias", "logistic:history=2", "glm-hmm:states=2", "gru:units=1:seeds=1", "ddm", "q-learning:times=ddm")
MORE = ("psytrack", "glm-hmm:states=2:drift=true", "hybrid", "gru:units=1:seeds=1:drift=true", "psytrack:times=ddm",
        "gru:units=1:seeds=1:times=ddm", "logistic:times=lba")  # fmt: skip


@pytest.fixture(autouse=True)
def short_training(monkeypatch):
    from ngym_cli.fitting import disentangled

    monkeypatch.setattr(networks, "EPOCHS", 15)
    monkeypatch.setattr(disentangled, "WARM", 4)
    monkeypatch.setattr(disentangled, "EPOCHS", 10)


def played(trials: int = 60, seed: int = 0) -> Behaviour:
    """Return a session of a two-step task with times, in which models of choices, of two stages and of times fit."""
    rng = np.random.default_rng(seed)
    model = registry.build(["hybrid"], (), 1)["hybrid"]
    parameters = model.parameters(Behaviour(()))
    policy = AgentPolicy(model, parameters, np.array([each.mean for each in parameters]), 2)
    table = simulate(policy, TwoStepWorld(1, trials, rng), Behaviour(()), rng)
    return table.only([replace(each, rt=0.3 + rng.gamma(2, 0.15, trials)) for each in table.sessions])


def built(label: str):
    """Return a model by its label."""
    return next(iter(registry.build([label], (), 1).values()))


def same_numbers(one, other, sessions):
    """Check that two fits agree in parameters and predictions."""
    for name, each in one.parameters.items():
        np.testing.assert_allclose(each.value, other.parameters[name].value, rtol=1e-6, atol=1e-7)
    for p, q in zip(predict(one.policy, sessions), predict(other.policy, sessions), strict=True):
        np.testing.assert_allclose(p, q, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("label", [*FAST, *(pytest.param(each, marks=pytest.mark.long) for each in MORE)])
def test_trials_that_do_not_count_are_not_fitted(label):
    table = played()
    (whole,), model = table.sessions, built(label)
    shut = replace(whole, scored=np.arange(len(whole)) < 45)
    changed = replace(shut, choice=np.where(shut.scored, shut.choice, 1 - shut.choice))
    problems = [Problem(table.only([each]), intervals=False) for each in (whole.part("1", slice(0, 45)), changed)]
    same_numbers(*(model.fit([each])[0] for each in problems), [whole])


@pytest.mark.parametrize("label", ["psytrack", "glm-hmm:states=2", "gru:units=1:seeds=1"])
def test_what_is_reported_comes_from_the_whole_session(label):
    table, model = played(), built(label)
    outcome = validate(model, prepared(FitData(table, FitSettings(table="table", folds=3))))
    same_numbers(outcome.fitted["simulated"], model.fit([Problem(table)])[0], table.sessions)
    assert outcome.held_out.shape == (60, 2) and np.isfinite(outcome.held_out).all()


def test_a_held_out_block_is_predicted_with_the_state_that_earlier_trials_left():
    table, model = played(), built("q-learning")
    outcome = validate(model, prepared(FitData(table, FitSettings(table="table", folds=4))))
    (whole,) = table.sessions
    training = replace(whole, scored=np.arange(60) // 15 != 1)
    policy = model.fit([Problem(table.only([training]))])[0].policy
    np.testing.assert_allclose(outcome.held_out[15:30], predict(policy, [whole])[0][15:30], rtol=1e-4)


class Watched:
    """Model that writes down the trials that its policies see; the probability of choice 1 is the next trial's number.

    Attributes:
        lengths: number of trials of each session that was predicted.
        counted: number of trials that counted in each fit.
    """

    name = "watched"

    def __init__(self):
        self.lengths, self.counted = [], []

    def fit(self, problems):
        """Return fits without parameters."""
        from neurogym.behaviour.models.base import Fitted

        self.counted = [int(each.table.join("scored").sum()) for each in problems]
        return [Fitted(self.name, self) for _ in problems]

    def predict(self, sessions):
        """Return the number of each trial as its probability."""
        self.lengths += [len(each) for each in sessions]
        return [np.stack([1 - t, t], 1) for t in (np.arange(len(each)) / 100 for each in sessions)]


def test_no_later_trial_of_the_session_is_shown():
    model, table = Watched(), played()
    outcome = validate(model, prepared(FitData(table, FitSettings(table="table", folds=4))))
    assert model.lengths == [15, 30, 45, 60] and model.counted == [45, 45, 45, 45, 60]
    np.testing.assert_allclose(outcome.held_out[:, 1], np.arange(60) / 100)


def test_trials_of_a_disentangled_network_that_do_not_count_have_no_weight():
    from ngym_cli.fitting.network_fits import batch_of

    (whole,) = played().sessions
    shut = replace(whole, scored=np.arange(60) < 45)
    batch = batch_of([played().only([shut])], [0])
    weights = (batch.train + batch.held)[0, 0]
    assert (weights[:45] > 0).all() and not weights[45:].any()
    assert batch.after[0, 0, 59].any()  # the trials lead to the state of later ones


def test_folds_of_subjects_with_enough_sessions_are_sessions():
    rng = np.random.default_rng(0)
    table = Behaviour(tuple(session(rng.integers(0, 2, n), name=str(n)) for n in (20, 30, 40)))
    model = Watched()
    validate(model, prepared(FitData(table, FitSettings(table="table", folds=3))))
    assert model.lengths == [20, 30, 40] and model.counted == [70, 60, 50, 90]
    with pytest.raises(UserError, match="too few for 5 folds"):
        prepared(FitData(table.only([session([0, 1, 1])]), FitSettings(table="table", folds=5)))


@pytest.mark.long
def test_learners_with_one_session_are_found():
    rng, model = np.random.default_rng(4), built("q-learning")
    parameters, sessions, truths = model.parameters(Behaviour(())), [], []
    for k in range(16):
        alpha, beta = rng.uniform(0.2, 0.7), rng.uniform(2, 5)
        policy = AgentPolicy(model, parameters, np.array([np.log(alpha / (1 - alpha)), np.log(beta), 0, 0]), 2)
        played = simulate(policy, ReversingBandit(1, 300, 2, rng), Behaviour(()), rng).sessions[0]
        sessions.append(replace(played, subject=str(k)))
        truths.append({"alpha": alpha, "beta": beta, "kappa": 0.0, "bias": 0.0})
    outcome = validate(model, prepared(FitData(Behaviour(tuple(sessions)), FitSettings(table="table", folds=2))))
    for name in truths[0]:
        estimates = [fit.parameters[name] for fit in outcome.fitted.values()]
        assert sum(truth[name] in each for truth, each in zip(truths, estimates, strict=True)) >= 14
    for name in ("kappa", "bias"):
        assert abs(np.mean([fit.parameters[name].value for fit in outcome.fitted.values()])) < 0.15


@pytest.fixture
def person(tmp_path, monkeypatch):
    """A table of a subject with a single session."""
    monkeypatch.chdir(tmp_path)
    (each,) = played(60).sessions
    rows = [f"{c},{r:g},{t:.3f}" for c, r, t in zip(each.choice, each.reward, each.rt, strict=True)]
    (tmp_path / "person.csv").write_text("choice,reward,rt\n" + "\n".join(rows) + "\n")
    return tmp_path / "person.csv"


def test_a_note_says_that_blocks_are_held_out(person, ngym):
    result = ngym("fit", person, "--model", "q-learning", "--folds", "3", "--name", "a")
    assert "blocks within sessions are held out" in result.err and "held-out blocks" in result.out
    record = fit(person, "q-learning", folds=3, name="a")
    assert record["scores"]["q-learning"]["trials"] == 60
    trials = Fit("a").predictions
    assert list(trials["trial"]) == list(range(60)) and trials["session"].nunique() == 1


def test_a_single_fold_holds_nothing_out(person, ngym):
    result = ngym("fit", person, "--model", "q-learning,ddm", "--folds", "1", "--name", "a")
    assert result.code == 0 and "--folds 1 holds nothing out" in result.out and "held-out choice" not in result.out
    whole = Fit("a")
    assert not whole["scores"] and whole.models == ["q-learning", "ddm", "bias"] and len(whole.scores) == 0
    held_out = fit(person, "q-learning", folds=3, name="b")
    learners = [each["models"]["q-learning"]["parameters"] for each in (whole, held_out)]
    assert learners[0] == learners[1]
    for command in (("plot", "a"), ("report", "a"), ("export", "a")):
        assert ngym(*command).code == 0, command
    rows = json.loads(ngym("list", "runs", "--json").out)
    assert [(row["model"], row["trials"]) for row in rows] == [("q-learning", 60)] * 2
    score = held_out["scores"]["q-learning"]["log_likelihood"]["value"]
    assert rows[0]["score"] is None and rows[1]["score"] == score
    assert f"q-learning\t{cell(score)}\t60" in ngym("list", "runs").out
    with pytest.raises(UserError, match="folds=1"):
        whole.plot("likelihood")
    assert "q-learning" in repr(whole) and "q-learning" in html(whole)
    tested = fit(person, "q-learning", folds=1, name="c", test=person)
    assert tested["test_scores"]["q-learning"]["trials"] == 60 and Fit("c").plot("likelihood").axes


def test_priors_are_set_shown_and_kept(person, ngym):
    command = ("fit", person, "--folds", "1", "--model")
    prior = ("--prior", "alpha=beta:900,100", "--prior", "beta=lognormal:0,0.01", "--prior", "kappa=normal:1,0.001")
    learner = json.loads(ngym(*command, "q-learning", *prior, "--json").out)["models"]["q-learning"]
    value = {name: row["value"] for name, row in learner["parameters"]["subject"].items()}
    assert value["alpha"] == pytest.approx(0.9, abs=0.01) and value["beta"] == pytest.approx(1, abs=0.01)
    assert value["kappa"] == pytest.approx(1, abs=0.01)
    kept = learner["priors"]["alpha"]
    assert kept["scale"] == "logit" and kept["mean"] == pytest.approx(np.log(9), abs=0.01)
    timed = json.loads(ngym(*command, "ddm", "--prior", "A=gamma:10000,0.0002", "--json").out)["models"]["ddm"]
    assert timed["parameters"]["subject"]["A"]["value"] == pytest.approx(2, abs=0.1)
    assert "q-learning, priors" in ngym(*command, "q-learning", "--full").out
    for wrong, words in {
        "alpha=beta:1": "as in alpha=beta:1.1,1.1",
        "alpha=bet:1,1": "did you mean 'beta'",
        "alpha=gamma:1,1": "expected beta, not gamma",
        "alfa=beta:1,1": "did you mean 'alpha'",
        "alpha=beta:-1,1": "as in alpha=beta:1.1,1.1",
    }.items():
        refused = ngym(*command, "q-learning", "--prior", wrong)
        assert refused.code == 2 and words in refused.err and len(refused.err.strip().splitlines()) == 1, refused.err
    assert "--prior needs a learner" in ngym(*command, "logistic", "--prior", "bias=normal:0,1").err
