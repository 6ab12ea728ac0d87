"""yang19: one interface, and the rule of each of the three families."""

import inspect

import numpy as np
import pytest

import neurogym as ngym
from neurogym.envs.collections import COLLECTIONS, yang19
from neurogym.envs.psychophysics import bump

RING = 16
NAMES = COLLECTIONS["yang19"]


def trials_of(name, n=400, seed=0, **kwargs):
    env = ngym.make(f"yang19.{name}-v0", **kwargs).unwrapped
    env.reset(seed=seed)
    return env, env.make_trials(n)


def rows(trials, period):
    """Observations of the first row of a period, shape (trials, channels)."""
    return trials.ob[trials.offset + trials.starts[period]]


def answers(trials):
    return trials.gt[trials.offset + trials.length - 1]


def rings(ob):
    return ob[:, 1 : 1 + RING], ob[:, 1 + RING :]


def peak(ob):
    """Position of the bump, summed over both rings."""
    return sum(rings(ob)).argmax(axis=1)


def test_twenty_tasks_share_spaces_and_arguments():
    envs = [ngym.make(id_) for id_ in ngym.get_collection("yang19")]
    assert len(envs) == 20
    assert {env.observation_space.shape for env in envs} == {(33,)}
    assert {int(env.action_space.n) for env in envs} == {17}
    assert {tuple(env.observation_space.name) for env in envs} == {("fixation", "stimulus_mod1", "stimulus_mod2")}
    for name in NAMES:
        parameters = list(inspect.signature(getattr(yang19, name)).parameters)
        assert parameters[:6] == ["dt", "rewards", "timing", "dim_ring", "sigma", "abort"]
        assert getattr(yang19, name).__doc__
        small = getattr(yang19, name)(dt=20, dim_ring=2, sigma=0.5)
        assert small.observation_space.shape == (5,)
        assert small.action_space.n == 3


@pytest.mark.parametrize("name", NAMES)
def test_fixation_cue_goes_off_with_the_decision(name):
    _, trials = trials_of(name, n=50)
    cue = trials.ob[:, 0]
    decision = np.zeros(trials.total, bool)
    decision[trials.rows("decision").index] = True
    np.testing.assert_array_equal(cue, ~decision)


@pytest.mark.parametrize(
    ("name", "period", "turn", "delay"),
    [
        ("go", "stimulus", 0, 0),
        ("rtgo", "decision", 0, None),
        ("dlygo", "stimulus", 0, 500),
        ("anti", "stimulus", 8, 0),
        ("rtanti", "decision", 8, None),
        ("dlyanti", "stimulus", 8, 500),
    ],
)
def test_respond_towards_or_away(name, period, turn, delay):
    _, trials = trials_of(name)
    visible = rows(trials, period)
    np.testing.assert_array_equal((peak(visible) + turn) % RING + 1, answers(trials))
    first, two = (ring.max(axis=1) for ring in rings(visible))
    np.testing.assert_array_equal(first > 0, trials.info["modality"] == 1)
    np.testing.assert_array_equal(two > 0, trials.info["modality"] == 2)
    assert 0.4 < np.mean(first > 0) < 0.6
    repeated = np.mean(trials.info["modality"][1:] == trials.info["modality"][:-1])
    assert 0.4 < repeated < 0.6  # drawn, not alternating
    if delay is not None:
        assert np.all(trials.ends["delay"] - trials.starts["delay"] == delay // 100)


def test_bump():
    env = ngym.make("yang19.go-v0").unwrapped
    seen = bump(env.theta, np.array([0.0]), np.array([1.0]))[0]
    np.testing.assert_allclose(seen[:4], [0.8, 0.485, 0.108, 0.009], atol=1e-3)
    np.testing.assert_allclose(seen[1:], seen[:0:-1])


def test_user_timing_is_merged():
    env = ngym.make("yang19.dlygo-v0", timing={"stimulus": 300}).unwrapped
    env.reset(seed=0)
    assert env.end_t["stimulus"] - env.start_t["stimulus"] == 300
    assert env.end_t["delay"] - env.start_t["delay"] == 500


DECISIONS = {
    "dm1": (1, (1,)),
    "dm2": (1, (2,)),
    "ctxdm1": (2, (1,)),
    "ctxdm2": (2, (2,)),
    "multidm": (2, (1, 2)),
    "dlydm1": (1, (1,)),
    "dlydm2": (1, (2,)),
    "ctxdlydm1": (2, (1,)),
    "ctxdlydm2": (2, (2,)),
    "multidlydm": (2, (1, 2)),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_decide_by_the_judged_modalities(name):
    visible, judged = DECISIONS[name]
    env, trials = trials_of(name, sigma=0)
    delayed = "dly" in name
    first, second = (rows(trials, period) for period in (("stim1", "stim2") if delayed else ("stimulus",) * 2))
    total = np.zeros((2, trials.n))
    for m in judged:
        for k, ob in enumerate((first, second)):
            position = np.rint(trials.info[f"theta{k + 1}"] / (2 * np.pi) * RING).astype(int)
            total[k] += trials.info[f"coh{k + 1}_mod{m}"]
            assert np.all(rings(ob)[m - 1][np.arange(trials.n), position] > 0)
    assert np.abs(total[0] - total[1]).min() > 0.05
    theta = np.where(total[0] > total[1], trials.info["theta1"], trials.info["theta2"])
    np.testing.assert_array_equal(np.rint(theta / (2 * np.pi) * RING).astype(int) + 1, answers(trials))
    assert 0.4 < np.mean(total[0] > total[1]) < 0.6
    active = [np.any(ring) for ring in rings(first)]
    assert sum(active) == visible
    if not delayed:
        duration = (trials.ends["stimulus"] - trials.starts["stimulus"]) * env.dt
        assert set(duration) == {200, 400, 600}


def test_strengths_can_be_asked_for():
    env = ngym.make("yang19.multidm-v0").unwrapped
    env.reset(seed=0)
    for coh in (-0.64, 0.08):
        trials = env.make_trials(50, coh_mod1=coh, ground_truth=3)
        np.testing.assert_allclose(trials.info["coh1_mod1"] - trials.info["coh2_mod1"], coh)
        assert np.all(trials.info["coh_mod2"] != -coh)  # no ties
        assert set(answers(trials)) == {4}
    tie = env.make_trials(200, coh_mod1=0.16, coh_mod2=-0.16)
    assert 0.3 < np.mean(np.isclose(tie.info["theta1"], 2 * np.pi * tie.info["ground_truth"] / RING)) < 0.7
    env = ngym.make("yang19.dlydm1-v0").unwrapped
    env.reset(seed=0)
    trial = env.new_trial(pair_mod1=(1.0, 0.3))
    assert (trial["coh1_mod1"], trial["coh2_mod1"]) == (1.0, 0.3)
    with pytest.raises(ValueError, match="pair_mod1"):
        env.new_trial(pair_mod1=(0.3, 0.3))


def test_noise_is_scaled_by_dt():
    for dt in (20, 100):
        _env, trials = trials_of("dm1", dt=dt)
        unused = trials.ob[trials.rows("stimulus").index, 1 + RING :]
        assert np.std(unused) == pytest.approx(1 / np.sqrt(dt), rel=0.03)


@pytest.mark.parametrize(("name", "category", "match"), [("dms", 0, 1), ("dnms", 0, 0), ("dmc", 1, 1), ("dnmc", 1, 0)])
def test_match(name, category, match):
    _, trials = trials_of(name, n=2000, sigma=0)
    sample, test = peak(rows(trials, "sample")), peak(rows(trials, "test"))
    same = (sample // 8 == test // 8) if category else sample == test
    np.testing.assert_array_equal(same, trials.info["ground_truth"] == "match")
    if not category:
        assert np.all((sample == test) | ((sample - test) % RING == 8))
    go = same if match else ~same
    np.testing.assert_array_equal(answers(trials), np.where(go, test + 1, 0))
    assert 0.46 < np.mean(sample < 8) < 0.54


def test_withholding_pays_where_it_is_right():
    env = ngym.make("yang19.dms-v0")
    for label, performance in (("non-match", 1.0), ("match", 0.0)):
        env.reset(seed=0)
        env.new_trial(ground_truth=label)
        info = {"new_trial": False}
        while not info["new_trial"]:
            info = env.step(0)[-1]
        assert info["performance"] == info["trial_reward"] == performance


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="dim_ring must be even"):
        yang19.dms(dim_ring=3)
    with pytest.raises(ValueError, match="cohs must list"):
        yang19.dlydm1(cohs=[0.3])
