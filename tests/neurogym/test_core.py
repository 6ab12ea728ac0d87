"""The trial cycle, the templates that users hold, and seeds."""

import contextlib
import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest

import neurogym as ngym
from neurogym import spaces
from neurogym.compat.leniency import LeniencyWarning, strictly
from neurogym.core import env_string
from neurogym.rules import Rule


class PeriodTemplate(ngym.PeriodEnv):
    """One trial at a time, in the words of NeuroGym's README: ``new_trial`` without a return value."""

    metadata = {"tags": ["perceptual"]}

    def __init__(self, dt=100, timing=None):
        super().__init__(dt=dt)
        self.rewards = {"abort": -0.1, "correct": +1.0, "fail": 0.0}
        self.timing = {"fixation": 200, "stimulus": 300, "decision": 200}
        if timing:
            self.timing.update(timing)
        self.observation_space = spaces.Box(-np.inf, np.inf, shape=(3,), dtype=np.float32)
        self.action_space = spaces.Discrete(3)

    def new_trial(self, **kwargs):
        self.trial = {"gt": self.rng.choice([1, 2]), "extra": self.rng.rand()}
        self.trial.update(kwargs)
        self.add_period(["fixation", "stimulus", "decision"], after=0, last_period="decision")
        self.set_ob([1, 0, 0], "fixation")
        stim = self.view_ob("stimulus")
        stim[:, 0] = 1
        stim[:, 1:] = self.rng.randn(*stim[:, 1:].shape)
        stim[:, self.trial["gt"]] += 3
        self.set_groundtruth(self.trial["gt"], "decision")

    def _step(self, action):
        new_trial, reward, gt = False, 0, self.gt_now
        if self.in_period("fixation"):
            if action != 0:
                reward = self.rewards["abort"]
        elif self.in_period("decision") and action != 0:
            new_trial = True
            if action == gt:
                reward = self.rewards["correct"]
                self.performance = 1
        return self.ob_now, reward, False, False, {"new_trial": new_trial, "gt": gt}


class TrialTemplate(ngym.TrialEnv):
    """One trial at a time with named spaces, ``_new_trial`` and a declared rule instead of ``_step``."""

    rule = Rule(fixate=("fixation",), answer=("decision",))
    default_timing = {"fixation": 100, "stimulus": 200, "decision": 100}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0}

    def __init__(self, dt=100, rewards=None, timing=None):
        super().__init__(dt=dt, rewards=rewards, timing=timing)
        self.choices = [1, 2]
        name = {"fixation": 0, "stimulus": [1, 2]}
        self.observation_space = spaces.Box(-np.inf, np.inf, shape=(3,), dtype=np.float32, name=name)
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    def _new_trial(self, **kwargs):
        trial = {"ground_truth": self.rng.choice(self.choices)}
        trial.update(kwargs)
        self.add_period(["fixation", "stimulus", "decision"])
        self.add_ob(1, period=["fixation", "stimulus"], where="fixation")
        self.add_ob(np.eye(2)[trial["ground_truth"] - 1], "stimulus", where="stimulus")
        self.add_randn(0, 0.1, "stimulus", where="stimulus")
        self.set_groundtruth(trial["ground_truth"] - 1, period="decision", where="choice")
        return trial


def finished_trials(env, policy, n=50):
    """Infos at the ends of ``n`` trials."""
    ob, _ = env.reset(seed=0)
    infos = []
    while len(infos) < n:
        ob, _, _, _, info = env.step(policy(env, ob))
        if info["new_trial"]:
            infos.append(info)
    return infos


@pytest.mark.parametrize("template", [PeriodTemplate, TrialTemplate])
def test_templates_run_as_they_are(template):
    infos = finished_trials(template(), lambda env, ob: env.gt_now)
    assert all(info["performance"] == 1 and info["trial_reward"] == 1 for info in infos)
    assert all(info["outcome"] == "correct" for info in infos)


@pytest.mark.parametrize("dt", [10, 20, 50, 100])
@pytest.mark.parametrize("template", [PeriodTemplate, TrialTemplate])
def test_templates_at_every_dt(template, dt):
    env = template(dt=dt)
    assert finished_trials(env, lambda env, ob: env.gt_now, 5)[-1]["performance"] == 1
    assert env.trial_length_stats(20)["mean"] == sum(env.timing.values()) / dt


def test_the_finished_trial_is_the_one_reported():
    env = ngym.make("PerceptualDecisionMaking-v0", sigma=0, cohs=[51.2])
    ob, _ = env.reset(seed=3)
    seen, checked = [ob], 0
    while checked < 100:
        ob, _, _, _, info = env.step(env.unwrapped.gt_now)
        if info["new_trial"]:
            stimulus = np.mean(seen[1:-1], axis=0)[1:]
            assert np.argmax(stimulus) == info["trial"]["ground_truth"]
            assert info["choice"] == info["trial"]["ground_truth"] + 1
            assert info["trial"] is not env.unwrapped.trial
            assert len(seen) == info["trial_steps"] == 22
            seen, checked = [], checked + 1
        seen.append(ob)


def test_reset_takes_no_step_and_shows_row_zero():
    env = ngym.make("PerceptualDecisionMaking-v0")
    ob, info = env.reset(seed=0)
    assert info == {}
    assert env.unwrapped.t == 0 and env.unwrapped.num_tr == 1
    np.testing.assert_array_equal(ob, env.unwrapped.ob[0])


def test_observation_then_reward_without_an_offset():
    """A two-step fixation and go task pays on every step to an agent that acts on what it saw."""
    env = ngym.make("PerceptualDecisionMaking-v0", timing={"stimulus": 100}, sigma=0, cohs=[51.2])
    ob, _ = env.reset(seed=0)
    stimulus = None
    for _ in range(300):
        fixating = ob[0] == 1
        if ob[1:].any():
            stimulus = ob[1:]
        ob, reward, _, _, _info = env.step(0 if fixating else 1 + int(np.argmax(stimulus)))
        assert reward == (0 if fixating else 1)


def test_returned_observations_are_the_callers_own():
    env = ngym.make("PerceptualDecisionMaking-v0")
    first, _ = env.reset(seed=0)
    first[:] = 99
    assert not np.any(env.unwrapped.ob == 99)


def session(env, seed, steps=300):
    ob, _ = env.reset(seed=seed)
    env.action_space.seed(seed)
    record = [ob]
    for _ in range(steps):
        ob, reward, _, _, info = env.step(env.action_space.sample())
        record += [ob, reward, str(info)]
    return record


@pytest.mark.parametrize("make", [PeriodTemplate, TrialTemplate, lambda: ngym.make("DelayComparison-v0")])
def test_a_seed_reproduces_a_session_and_another_does_not(make):
    env = make()
    first, again, second, fresh = session(env, 1), session(env, 1), session(env, 2), session(make(), 1)
    for a, b, c in zip(first, again, fresh, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
    assert any(not np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_copies_continue_identically_and_independently():
    env = ngym.make("PerceptualDecisionMaking-v0", timing={"delay": ("uniform", (100, 900))})
    env.reset(seed=0)
    twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = [env.step(0)[0] for _ in range(200)]
    for twin in twins:
        np.testing.assert_array_equal(expected, [twin.step(0)[0] for _ in range(200)])


def test_conditions_can_be_asked_for():
    env = ngym.make("PerceptualDecisionMaking-v0").unwrapped
    for coh in env.cohs:
        for side in (0, 1):
            trial = env.new_trial(coh=coh, ground_truth=side)
            assert trial == {"ground_truth": side, "coh": coh}
            assert env.gt[-1] == side + 1


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"cho": 6.4}, "did you mean 'coh'"),
        ({"coh": 7.0}, "coh=7.0 is not drawn by the task, expected"),
        ({"ground_truth": 5}, "expected"),
    ],
)
def test_wrong_conditions_are_warned_of(kwargs, message):
    env = ngym.make("PerceptualDecisionMaking-v0").unwrapped
    with strictly(), pytest.raises(ValueError, match=message):
        env.new_trial(**kwargs)
    with pytest.warns(LeniencyWarning, match=message), contextlib.suppress(ValueError):
        trial = env.new_trial(**kwargs)
        assert trial.items() >= kwargs.items()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"dt": -5}, "dt must be a positive"),
        ({"dt": "x"}, "dt must be a positive"),
        ({"timing": {"stimulus": ("unifrom", (1, 2))}}, "did you mean 'uniform'"),
        ({"cohs": []}, "one or more numbers"),
        ({"timing": {"fixation": 0, "stimulus": 0, "decision": 0}}, "no steps"),
    ],
)
def test_wrong_parameters_name_the_mistake(kwargs, message):
    with pytest.raises(ValueError, match=message):
        ngym.make("PerceptualDecisionMaking-v0", **kwargs).reset(seed=0)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"timing": {"stimuls": 3}}, "did you mean 'stimulus'"),
        ({"rewards": {"fial": 0}}, "did you mean 'fail'"),
    ],
)
def test_unknown_periods_and_rewards_are_warned_of(kwargs, message):
    with strictly(), pytest.raises(ValueError, match=message):
        ngym.make("PerceptualDecisionMaking-v0", **kwargs)
    with pytest.warns(LeniencyWarning, match=message):
        env = ngym.make("PerceptualDecisionMaking-v0", **kwargs)
    usual = ngym.make("PerceptualDecisionMaking-v0")
    assert np.array_equal(env.reset(seed=3)[0], usual.reset(seed=3)[0])
    assert env.unwrapped.end_t == usual.unwrapped.end_t


@pytest.mark.parametrize(("count", "actions"), [(3, False), (4, True), (6, False)])
def test_the_number_of_values_from_step(count, actions):
    class Old(PeriodTemplate):
        def _step(self, action):
            return (self.ob_now, 0.5, *[False] * (count - 3), {"new_trial": False})

    env = Old()
    env.reset(seed=0)
    message = f"_step returned {count} values; return five"
    if not actions:
        with pytest.raises(ValueError, match=message):
            env.step(0)
        return
    with strictly(), pytest.raises(ValueError, match=message):
        env.step(0)
    with pytest.warns(LeniencyWarning, match=message):
        result = env.step(0)
    assert result[1:4] == (0.5, False, False) and np.array_equal(result[0], env.ob[1])


def test_step_before_reset_is_refused():
    for env in (ngym.make("GoNogo-v0"), gym.make("GoNogo-v0"), PeriodTemplate()):
        with pytest.raises(gym.error.ResetNeeded):
            env.step(0)
    ngym.make("GoNogo-v0").new_trial()


def test_a_period_after_the_observations_is_refused():
    class Late(PeriodTemplate):
        def new_trial(self, **kwargs):
            self.add_period("fixation")
            self.add_ob(1)
            self.add_period("stimulus", after="fixation")
            return {}

    with pytest.raises(ngym.InvalidOperationError, match="before observations"):
        Late().reset(seed=0)


def test_observations_added_while_stepping_accumulate():
    class Counting(ngym.TrialEnv):
        def __init__(self):
            super().__init__(timing={"wait": 500})
            self.observation_space = spaces.Box(-np.inf, np.inf, shape=(1,), dtype=np.float32)
            self.action_space = spaces.Discrete(2)

        def _new_trial(self, **kwargs):
            self.add_period("wait")
            self.add_ob(1)
            return {}

        def _step(self, action):
            self.add_ob(1)
            return self.ob_now, 0.0, False, False, {"new_trial": False}

    env = Counting()
    ob, _ = env.reset()
    for k in range(1, 20):
        ob, *_ = env.step(0)
        assert ob[0] == (k % 5) + 1


def test_a_wrapper_that_replaces_the_trial_is_seen_everywhere():
    class Sevens(ngym.TrialWrapper):
        def new_trial(self, **kwargs):
            trial = self.env.new_trial(**kwargs)
            self.task.ob[:] = 7
            return trial

        def step(self, action):
            return self.env.step(action)

    env = Sevens(ngym.make("GoNogo-v0"))
    assert np.all(env.reset(seed=0)[0] == 7)
    assert all(np.all(env.step(0)[0] == 7) for _ in range(50))
    env.new_trial()
    assert np.all(env.ob == 7)


def test_a_subclass_may_call_its_parents_trial_and_step():
    class Doubled(type(ngym.make("GoNogo-v0").unwrapped)):
        def _new_trial(self, **kwargs):
            trial = super()._new_trial(**kwargs)
            self.add_ob(1, "stimulus")
            return {**trial, "doubled": True}

        def _step(self, action):
            ob, reward, terminated, truncated, info = super()._step(action)
            return ob, 2 * reward, terminated, truncated, info

    infos = finished_trials(Doubled(), lambda env, ob: env.gt_now)
    assert {info["trial_reward"] for info in infos} == {0.0, 2.0}
    assert all(info["performance"] == 1 and info["trial"]["doubled"] for info in infos)


def test_trial_length_stats_leave_the_session_alone():
    env = ngym.make("DelayComparison-v0", timing={"delay": ("uniform", (400, 600))}).unwrapped
    env.reset(seed=0)
    before = env.np_random.bit_generator.state, env.num_tr, env.trial
    stats = env.trial_length_stats(500)
    assert stats["mean"] == pytest.approx((500 + 500 + 450 + 500 + 100) / 100, abs=0.15)
    assert (env.np_random.bit_generator.state, env.num_tr, env.trial) == before


def test_trial_length_stats_without_trials():
    env = ngym.TrialEnv()
    assert env.trial_length_stats() == {"mean": 0.0, "std": 0.0, "percentile_95": 0.0, "max": 0.0}
    env.timing = {"fixation": 300, "stimulus": 500, "decision": 200}
    assert env.trial_length_stats(10) == {"mean": 10.0, "std": 0.0, "percentile_95": 10.0, "max": 10.0}


def test_description_of_a_task():
    text = env_string(ngym.make("RDM-v0"))
    assert "PerceptualDecisionMaking" in text and "10.1523/JNEUROSCI" in text and "two-alternative" in text
    assert env_string(ngym.make("RDM-v0"), short=True) == "<PerceptualDecisionMaking>"
    assert str(ngym.make("GoNogo-v0")) == "<OrderEnforcing<GoNogo>>"


class Shows(PeriodTemplate):
    """Returns the observation in some form of its own."""

    form = staticmethod(lambda ob: ob)

    def _step(self, action):
        ob, *rest = super()._step(action)
        assert isinstance(self.ob_now, np.ndarray) and self.ob_now.shape == (3,)
        return (self.form(ob), *rest)


@pytest.mark.parametrize("form", [lambda ob: ob + 0.0, np.asarray, np.copy, lambda ob: ob.astype(np.float32)])
def test_the_current_observation_is_an_array(form):
    plain, second = PeriodTemplate(), Shows()
    second.form = form
    np.testing.assert_array_equal(plain.reset(seed=1)[0], second.reset(seed=1)[0])
    np.testing.assert_array_equal(plain.ob_now, plain.ob[0])
    for k in range(100):
        action = int(plain.gt_now) if k % 3 else 0
        first, two = plain.step(action), second.step(action)
        np.testing.assert_array_equal(first[0], two[0])
        np.testing.assert_array_equal(plain.ob_now, first[0])
        assert first[1:4] == two[1:4]


def test_a_step_may_show_an_observation_of_its_own():
    env = Shows()
    env.form = lambda ob: ob * 0 + 5
    env.reset(seed=0)
    assert all(np.all(env.step(0)[0] == 5) for _ in range(30))


def test_a_single_coherence_needs_no_list():
    env = ngym.make("PerceptualDecisionMaking-v0", cohs=51.2)
    assert env.unwrapped.conditions["coh"].tolist() == [51.2]


@pytest.mark.parametrize("id_", ["PerceptualDecisionMaking-v0", "Bandit-v0", "TwoStep-v0", "ReversalLearning-v0"])
def test_trials_can_be_sampled_without_touching_the_session(id_):
    env, second = ngym.make(id_), ngym.make(id_)
    env.reset(seed=0)
    second.reset(seed=0)
    first, again = (env.unwrapped.sample(np.random.default_rng(5), 30) for _ in range(2))
    np.testing.assert_array_equal(first.ob, again.ob)
    assert first.n == 30 and str(first.info) == str(again.info) and first.go is not None
    for step in range(300):
        single, two = env.step(step % 2), second.step(step % 2)
        np.testing.assert_array_equal(single[0], two[0])
        assert single[1:4] == two[1:4] and str(single[4]) == str(two[4])
