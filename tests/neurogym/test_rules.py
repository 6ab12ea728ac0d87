"""Declared response rules: what each action earns at each step."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym import rules, spaces
from neurogym.rules import Rule


class OneChoice(ngym.TrialEnv):
    """Fixate, see, decide; the answer is given by a condition, 0 meaning to withhold."""

    rule = Rule()
    default_timing = {"fixation": 100, "stimulus": 100, "decision": 200}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": -0.2, "miss": -0.4, "withhold": 0.3}

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.conditions = {"ground_truth": (0, 1, 2)}
        self.observation_space = spaces.Box(0, 1, shape=(1,), dtype=np.float32)
        self.action_space = spaces.Discrete(3)

    def _new_trials(self, trials):
        trials.add_period(["fixation", "stimulus", "decision"])
        trials.set_groundtruth(trials.draw("ground_truth"), "decision")


def play(env, actions, **conditions):
    """Reward of each step of one trial, and the info at its end."""
    env.reset(seed=0)
    env.new_trial(**conditions)
    rewards = []
    for action in actions:
        _, reward, _, _, info = env.step(action)
        rewards.append(reward)
        if info["new_trial"]:
            break
    return rewards, info


@pytest.mark.parametrize(
    ("actions", "answer", "rewards", "performance", "outcome"),
    [
        ([0, 0, 1], 1, [0, 0, 1.0], 1, "correct"),
        ([0, 0, 0, 2], 2, [0, 0, 0, 1.0], 1, "correct"),
        ([0, 0, 2], 1, [0, 0, -0.2], 0, "error"),
        ([1, 2, 1], 1, [-0.1, 0, 1.0], 1, "correct"),
        ([0, 0, 0, 0], 1, [0, 0, 0, -0.4], 0, "miss"),
        ([0, 0, 0, 0], 0, [0, 0, 0, 0.3], 1, "correct"),
        ([0, 0, 1], 0, [0, 0, -0.2], 0, "error"),
    ],
)
def test_ordinary_rule(actions, answer, rewards, performance, outcome):
    got, info = play(OneChoice(), actions, ground_truth=answer)
    assert got == pytest.approx(rewards)
    assert (info["new_trial"], info["performance"], info["outcome"]) == (True, performance, outcome)
    assert info["aborts"] == (actions[0] != 0)


def test_abort_ends_the_trial_if_the_task_says_so():
    rewards, info = play(OneChoice(abort=True), [2], ground_truth=1)
    assert rewards == [-0.1] and info["outcome"] == "abort" and info["performance"] == 0


def test_strict_rule_punishes_moves_everywhere_else():
    class Strict(OneChoice):
        rule = Rule(fixate="*")

    assert play(Strict(), [1, 1, 1], ground_truth=1)[0] == pytest.approx([-0.1, -0.1, 1.0])


def test_reaction_time_counts_from_the_decision():
    assert play(OneChoice(), [0, 0, 1], ground_truth=1)[1]["rt"] == 0
    assert play(OneChoice(dt=20), [0] * 15 + [1], ground_truth=1)[1]["rt"] == 100
    assert np.isnan(play(OneChoice(), [0, 0, 0, 0], ground_truth=1)[1]["rt"])


def test_payments_take_precedence():
    class Sure(OneChoice):
        def _new_trials(self, trials):
            super()._new_trials(trials)
            trials.set_action_reward("decision", 2, 0.6, 0.6)

    rewards, info = play(Sure(), [0, 0, 2], ground_truth=1)
    assert rewards[-1] == 0.6 and info["performance"] == 0.6


def test_payments_at_every_step_add_up():
    class Tracking(OneChoice):
        rule = Rule(fixate=("fixation",), answer=())

        def _new_trials(self, trials):
            super()._new_trials(trials)
            trials.set_action_reward(["stimulus", "decision"], 1, 1.0, 1 / 3, ends=False)

    rewards, info = play(Tracking(), [0, 1, 0, 1], ground_truth=1)
    assert rewards == [0, 1, 0, 1] and info["performance"] == pytest.approx(2 / 3)
    assert info["outcome"] == "correct"


def test_rewards_and_bonus_of_single_trials():
    env = OneChoice()
    env.reset(seed=0)
    trials = env.make_trials(3, ground_truth=1)
    trials.rewards["correct"] = np.array([1.0, 2.0, 3.0])
    trials.bonus = -0.01
    env.rule.compile(trials, abort=False)
    decision = trials.offset + trials.starts["decision"]
    np.testing.assert_allclose(trials.fields["reward"][decision, 1], [0.99, 1.99, 2.99])
    np.testing.assert_allclose(trials.fields["reward"][decision, 0], -0.01)
    assert np.all(trials.fields["event"][decision, 1] == rules.CORRECT | rules.END)


def test_a_task_without_rule_or_step_says_so():
    class Neither(OneChoice):
        rule = None

    env = Neither()
    env.reset(seed=0)
    with pytest.raises(NotImplementedError, match="must define _step or declare a rule"):
        env.step(0)


TABLES = ("reward", "performance", "event")


@pytest.mark.parametrize(
    "changes", [{}, {"abort": True}, {"rewards": {"fail": -0.7, "miss": -1}}, {"timing": {"stimulus": 300}}]
)
def test_trials_made_alone_pay_what_those_of_a_block_do(changes):
    env = OneChoice()
    env.update(**changes)
    env.reset(seed=0)
    block = env.make_trials(6, ground_truth=np.array([0, 1, 2, 0, 1, 2]))
    for k in range(6):
        alone, piece = env.make_trials(1, ground_truth=k % 3), block.part(k, 1)
        for name in TABLES:
            np.testing.assert_array_equal(alone.fields[name], piece.fields[name])
