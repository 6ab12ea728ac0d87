"""A captured session continues exactly."""

import copy
import json

import numpy as np
import pytest

import neurogym as ngym
from neurogym.envs.multi import ScheduleEnvs
from neurogym.sampling.scheduler import SequentialSchedule
from neurogym.state import capture, restore
from neurogym.vector import make_vec
from neurogym.wrappers import PassAction, PassReward


def leaves(tree):
    """Everything in a tree that is not a dictionary or list."""
    if isinstance(tree, dict):
        return [leaf for value in tree.values() for leaf in leaves(value)]
    if isinstance(tree, list):
        return [leaf for value in tree for leaf in leaves(value)]
    return [tree]


@pytest.mark.parametrize(
    ("id_", "steps"),  # in the first block of trials and in a later one
    [
        ("PerceptualDecisionMaking-v0", 123),
        ("Bandit-v0", 123),
        ("Bandit-v0", 900),
        ("ReadySetGo-v0", 900),
        ("ReachingDelayResponse-v0", 123),
        ("MatchingPenny-v0", 123),
    ],
)
def test_a_batch_continues_exactly(id_, steps):
    def make():
        return make_vec(lambda: PassAction(PassReward(ngym.make(id_))), 3)

    first, second = make(), make()
    first.reset(seed=1)
    first.action_space.seed(0)
    for _ in range(steps):
        first.step(first.action_space.sample())
    state = first.state()
    second.reset(seed=50)
    second.set_state(state)
    for _ in range(250):
        actions = first.action_space.sample()
        single, different = first.step(actions), second.step(actions)
        assert str(first.finished) == str(second.finished)
        for a, b in zip(single[:4], different[:4], strict=True):
            np.testing.assert_array_equal(a, b)


def test_trials_made_ahead_are_not_saved():
    """The state stays as small as it was at the beginning, however many trials were made ahead."""
    batch = make_vec(lambda: ngym.make("GoNogo-v0"), 2)
    batch.reset(seed=0)

    def size():
        return sum(leaf.nbytes for leaf in leaves(batch.state()) if isinstance(leaf, np.ndarray))

    first = size()
    for _ in range(9000):
        batch.step(np.zeros(2, int))
    assert size() < 2 * first < 4000


def test_places_that_are_not_possible_are_refused():
    batch = make_vec(lambda: ngym.make("GoNogo-v0"), 2)
    batch.reset(seed=0)
    state = batch.state()
    for position, value in ((0, -1), (0, 10_000), (1, -4), (1, 10**6), (3, np.nan)):
        changed = copy.deepcopy(state)
        changed["batch"][position] = changed["batch"][position].copy()
        changed["batch"][position][1] = value
        with pytest.raises(ValueError, match="batch"):
            batch.set_state(changed)


def test_a_trial_whose_arrays_do_not_fit_each_other_is_refused():
    env = ngym.make("MatchingPenny-v0")
    env.reset(seed=0)
    state = capture(env)
    fields = dict((name, data) for name, data in dict(state["trials"]["trial"]["pairs"])["fields"]["pairs"])
    fields["event"]["value"] = fields["event"]["value"] | 7
    with pytest.raises(ValueError, match=r"does not fit .*event"):
        restore(env, state)


def test_states_of_earlier_versions_are_refused_in_one_line():
    env = ngym.make("RDM-v0")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="earlier version and cannot be continued") as caught:
        restore(env, {"__kind__": "object", "class": "neurogym.core:TrialEnv", "attributes": {}})
    assert "\n" not in str(caught.value)


def test_the_present_trial_continues_with_rows_that_the_task_has_changed():
    class Shown(type(ngym.make("RDM-v0").unwrapped)):
        def _step(self, action):
            self.ob[self.t_ind + 1 :] += 1
            return super()._step(action)

    env, second = Shown(), Shown()
    env.reset(seed=1)
    env.step(0), env.step(0)
    second.reset(seed=2)
    restore(second, capture(env))
    for _ in range(60):
        np.testing.assert_array_equal(env.step(0)[0], second.step(0)[0])


def test_a_single_environment_continues_exactly():
    env = PassReward(ngym.make("DelayComparison-v0"))
    env.reset(seed=1)
    for _ in range(40):
        env.step(0)
    state = capture(env)
    expected = [env.step(1) for _ in range(300)]
    second = PassReward(ngym.make("DelayComparison-v0"))
    second.reset(seed=2)
    restore(second, state)
    for step in expected:
        again = second.step(1)
        np.testing.assert_array_equal(step[0], again[0])
        assert str(step[1:]) == str(again[1:])


def test_the_state_is_plain_data():
    env = PassReward(ngym.make("RDM-v0", timing={"delay": ("uniform", (100, 200))}))
    env.reset(seed=1)
    for leaf in leaves(capture(env)):
        if not isinstance(leaf, np.ndarray):
            json.dumps(leaf)
        else:
            assert leaf.dtype != object


def test_a_state_of_another_stack_is_refused():
    env = ngym.make("RDM-v0")
    env.reset(seed=1)
    with pytest.raises(ValueError, match="does not fit"):
        restore(PassReward(ngym.make("RDM-v0")), capture(env))


class _Begins(ngym.TrialWrapper):
    """Overrides ``new_trial``, so that rules are applied at the first step of a trial."""

    def new_trial(self, **conditions):
        return self.env.new_trial(**conditions)


class _Pays(ngym.TrialEnv):
    """Pays 7 for action 1 in the decision."""

    default_timing = {"wait": 200, "decision": 100}
    default_rewards = {"correct": 1.0, "fail": 0.0}
    rule = ngym.Rule(fixate=(), answer=())

    def __init__(self, dt=100):
        super().__init__(dt=dt)
        self.conditions = {"ground_truth": [1, 2]}
        self.observation_space = ngym.spaces.Box(-1, 1, shape=(1,))
        self.action_space = ngym.spaces.Discrete(3)

    def _new_trials(self, trials):
        truth = trials.draw("ground_truth")
        trials.add_ob(1, "wait")
        trials.set_groundtruth(truth, "decision")
        trials.set_action_reward("decision", 1, 7.0, 1.0)


class _PaysThree(_Pays):
    """Pays 3 for right answers in the decision, by rewards of its own for each trial."""

    rule = ngym.Rule(fixate=("wait",), answer=("decision",))

    def _new_trials(self, trials):
        trials.set_groundtruth(np.ones_like(trials.draw("ground_truth")), "decision")
        trials.rewards["correct"] = np.full(trials.n, 3.0)


def _rewards(env, steps=9):
    return [env.step(int(step % 3 == 2))[1] for step in range(steps)]


def _alternating():
    return ScheduleEnvs([_Pays(), _PaysThree()], SequentialSchedule(2))


@pytest.mark.parametrize(
    ("make", "expected"),
    [(lambda: _Begins(_Pays()), [0, 0, 7]), (lambda: _Begins(_alternating()), [0, 0, 3, 0, 0, 7])],
    ids=["task", "tasks"],
)
def test_rewards_of_a_trial_that_a_wrapper_began_are_the_same_after_restoring(make, expected):
    first, second = make(), make()
    first.reset(seed=0)
    saved = capture(first)
    second.reset(seed=1)
    restore(second, saved)
    result = _rewards(first, 12)
    assert result == expected * (12 // len(expected)) == _rewards(second, 12)


def test_trials_made_beside_the_session_do_not_change_the_present_trial():
    first, second = _Begins(_alternating()), _Begins(_alternating())
    first.reset(seed=0)
    second.reset(seed=0)
    second.unwrapped.make_trials(1)
    assert _rewards(first, 3) == _rewards(second, 3) == [0, 0, 3]


class _Own(ngym.TrialWrapper):
    """Keeps attributes with the names of attributes of tasks, and one that follows from an argument."""

    state = ("_seen", "_now")

    def __init__(self, env, size=3):
        super().__init__(env)
        self._seen, self._now, self.table = 0, [0], np.zeros(size)

    def trial_ended(self, info):
        self._seen += 1
        self._now = [self._seen]

    @property
    def counted(self):
        return self._seen, self._now


def test_attributes_that_a_wrapper_lists_are_saved_whatever_their_names():
    env, second = _Own(ngym.make("RDM-v0")), _Own(ngym.make("RDM-v0"), 5)
    env.reset(seed=0)
    for step in range(200):
        env.step(step % 3)
    second.reset(seed=1)
    restore(second, capture(env))
    assert env.counted[0] > 3 and second.counted == env.counted and second.table.shape == (5,)


def test_a_restored_session_makes_its_block_once_and_tries_the_next(monkeypatch):
    first, second = ngym.make("GoNogo-v0"), ngym.make("GoNogo-v0")
    for env in (first, second):
        env.reset(seed=1)
    for _ in range(50):
        first.step(0)
    state, task, sizes = capture(first), type(second.unwrapped), []
    new_trials = vars(task)["_new_trials"]

    def counted(self, trials):
        sizes.append(trials.n)
        return new_trials(self, trials)

    monkeypatch.setattr(task, "_new_trials", counted)
    restore(second, state)
    assert len(sizes) == 2 and sizes[0] == sizes[1]
