"""Blocks of trials are the same whether their rows are filled by compiled functions or in NumPy."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym import kernels, rules, spaces
from neurogym.envs.registration import every_task
from neurogym.trials import Trials


def blocks(id_):
    """Everything that a task says of some trials."""
    env = ngym.make(id_)
    env.reset(seed=3)
    many = env.unwrapped.traits.ahead
    created = [env.unwrapped.make_trials(n) for n in ((1, 9) if many else (1, 1))]
    return [{**block.fields, **{f"{k} of trials": v for k, v in block.info.items()}} for block in created]


@pytest.mark.parametrize("id_", every_task())
def test_the_trials_of_every_task_are_the_same(id_, compiled):
    result = blocks(id_)
    with kernels.use(kernels.PLAIN):
        plain = blocks(id_)
    for ours, expected in zip(result, plain, strict=True):
        assert ours.keys() == expected.keys()
        for name, values in expected.items():
            np.testing.assert_array_equal(ours[name], values, err_msg=name)


def trials(n=3):
    env = ngym.TrialEnv(dt=100, timing={"fixation": 200, "decision": 100})
    env.observation_space = spaces.Box(-1, 1, shape=(4,), dtype=np.float32)
    env.action_space = spaces.Discrete(3)
    env.np_random = np.random.default_rng(0)
    created = Trials(env, n)
    created.add_period(["fixation", "decision"])
    return created


@pytest.mark.parametrize(
    "value",
    [2, np.array([1, 2, 3]), np.arange(6).reshape(3, 2), np.array([[5, 6]]), lambda rows: rows.step * 10 + rows.trial],
    ids=["number", "per trial", "per trial and channel", "per channel", "per row"],
)
def test_adds_a_value_of_any_shape(variant, value):
    created = trials()
    created.add_ob(value, "fixation", where=[1, 2])
    rows = created.rows("fixation")
    reference = np.asarray(value(rows) if callable(value) else value)
    if not callable(value) and reference.ndim and len(reference) == 3:
        reference = reference[rows.trial]
    expected = np.zeros((9, 4), np.float32)
    expected[rows.index, 1:3] += reference[:, None] if reference.ndim == 1 else reference
    np.testing.assert_array_equal(created.ob, expected)


@pytest.mark.parametrize("where", [[0, 2], [3], None, [3, 0]])
def test_adds_to_any_channels(variant, where):
    created = trials()
    created.add_ob(np.array([1, 2, 3]), "decision", where=where)
    expected = np.zeros((9, 4))
    expected[np.ix_([2, 5, 8], range(4) if where is None else where)] = [[1], [2], [3]]
    np.testing.assert_array_equal(created.ob, expected)


def test_rows_that_periods_share_are_added_to_once(variant):
    created = trials()
    created.add_period("cue", 200, after=100.0)
    created.add_ob(1, ["fixation", "cue"], where=0)
    np.testing.assert_array_equal(created.ob[:, 0], 1)


def test_wrong_sizes_are_refused(variant):
    created = trials()
    with pytest.raises(ValueError, match="needs 3 entries"):
        created.add_ob(np.zeros(2))
    with pytest.raises(ValueError, match="values for 6 rows, got 5"):
        created.add_ob(lambda rows: np.zeros(5), "fixation")
    created.rewards["correct"] = np.ones(2)
    with pytest.raises(ValueError, match="reward 'correct' needs one number or 3"):
        created.reward("correct")
    created.move_period("decision", np.array([2, 2, 3]), np.array([3, 3, 4]))
    with pytest.raises(ValueError, match="period 'decision' lies outside the trials"):
        created.rows("decision")


def test_a_right_action_that_does_not_exist_is_refused(variant):
    created = trials()
    created.set_groundtruth(7, "decision")
    with pytest.raises(IndexError):
        rules.Rule().compile(created, abort=False)
