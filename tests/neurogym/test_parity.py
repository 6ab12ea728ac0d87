"""A trial that is described by itself is what it would be among many."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym import spaces
from neurogym.rules import Rule


class Base(ngym.TrialEnv):
    """What both forms share: spaces, timing, rule."""

    default_timing = {"fixation": 200, "stimulus": 300, "delay": ("uniform", (100, 400)), "decision": 200}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0}
    rule = Rule(fixate=("fixation",), answer=("decision",))

    def __init__(self, timing: dict | None = None):
        super().__init__(dt=100, timing=timing)
        self.conditions = {"ground_truth": [0, 1]}
        name = {"fixation": 0, "stimulus": [1, 2], "cue": 3}
        self.observation_space = spaces.Box(-np.inf, np.inf, shape=(4,), dtype=np.float32, name=name)
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})


def describe(where, truth, of_a_trial):
    """The same words for one trial and for many; ``of_a_trial`` gives a value its form."""
    where.add_period(["fixation", "stimulus", "delay", "decision"])
    where.add_period("cue", 200, after=100)
    where.add_ob(1, ["fixation", "cue", "stimulus"], where="fixation")  # periods that overlap
    where.add_ob(of_a_trial(np.eye(2)[truth]), "stimulus", where="stimulus")
    where.add_ob(lambda present: present * 2 + present.step[:, None], "delay", where="stimulus")
    where.set_ob(lambda present: present + 5, ["cue", "fixation"], where="cue")
    where.add_randn(0.5, 0.1, ["stimulus", "cue"], where="stimulus")
    where.set_ob(7, "decision", where=[3, 0])
    where.set_groundtruth(truth, "decision", where="choice")
    where.set_groundtruth(lambda rows: rows.step % 2, "delay")


class Many(Base):
    def _new_trials(self, trials):
        describe(trials, trials.draw("ground_truth"), lambda value: value)


class One(Base):
    def _new_trial(self, **kwargs):
        truth = int(kwargs["ground_truth"] if kwargs else self.rng.integers(2))
        describe(self, truth, lambda value: value)
        return {"ground_truth": truth}


@pytest.mark.parametrize("truth", [0, 1])
@pytest.mark.parametrize("seed", range(5))
def test_both_forms_give_the_same_trial(seed, truth):
    created = []
    for cls in (Many, One):
        env = cls()
        env.seed(seed)
        created.append(env.make_trials(1, ground_truth=truth))
    many, first = created
    assert many.starts.keys() == first.starts.keys()
    for period in many.starts:
        assert many.starts[period] == first.starts[period] and many.ends[period] == first.ends[period], period
    assert many.info.keys() == first.info.keys() and many.fields.keys() == first.fields.keys()
    for name, values in many.fields.items():
        np.testing.assert_array_equal(values, first.fields[name], err_msg=name)


def test_both_forms_are_stepped_alike():
    sessions = []
    for cls in (Many, One):
        env = cls(timing={"delay": 200})
        env.seed(3)
        env.reset()
        seen = []
        for k in range(40):
            trial = env.new_trial(ground_truth=k % 2)
            for action in (0, 1, 0, 0, 0, 0, 0, 2):
                _ob, reward, _, _, info = env.step(action)
                seen.append((reward, info["new_trial"], info.get("outcome"), info.get("rt"), info.get("choice")))
                if info["new_trial"]:
                    assert info["trial"] == trial
                    break
        sessions.append(seen)
    assert str(sessions[0]) == str(sessions[1])


def test_a_callable_sees_what_is_there():
    env = One()
    env.seed(0)
    trial = env.make_trials(1)
    cue = trial.rows(["cue", "fixation"])
    assert np.all(trial.ob[cue.index, 3] == 5)


@pytest.mark.parametrize(
    ("value", "shape"), [(2.0, ()), ([1, 2], (2,)), (np.ones((3, 2)), (3, 2)), (np.ones((3, 1)), (3, 1))]
)
def test_values_broadcast_against_rows_and_channels(value, shape):
    class Values(One):
        def _new_trial(self, **kwargs):
            self.add_period(["fixation", "stimulus", "decision"])
            self.add_ob(value, "stimulus", where="stimulus")
            return {}

    env = Values()
    env.reset(seed=0)
    np.testing.assert_array_equal(env.view_ob("stimulus")[:, 1:3], np.broadcast_to(value, (3, 2)))
    env.add_ob(value, "stimulus", where="stimulus")  # and after the trial has been made
    np.testing.assert_array_equal(env.view_ob("stimulus")[:, 1:3], 2 * np.broadcast_to(value, (3, 2)))
