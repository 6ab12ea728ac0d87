"""The short way of a step, the long way, and a batch of one environment do the same, for drawn tasks and actions."""

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neurogym as ngym
from neurogym import kernels
from neurogym.vector import TrialVectorEnv
from neurogym.wrappers import PassAction, PassReward

PERIODS = ("wait", "look", "answer", "rest")


class Drawn(ngym.TrialEnv):
    """A task whose periods, rule and rewards are arguments."""

    def __init__(self, design: dict[str, Any], dt: float = 100):
        self.design = design
        self.default_timing = {name: 100 * steps for name, steps in design["steps"].items()}  # type: ignore[misc]
        self.rule = ngym.Rule(**design["rule"])  # type: ignore[misc]
        super().__init__(dt=dt, rewards=design["rewards"], abort=design["abort"])
        self.conditions = {"side": [0, 1, 2]}
        self.observation_space = ngym.spaces.Box(-np.inf, np.inf, shape=(2,), name={"side": 0, "noise": 1})
        self.action_space = ngym.spaces.Discrete(3)

    def _new_trials(self, trials: Any) -> None:
        side = trials.draw("side")
        trials.add_ob(side, where="side")
        trials.add_randn(0, 1, "look", where="noise")
        trials.set_groundtruth(side, "answer")
        if self.design["paid"]:
            trials.set_action_reward("look", 2, 0.25, 0.1, ends=False)
        trials.bonus = self.design["bonus"]


amounts = st.sampled_from([-1.0, -0.1, 0.0, 0.5, 1.0])
specs = st.fixed_dictionaries(
    {
        "steps": st.fixed_dictionaries({name: st.integers(1, 4) for name in PERIODS}),
        "rule": st.fixed_dictionaries(
            {
                "fixate": st.sampled_from([("wait",), ("wait", "look"), (), "*"]),
                "answer": st.sampled_from([("answer",), ("look", "answer")]),
                "hold": st.sampled_from([0, None]),
            }
        ),
        "rewards": st.fixed_dictionaries({name: amounts for name in ("abort", "correct", "fail", "miss")}),
        "abort": st.booleans(),
        "paid": st.booleans(),
        "bonus": st.sampled_from([0.0, -0.01]),
    }
)


@settings(max_examples=40, deadline=None)
@given(specs, st.integers(0, 99), st.lists(st.integers(0, 2), min_size=60, max_size=60))
def test_an_environment_and_a_batch_of_one_do_the_same(spec: Any, seed: int, actions: list[int]) -> None:
    env, batch = Drawn(spec), TrialVectorEnv([Drawn(spec)])
    np.testing.assert_array_equal(batch.reset(seed=seed)[0][0], env.reset(seed=seed)[0])
    for action in actions:
        first = env.step(action)
        visible, rewards, _, _, infos = batch.step(np.array([action]))
        np.testing.assert_array_equal(visible[0], first[0])
        assert rewards[0] == first[1]
        assert all(infos[name][0] == first[4][name] for name in ("new_trial", "gt"))
        if first[4]["new_trial"]:
            row = batch.finished
            assert row is not None and row["outcome"][0] == first[4]["outcome"]
            assert row["reward"][0] == pytest.approx(first[4]["trial_reward"])
            assert (row["steps"][0], row["aborts"][0]) == (first[4]["trial_steps"], first[4]["aborts"])


@settings(max_examples=20, deadline=None)
@given(specs, st.lists(st.integers(0, 2), min_size=40, max_size=40))
def test_compiled_and_plain_steps_of_a_batch_with_wrappers_do_the_same(spec: Any, actions: list[int]) -> None:
    def make() -> Any:
        return PassAction(PassReward(Drawn(spec)))

    first = TrialVectorEnv([make() for _ in range(3)])
    first.reset(seed=1)
    second = copy.deepcopy(first)
    for action in actions:
        chosen = np.array([action, (action + 1) % 3, 0])
        single = first.step(chosen)
        with kernels.use(kernels.PLAIN):
            different = second.step(chosen)
        for a, b in zip(single[:4], different[:4], strict=True):
            np.testing.assert_array_equal(a, b)
        assert str(first.finished) == str(second.finished)
