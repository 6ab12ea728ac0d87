"""A run that ends at chance or far below the ceiling says so, with what to try."""

from __future__ import annotations

import pytest

from ngym_cli.agents import per_task
from ngym_cli.agents.defaults import prepare
from ngym_cli.config.model import from_dict
from ngym_cli.training.progress import advance_notice, advice, shortfall


def summary(score, chance=0.5, ceiling=0.96, blind=0.5):
    interval = (score - 0.02, score + 0.02)
    return {"performance": score, "performance_ci": interval, "chance": chance, "ceiling": ceiling, "blind": blind}


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (summary(0.504), "not learned: performance 0.504 is not above"),
        (summary(0.71), "performance 0.710 is 74% of the ceiling (0.960)"),
        (summary(0.95), None),
        (summary(0.90), None),  # the interval reaches 95 % of the ceiling
        (summary(0.49, ceiling=0.5), None),  # nothing more can be learned
        (summary(0.51, ceiling=None), "not learned"),
        (summary(0.71, ceiling=None), None),
        (summary(0.71, chance=None, blind=None, ceiling=None), None),
        ({key: value for key, value in summary(0.71).items() if key != "performance_ci"}, "performance 0.710 is 74%"),
        (summary(0.71) | {"fixation_break_rate": 1.0}, "not learned: fixation is broken in 100% of trials"),
        (summary(0.95) | {"fixation_break_rate": 0.2}, None),
    ],
    ids=str,
)
def test_a_shortfall_is_relative_to_chance_and_ceiling(result, text):
    message = shortfall(result)
    assert message == text if text is None else message.startswith(text)


@pytest.mark.parametrize(
    ("settings", "words", "absent"),
    [
        ({"task": "PulseDecisionMaking-v0"}, ("--timesteps 6_400_000", "--alg supervised"), "--network"),
        ({"task": "PulseDecisionMaking-v0", "timesteps": 1000}, ("--timesteps 3_200_000 (default",), "6_400_000"),
        ({"task": "GoNogo-v0", "alg": "ppo"}, ("--alg recurrent_ppo",), "--timesteps"),
        ({"task": "GoNogo-v0", "network": "rnn", "units": 8}, ("--network lstm", "--units 64"), "--recommended"),
        ({"task": "yang19.dm1-v0"}, ("--alg recurrent_ppo (learning from reward)",), "supervised"),
        ({"task": "TwoStep-v0", "wrappers": []}, ("--wrappers pass_reward,pass_action (the last",), "--recommended"),
        ({"task": "RDMHist-v0", "wrappers": "pass_reward"}, ("--recommended",), "--network"),
        ({"task": "RDMHist-v0", "recommended": True}, ("--timesteps",), "--recommended"),
    ],
    ids=str,
)
def test_what_to_try_follows_the_run(settings, words, absent):
    config, properties = prepare(from_dict(settings))
    message = advice(config, properties, summary(0.1))
    assert all(word in message for word in words) and absent not in message.partition("; try")[2]
    assert "\n" not in message


def test_an_agent_that_is_not_shown_its_reward_is_told_how_to_see_it():
    config, properties = prepare(from_dict({"task": "Priors-v0"}))
    assert "try --recommended" in advice(config, properties, summary(0.5, ceiling=0.5))


BAD = per_task.LineResult(steps=1000, seconds=1.0, seeds=3, reached=0, performance=0.1, target=0.95)
GOOD = per_task.LineResult(steps=1000, seconds=1.0, seeds=3, reached=3, performance=1.0, target=0.95)


@pytest.mark.parametrize(
    ("settings", "rows", "text"),
    [
        ({"task": "MatchingPenny-v0"}, {"default": BAD, "recommended": GOOD}, "--recommended does (3 of 3 seeds)"),
        ({"task": "MatchingPenny-v0", "recommended": True}, {"default": BAD, "recommended": GOOD}, None),
        ({"task": "MatchingPenny-v0", "units": 16}, {"default": BAD, "recommended": GOOD}, None),
        ({"task": "MatchingPenny-v0"}, {"default": GOOD}, None),
        ({"task": "MatchingPenny-v0"}, {"default": BAD, "recommended": BAD}, None),
        ({"task": "CVLearning-v0"}, {"default": GOOD}, None),
        ({"task": "Detection-v0"}, {"default": BAD}, None),
        ({"task": "Priors-v0"}, {}, "not shown (--recommended shows it)"),
        ({"task": "TwoStep-v0", "wrappers": []}, {}, "not shown (--wrappers pass_reward,pass_action shows it)"),
        ({"task": "GoNogo-v0"}, {}, None),
        ({"task": "DualTask-v0", "timing": {"delay1": 1000}}, {}, "default stages of the task are left out"),
        ({"task": "DualTask-v0", "units": 32}, {}, None),
        ({"task": "DualTask-v0", "alg": "supervised"}, {}, None),
    ],
    ids=str,
)
def test_a_run_that_will_not_learn_says_so_before_it_starts(monkeypatch, settings, rows, text):
    tables = {learner: {settings["task"]: row} for learner, row in rows.items()}
    monkeypatch.setattr(per_task, "measurements", lambda: tables)
    config = from_dict(settings)
    message = advance_notice(config, prepare(config)[1])
    assert message is None if text is None else text in message and "\n" not in message


def test_an_own_network_that_never_holds_fixation_gets_advice(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "import torch\nfrom torch import nn\nimport ngym_cli as nc\n\n\nclass Mine(nc.Cell):\n"
        "    def __init__(self, inputs, units):\n        super().__init__(inputs, units)\n"
        "        self.a = nn.Linear(inputs + units, units)\n\n"
        "    def step(self, x, state):\n        return (torch.tanh(self.a(torch.cat([x, state[0]], -1))),)\n"
    )
    config, properties = prepare(from_dict({"task": "RDM-v0", "network": "mine.py:Mine", "timesteps": 500}))
    line = advice(config, properties, summary(0.71) | {"fixation_break_rate": 1.0})
    assert line.startswith("not learned: fixation is broken in 100% of trials; try ngym check mine.py:Mine")


def test_an_own_task_says_how_its_ceiling_is_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task = "from neurogym.envs.native.twostep import TwoStep\n\n\nclass Mine(TwoStep):\n    pass\n"
    (tmp_path / "mine.py").write_text(task)
    _, properties = prepare(from_dict({"task": "mine.py:Mine"}))
    if properties.ceiling is None:
        assert "a method ceiling(self) that returns {'performance': ...} gives one" in properties.no_ceiling


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(10, 20, True), (-1, 1, False), (0, 1, False), (-500, 500, True)]
)
def test_actions_far_from_those_of_a_new_network_are_named(tmp_path, monkeypatch, low, high, expected):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "import gymnasium as gym\nimport numpy as np\nfrom neurogym.core import TrialEnv\n\n\n"
        "class Mine(TrialEnv):\n    def __init__(self, dt=100):\n"
        "        super().__init__(dt=dt)\n        self.observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)\n"
        f"        self.action_space = gym.spaces.Box({low}, {high}, (1,), np.float32)\n\n"
        "    def _new_trial(self, **kwargs):\n        self.add_period('trial', duration=300)\n"
        "        return {'ground_truth': 0}\n\n"
        "    def _step(self, action):\n"
        "        return self.ob_now, 0.0, False, False, {'new_trial': False}\n"
    )
    config = from_dict({"task": "mine.py:Mine"})
    line = advance_notice(config, prepare(config)[1]) or ""
    assert ("networks begin near 0" in line) == expected
