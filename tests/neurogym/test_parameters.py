"""Parameters that change while a task runs take effect with the next trial, however they are changed."""

import copy
import functools
import pickle

import numpy as np
import pytest

import neurogym as ngym
from neurogym.compat.leniency import strictly
from neurogym.parameters.changes import has_equal_parameters
from neurogym.vector import make_vec
from neurogym.wrappers import PassReward


def rdm(**kwargs):
    return ngym.make("PerceptualDecisionMaking-v0", timing={"stimulus": 200}, **kwargs)


def trials(env, n):
    """Infos of the next ``n`` trials of an agent that is always right."""
    results = []
    while len(results) < n:
        *_, info = env.step(int(env.unwrapped.gt_now))
        if info["new_trial"]:
            results.append(info)
    return results


CHANGES = {
    "update": lambda task: task.update(rewards={"correct": 5}, timing={"delay": 300}, cohs=[25.6]),
    "assigned": lambda task: (
        task.rewards.__setitem__("correct", 5),
        task.timing.update(delay=300),
        setattr(task, "cohs", [25.6]),
    ),
    "replaced": lambda task: (
        setattr(task, "rewards", {**task.rewards, "correct": 5}),
        setattr(task, "timing", {**task.timing, "delay": 300}),
        task.conditions.__setitem__("coh", np.array([25.6])),
    ),
}


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("wrap", [lambda env: env, PassReward], ids=["bare", "wrapped"])
def test_a_change_takes_effect_with_the_next_trial(how, wrap):
    env = wrap(rdm(cohs=[0, 51.2]))
    env.reset(seed=0)
    trials(env, 3)
    env.step(0)
    before = copy.deepcopy(env.unwrapped.trial)
    CHANGES[how](env.unwrapped)
    now, *later = trials(env, 40)
    assert now["trial"] == before and now["trial_reward"] == 1 and now["periods"]["period_delay"] == 0
    for info in later:
        assert info["trial_reward"] == 5 and info["periods"]["period_delay"] == 300 and info["trial"]["coh"] == 25.6


def test_rewards_and_timing_are_read_only_where_nothing_is_forgiven():
    task, programmed = rdm().unwrapped, ngym.make("ReachingDelayResponse-v0").unwrapped
    with strictly():
        with pytest.raises(TypeError, match=r"expected env.update\(timing=\{'delay': 500\}\)"):
            task.timing["delay"] = 500
        programmed.rewards["fail"] = -3  # a task in NeuroGym's style
    assert task.timing["delay"] == 0 and programmed.rewards["fail"] == -3


def constant(duration):
    return lambda: duration


FUNCTIONS = {
    "lambda": (lambda: 100, lambda: 300),
    "closure": (constant(100), constant(300)),
    "partial": (functools.partial(int, 100), functools.partial(int, 300)),
    "method": (np.array(100).item, np.array(300).item),
    "default": (lambda duration=100: duration, lambda duration=300: duration),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_function_is_replaced_with_the_next_trial(kind):
    before, after = FUNCTIONS[kind]
    env = rdm()
    env.timing["delay"] = before
    env.reset(seed=0)
    assert [info["periods"]["period_delay"] for info in trials(env, 3)] == [100] * 3
    env.timing["delay"] = after
    assert [info["periods"]["period_delay"] for info in trials(env, 7)] == [100] + [300] * 6


def test_functions_that_one_constructor_makes_twice_are_equal():
    first, two, three = (
        ngym.make("PerceptualDecisionMaking-v0", timing={"delay": constant(delay)}).unwrapped
        for delay in (100, 100, 300)
    )
    assert has_equal_parameters(first, two) and not has_equal_parameters(first, three)


def test_what_is_derived_from_an_argument_follows():
    task = ngym.make("ReadySetGo-v0").unwrapped
    fresh = ngym.make("ReadySetGo-v0", gain=2).unwrapped
    assert task.gain == 1
    task.update(gain=2)
    assert task.gain == fresh.gain and str(task.conditions) == str(fresh.conditions)


def test_metadata_that_depend_on_an_argument_follow():
    task = ngym.make("AnnubesEnv-v0").unwrapped
    fresh = ngym.make("AnnubesEnv-v0", max_sequential=2).unwrapped
    assert task.metadata["history_dependent"] != fresh.metadata["history_dependent"]
    task.update(max_sequential=2)
    assert task.metadata == fresh.metadata


def test_what_a_task_does_not_know_or_refuses_is_said():
    task = rdm().unwrapped
    for change, message in (
        ({"cohss": [1]}, "did you mean 'cohs'"),
        ({"rewards": {"corect": 1}}, "did you mean 'correct'"),
        ({"timing": {"stimlus": 1}}, "did you mean 'stimulus'"),
        ({"cohs": []}, "one or more numbers"),
        ({"timing": {"stimulus": ("unifrom", (1, 2))}}, "did you mean 'uniform'"),
        ({"dim_ring": 8}, "would change the observation space"),
        ({"dt": 20}, "unknown parameter"),
    ):
        before = copy.deepcopy(vars(task)["rewards"]), copy.deepcopy(vars(task)["timing"]), task.cohs
        with pytest.raises(ValueError, match=message):
            task.update(**change)
        assert (vars(task)["rewards"], vars(task)["timing"], task.cohs) == before


def test_a_session_goes_on():
    """What a task carries across trials, and its generator, stay."""
    env = ngym.make("ReversalLearning-v0")
    env.reset(seed=0)
    trials(env, 5)
    task = env.unwrapped
    before = {name: value for name, value in vars(task).items() if isinstance(value, (int, float)) and name[0] == "_"}
    state = task.np_random.bit_generator.state
    task.update(rewards={"fail": -1})
    assert {name: vars(task)[name] for name in before} == before and task.np_random.bit_generator.state == state


def test_copies_change_by_themselves():
    env = rdm()
    env.reset(seed=0)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        twin.unwrapped.rewards["correct"] = 7
        assert trials(twin, 3)[-1]["trial_reward"] == 7
    assert env.unwrapped.rewards["correct"] == 1 and trials(env, 3)[-1]["trial_reward"] == 1
    assert type(copy.deepcopy(env.unwrapped.rewards)["correct"]) is float


@pytest.mark.parametrize("id_", ["PerceptualDecisionMaking-v0", "ReachingDelayResponse-v0"])
def test_a_batch_changes_with_the_next_trial_of_each_environment(id_):
    batch, singles = make_vec(lambda: ngym.make(id_), 3), [ngym.make(id_) for _ in range(3)]
    batch.reset(seed=1), [env.reset(seed=1 + i) for i, env in enumerate(singles)]
    rng = np.random.default_rng(0)
    batch.single_action_space.seed(0)
    for step in range(400):
        if step == 33:
            batch.update(rewards={"correct": 3})
            for env in singles:
                env.unwrapped.update(rewards={"correct": 3})
        if step == 200:
            batch.envs[0].unwrapped.rewards["fail"] = -2
            singles[0].unwrapped.rewards["fail"] = -2
        actions = np.stack([batch.single_action_space.sample() for _ in range(3)])
        if actions.ndim == 1:
            actions *= rng.random(3) < 0.2
        obs, rewards, *_ = batch.step(actions)
        alone = [env.step(action) for env, action in zip(singles, actions, strict=True)]
        np.testing.assert_array_equal(obs, [step[0] for step in alone])
        np.testing.assert_array_equal(rewards, [step[1] for step in alone])


def test_several_tasks_change_those_that_have_it():
    env = ngym.make_multi("PerceptualDecisionMaking-v0+GoNogo-v0", pad=True)
    env.reset(seed=0)
    env.unwrapped.update(rewards={"correct": 4}, cohs=[25.6], timing={"stimulus": 300})
    result = trials(env, 60)[2:]
    assert {info["trial_reward"] for info in result if info["outcome"] == "correct"} <= {4, 0}
    assert {info["trial"]["coh"] for info in result if "Perceptual" in info["trial"]["task"]} == {25.6}
    assert {info["periods"]["period_stimulus"] for info in result} == {300}
    with pytest.raises(ValueError, match="unknown parameter 'chos'"):
        env.unwrapped.update(chos=[1])


def test_a_combination_changes_the_task_that_is_meant():
    env = ngym.Combine(ngym.make("GoNogo-v0"), "GoNogo-v0", delay=200)
    env.reset(seed=0)
    env.update(timing={"distractor_stimulus": 300, "stimulus": 200})
    env.new_trial(combine_type=2)
    duration = {name: env.end_t[name] - env.start_t[name] for name in env.start_t}
    assert duration["stimulus"] == 200 and duration["distractor_stimulus"] == 300


def test_the_period_that_a_combination_suggests_is_one_that_it_has():
    env = ngym.Combine(ngym.make("GoNogo-v0"), "GoNogo-v0", delay=200)
    with pytest.raises(ValueError, match="distractor_stimulus"):
        env.update(timing={"distractor_stimulis": 300})
    env.update(timing={"distractor_stimulus": 300})


def test_a_period_that_is_called_like_a_reward_is_changed_in_one_task():
    class Paid(type(ngym.make("GoNogo-v0").unwrapped)):
        default_rewards = {"correct": 1.0, "fail": -0.5, "miss": -0.5, "abort": -0.1, "stimulus": 0.0}

    env = ngym.Combine(ngym.make("GoNogo-v0"), Paid(), delay=200)
    env.reset(seed=0)
    before = env.tasks[1].timing["stimulus"]
    env.update(timing={"stimulus": 700})
    assert env.tasks[0].timing["stimulus"] == 700 and env.tasks[1].timing["stimulus"] == before
    env.update(rewards={"correct": 3})
    assert [task.rewards["correct"] for task in env.tasks] == [3, 3]


def test_a_task_without_rewards_takes_any():
    class Free(ngym.TrialEnv):
        def __init__(self, dt=100):
            super().__init__(dt=dt)

    task = Free()
    task.update(rewards={"anything": 2})
    assert task.rewards["anything"] == 2
    with pytest.raises(ValueError, match="unknown reward 'other'"):
        task.update(rewards={"other": 2})


def test_the_signature_of_a_task_is_its_constructors():
    import inspect

    names = list(inspect.signature(type(rdm().unwrapped)).parameters)
    assert names[0] == "dt" and "cohs" in names and "self" not in names


def test_the_arguments_are_one_set_that_does_not_change():
    task = rdm().unwrapped
    before = task.arguments()
    task.update(cohs=[25.6])
    assert before["cohs"] is None or list(before["cohs"]) != [25.6]
    assert task.arguments()["cohs"] == [25.6]
    task.arguments()["cohs"] = [0]
    assert task.arguments()["cohs"] == [25.6]
