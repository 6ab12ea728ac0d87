"""What environments that are stepped one after the other report of the trials that ended."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym.vector import LoopVectorEnv
from tests.neurogym.wrappers.stacks import finished_row

#: What the record of a trial may hold, by name.
VALUES = {
    "number": lambda i: i / 2,
    "integer": lambda i: i,
    "truth": lambda i: i % 2 == 0,
    "word": lambda i: "ab"[i % 2],
    "word or nothing": lambda i: "a" if i % 2 else None,
    "number or nothing": lambda i: 1.5 if i % 2 else None,
    "integer or word": lambda i: 3 if i % 2 else "a",
    "integer or number": lambda i: 3 if i % 2 else 0.5,
    "truth or integer": lambda i: True if i % 2 else 3,
    "large integer": lambda i: 2**70 + i,
    "largest integer": lambda i: 2**63 - 1,
    "smallest integer": lambda i: -(2**63),
    "scalar of NumPy": lambda i: np.float32(i),
    "vector": lambda i: np.arange(i),
    "array of no axes": lambda i: np.array(i),
    "vector or number": lambda i: np.arange(3) if i % 2 else 3.0,
    "tuple": lambda i: (i, i),
    "list or nothing": lambda i: [1] if i % 2 else None,
}


class StepInfo(ngym.TrialEnv):
    """A task of one step whose record has one value."""

    def __init__(self, value):
        super().__init__(timing={"decision": 100})
        self.value = value
        self.observation_space = ngym.spaces.Box(-1, 1, name={"fixation": 0})
        self.action_space = ngym.spaces.Discrete(2)

    def _new_trial(self, **kwargs):
        self.add_period("decision")
        return self.value

    def _step(self, action):
        return self.ob_now, 1.0, False, False, {"new_trial": True}


def finished(records):
    """The finished trials of a batch with one environment for each record."""
    batch = LoopVectorEnv([StepInfo(record) for record in records])
    batch.reset(seed=0)
    batch.step(np.zeros(len(records), int))
    return batch.finished


def told_alone(i, record):
    """The row of a finished trial as its environment tells it."""
    env = StepInfo(record)
    env.reset(seed=0)
    return finished_row(i, env.step(0)[4])


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("n", [1, 4])
def test_columns_are_the_rows_of_each_environment(name, n):
    records = [{"told": VALUES[name](i), "always": i} for i in range(n)]
    for differing in ([], [{"another": 1}]):
        result = finished(records + differing)
        alone = [told_alone(i, record) for i, record in enumerate(records + differing)]
        assert set(result) == {column for row in alone for column in row}
        for column, values in result.items():
            for value, row in zip(values.tolist(), alone, strict=True):
                missing = None if values.dtype == object else np.nan
                reported = row.get(column)
                assert str(value) == str(missing if reported is None or reported != reported else type(value)(reported))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("number", "f"),
        ("integer", "i"),
        ("truth", "b"),
        ("word", "O"),
        ("large integer", "f"),
        ("number or nothing", "f"),
    ],
)
def test_columns_have_the_type_of_their_values(name, kind):
    column = finished([{"told": VALUES[name](i)} for i in range(4)])["told"]
    assert column.dtype.kind == kind


def test_a_record_does_not_replace_what_is_told_of_every_trial():
    result = finished([{"reward": 7.0, "performance": 9.0, "side": i} for i in range(3)])
    assert result["reward"].tolist() == [1.0] * 3 and result["performance"].tolist() == [0.0] * 3
    assert result["side"].tolist() == [0, 1, 2]
    names = list(result)
    usual = ["env", "performance", "outcome", "choice", "rt", "reward", "steps", "aborts", "decision_onset"]
    assert names[:9] == usual
    assert names[9:] == ["side", "period_decision"]
