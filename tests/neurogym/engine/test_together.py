"""Trials that environments make together are those that each would have made alone."""

import copy
from functools import partial

import numpy as np
import pytest

import neurogym as ngym
from neurogym import spaces
from neurogym.core import TrialEnv
from neurogym.envs.registration import every_task
from neurogym.rules import Rule
from neurogym.vector import LoopVectorEnv, TrialVectorEnv, make_vec


class Staircase(TrialEnv):
    """A task as users write them: correct answers make the next trial harder, and longer."""

    default_timing = {"fixation": 200, "stimulus": ("uniform", (200, 600)), "decision": 200}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0}
    rule = Rule(fixate=("fixation", "stimulus"), answer=("decision",))

    def __init__(self, dt=100, rewards=None, timing=None, sigma=1.0):
        super().__init__(dt=dt, rewards=rewards, timing=timing)
        self.sigma, self.level = sigma, 0
        self.conditions = {"ground_truth": [0, 1]}
        self.observation_space = spaces.Box(-np.inf, np.inf, shape=(3,), name={"fixation": 0, "stimulus": [1, 2]})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    def start_session(self):
        self.level = 0

    def next_trial_depends_on(self):
        return self.level

    def trial_ended(self, info):
        self.level = (self.level + (info["performance"] == 1)) % 3

    def _new_trials(self, trials):
        truth = trials.draw("ground_truth", p=(0.3, 0.7))
        trials.info["level"] = np.full(trials.n, self.level)
        trials.add_period("fixation", 200 + 100 * self.level)
        trials.add_period("stimulus", after="fixation")
        trials.add_period("decision", after="stimulus")
        trials.add_ob(1, ["fixation", "stimulus"], where="fixation")
        trials.add_ob(np.eye(2)[truth], "stimulus", where="stimulus")
        trials.add_randn(0, self.sigma, ["stimulus", "decision"], where="stimulus")
        trials.set_groundtruth(truth, "decision", where="choice")


class Plain(Staircase):
    """The same, without saying what the next trial follows from."""

    next_trial_depends_on = TrialEnv.next_trial_depends_on


def seen(batch, steps, seed=0, changes=lambda step: None):
    """All that a batch shows when actions are drawn at random."""
    rng, results = np.random.default_rng(seed), []
    n = batch.single_action_space.n
    for step in range(steps):
        changes(step)
        *pieces, infos = batch.step(rng.integers(n, size=batch.num_envs))
        finished = {} if batch.finished is None else {name: str(v.tolist()) for name, v in batch.finished.items()}
        results.append(([piece.tolist() for piece in pieces], sorted(infos), finished))
    return results, [task.np_random.bit_generator.state for task in batch.tasks]


def started(make_env, kind=None, n=9):
    batch = make_vec(make_env, n) if kind is None else kind([make_env() for _ in range(n)])
    batch.reset(seed=3)
    return batch


def says(id_):
    task = ngym.make(id_).unwrapped
    return isinstance(task, TrialEnv) and type(task).next_trial_depends_on is not TrialEnv.next_trial_depends_on


OPPONENTS = [("MatchingPenny-v0", {"opponent_type": kind}) for kind in ("random", "algorithm1", "algorithm2")]


#: A side that was chosen once is not asked for the next time, so that some sessions draw a side and others do not.
SIDES = [("CVLearning-v0", {"max_num_reps": 1, "n_ch": 2})]


@pytest.mark.parametrize(("id_", "kwargs"), [*((id_, {}) for id_ in every_task() if says(id_)), *OPPONENTS, *SIDES])
def test_a_batch_is_as_its_environments_are_alone(id_, kwargs):
    batch, alone = (started(lambda: ngym.make(id_, **kwargs), n=n) for n in (9, 1))
    everything, ends = seen(batch, 200)
    rng = np.random.default_rng(0)
    for step, (pieces, *_) in enumerate(everything):
        ob, reward, *_ = alone.step(rng.integers(alone.single_action_space.n, size=9)[:1])
        assert (ob[0].tolist(), reward[0]) == (pieces[0][0], pieces[1][0]), step
    assert ends[0] == alone.tasks[0].np_random.bit_generator.state


@pytest.mark.parametrize("opponent", ["mean_action", "algorithm1"])
def test_matching_pennies_in_a_batch_and_in_turn(opponent):
    make_env = lambda: ngym.make("MatchingPenny-v0", opponent_type=opponent)  # noqa: E731
    together, in_turn = started(make_env, TrialVectorEnv), started(make_env, LoopVectorEnv)
    for (a, _, reported), (b, _, told_too) in zip(seen(together, 150)[0], seen(in_turn, 150)[0], strict=True):
        assert a == b
        assert told_too == reported


@pytest.mark.parametrize("sigma", [0.0, 1.0])
def test_a_users_task_makes_the_trials_that_it_would_without(sigma):
    assert seen(started(lambda: Staircase(sigma=sigma)), 300) == seen(started(lambda: Plain(sigma=sigma)), 300)


def test_trials_are_made_together():
    requests = []

    class Counted(Staircase):
        def _new_trials(self, trials):
            requests.append(trials.n)
            super()._new_trials(trials)

    seen(started(Counted), 300)
    assert max(requests) > 1


def test_tasks_with_other_parameters_describe_their_own_trials():
    def changed(batch):
        def change(step):
            if step == 40:
                batch.tasks[2].sigma = 3.0
            if step == 60:
                batch.tasks[4].rewards["correct"] = 5.0
            if step == 80:
                batch.update(timing={"fixation": 400})

        return change

    first, second = started(Staircase), started(Plain)
    assert seen(first, 200, changes=changed(first)) == seen(second, 200, changes=changed(second))


@pytest.mark.parametrize("make_env", [Staircase, *(partial(ngym.make, id_) for id_ in every_task() if says(id_))])
def test_a_session_goes_on_from_what_was_saved(make_env):
    batch, second = started(make_env), started(make_env)
    seen(batch, 37)
    second.set_state(batch.state())
    assert seen(second, 100, seed=1) == seen(batch, 100, seed=1)


def test_a_copy_of_one_environment_has_nothing_of_the_others():
    batch = started(Staircase)
    seen(batch, 50)
    twin = copy.deepcopy(batch.envs[3])
    private = twin.this_trial
    assert private.env is twin
    assert private.n == 1
    assert np.array_equal(private.ob, batch.envs[3].ob)
    assert all(batch.envs[i].this_trial.env is batch.envs[i] for i in range(9))
