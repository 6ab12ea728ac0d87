"""Perturbations change what they name, when they say, in every network, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from ngym_cli.agents import defaults, from_config
from ngym_cli.agents.perturbation import Perturbation, Perturber, drawn, parse
from ngym_cli.config.model import from_dict
from ngym_cli.errors import UserError
from ngym_cli.evaluation import fresh_trials
from ngym_cli.runs.recordings import Recording

NETWORKS = ("lstm", "gru", "rnn", "ctrnn", "ei_rnn")
UNITS = (3, 7)


@pytest.fixture(scope="module", params=NETWORKS)
def agent(request):
    """An untrained agent of each network, and what evaluates it."""
    config = from_dict(
        {
            "task": "RDM-v0",
            "alg": "recurrent_ppo",
            "network": request.param,
            "units": 16,
            "n_envs": 2,
            "timing": {"fixation": 200, "stimulus": 400, "delay": 300, "decision": 100},
            "reset_state": "trial",
        }
    )
    config, properties = defaults.prepare(config)
    venv = from_config.build_venv(config, 2)
    return from_config.build_model(config, venv).policy, config, properties


def recorded(agent, folder, *perturbations, **more):
    policy, config, properties = agent
    quantities = ("activity", "observations")
    settings = fresh_trials.EvaluationSettings(
        40, 1, perturbations=perturbations, record=quantities, folder=folder, **more
    )
    folder.mkdir()
    fresh_trials.evaluate(policy, config, properties, settings)
    results = Recording(folder)
    rows = np.arange(int(results.offsets[-1])) - np.repeat(results.offsets[:-1], np.diff(results.offsets))
    delay = (rows >= 6) & (rows < 9)
    return results["activity"], delay


def test_silenced_units_are_silent_in_the_period_only(agent, tmp_path):
    intact, delay = recorded(agent, tmp_path / "intact")
    silenced, _ = recorded(agent, tmp_path / "silenced", parse("silence", "units=3,7 period=delay"))
    assert np.all(silenced[delay][:, UNITS] == 0)
    before = np.cumsum(delay) == 0
    assert np.array_equal(silenced[before], intact[before])
    rest = np.delete(np.arange(16), UNITS)
    assert not np.allclose(silenced[delay][:, rest], intact[delay][:, rest])
    assert intact[delay][:, UNITS].any()


def test_a_lesion_lasts(agent, tmp_path):
    activity, _ = recorded(agent, tmp_path / "lesion", parse("lesion", "0.25"))
    assert int((~activity.any(axis=0)).sum()) >= 4


def test_clamped_units_keep_their_value(agent, tmp_path):
    at, delay = recorded(agent, tmp_path / "at", parse("clamp", "units=3,7 value=0.5 period=delay"))
    assert np.allclose(at[delay][:, UNITS], 0.5)
    covered, _ = recorded(agent, tmp_path / "held", parse("clamp", "units=3,7 period=delay"))
    steps = np.flatnonzero(delay)
    first = steps[np.r_[True, np.diff(steps) > 1]]
    for start in first:
        assert np.allclose(covered[start : start + 3, 3], covered[start - 1, 3])


def test_noise_is_reproducible_and_of_its_size(agent, tmp_path):
    first, second = (recorded(agent, tmp_path / name, parse("noise", "0.1"))[0] for name in ("a", "b"))
    assert np.array_equal(first, second)


def test_noise_has_its_standard_deviation():
    before = (np.zeros((1, 4000, 2)),)
    after = (np.zeros((1, 4000, 2)),)
    Perturber([Perturbation("noise", units=(1,), sd=0.3)], lambda period: np.ones(4000, bool), 0)(before, after)
    assert after[0][0, :, 0].std() == 0
    assert after[0][0, :, 1].std() == pytest.approx(0.3, rel=0.05)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("lesion", "2", "--lesion fraction must be above 0 and at most 1, not 2"),
        ("lesion", "units=a", "whole number"),
        ("silence", "period=delay", "needs units"),
        ("silence", "units=1 perid=delay", "did you mean 'period'"),
        ("silence", "units=1 fraction=0.2", "not both"),
        ("silence", "units=1 units=2", "appears twice"),
        ("noise", "-1", "--noise sd must be above 0 and at most 1,000,000, not -1"),
        ("noise", "period=delay", "standard deviation"),
        ("clamp", "units=1 value=nan", "must be -1,000,000 to 1,000,000, not nan"),
        ("clamp", "units=1 value=high", "must be a number, not 'high'"),
        ("clamp", "units=1 value=true", "must be a number, not true"),
        ("noise", "1e308", "at most 1,000,000, not 1e"),
        ("lesion", "top:0.1:selectivty", "did you mean 'selectivity'"),
        ("lesion", "tpo:0.1:selectivity", "did you mean 'top'"),
        ("lesion", "top:0.1", "needs a share of the units and a measure, as in top:0.1:selectivity"),
        ("lesion", "top:2:weight", "--lesion fraction must be above 0 and at most 1, not 2"),
        ("lesion", "top:0.1:weight:units=3", "not both"),
        ("silence", "units=3 by=weight", "ranks units for a fraction, as in top:0.1:weight"),
    ],
)
def test_what_cannot_be_read_is_refused(kind, text, message):
    with pytest.raises(UserError, match=message):
        parse(kind, text)


def test_units_that_do_not_exist_are_refused():
    with pytest.raises(UserError, match="no unit 8; expected 0 to 7"):
        drawn([parse("silence", "units=8")], 8, 0)
