"""Parameters of a diffusion as formulas of trial columns."""

import numpy as np
import pytest

from neurogym.behaviour.models.base import Problem, UnfitError, predict
from neurogym.behaviour.models.formulas import required_columns
from neurogym.behaviour.models.responses import DiffusionResponse
from neurogym.behaviour.models.with_times import diffusion
from neurogym.behaviour.table import Behaviour, session

pytest.importorskip("formulaic")


@pytest.fixture(scope="module")
def data():
    """Drift 1 + 5 coh - 1 in block b (all with coh), log bound lower under speed."""
    rng, rows = np.random.default_rng(0), []
    for k in range(3):
        n = 600
        coh, block = rng.choice([-0.4, -0.1, 0.1, 0.4], n), rng.choice(["a", "b"], n)
        speed = rng.integers(0, 2, n).astype(float)
        drift = 0.5 + 5 * coh - 1.0 * (block == "b") + 3 * coh * (block == "b")
        bound = np.exp(0.1 - 0.5 * speed)
        choice, rt = DiffusionResponse().sample(drift[:, None], {"A": bound, "t_R": 0.3, "z": 0.5, "lapse": 0.02}, rng)
        conditions = {"block": block, "speed": speed}
        rows.append(session(choice, name=str(k), stimuli=coh[:, None], rt=rt, conditions=conditions))
    return Behaviour(tuple(rows), stimuli=("coh",))


def test_coefficients_are_recovered(data):
    fit = diffusion(vary={"drift": "coh * block", "bound": "speed"}).fit([Problem(data)])[0]
    truth = {
        "drift: Intercept": 0.5,
        "drift: coh": 5.0,
        "drift: block[T.b]": -1.0,
        "drift: coh:block[T.b]": 3.0,
        "log A: Intercept": 0.1,
        "log A: speed": -0.5,
    }
    assert set(truth) < set(fit.parameters)
    for name, value in truth.items():
        assert abs(fit.parameters[name].value - value) < 3 * fit.parameters[name].se
    assert fit.details["joint"] > diffusion().fit([Problem(data)])[0].details["joint"] + 100


def test_a_saved_fit_predicts_new_sessions_by_their_columns(data):
    model = diffusion(vary={"drift": "coh * block", "bound": "speed"})
    policy = model.fit([Problem(data)])[0].policy
    again = model.from_arrays(model.to_arrays(policy), data)
    first = data.sessions[2].part("part", slice(0, 1))  # a single category of the block
    np.testing.assert_allclose(predict(again, [first])[0], predict(policy, data.sessions[2:])[0][:1])


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        ({"drift": "cohh"}, "column 'cohh'; the table has coh, block, speed"),
        ({"speed": "coh"}, "parameter 'speed' is not estimated"),
        ({"drift_sd": "coh"}, "parameter 'drift_sd' is not estimated"),
        ({"drift": "coh + "}, "not a formula"),
        ({"drift": "coh + I(2 * coh)"}, "depend on each other"),
    ],
)
def test_mistakes_in_formulas_are_explained(data, vary, words):
    with pytest.raises(UnfitError, match=words.replace("+", r"\+")):
        diffusion(vary=vary).fit([Problem(data)])


def test_a_column_with_a_single_level_is_named():
    rng = np.random.default_rng(5)
    x = rng.choice([-1.0, 1.0], 60)
    choice, rt = DiffusionResponse().sample(x[:, None], {"A": 0.9, "t_R": 0.3, "z": 0.5, "lapse": 0.0}, rng)
    conditions = {"room": np.full(60, "a"), "block": rng.choice(["a", "b"], 60)}
    data = Behaviour((session(choice, stimuli=x[:, None], rt=rt, conditions=conditions),), stimuli=("x",))
    fit = diffusion(vary={"drift": "x", "bound": "room + block"}).fit([Problem(data)])[0]
    assert "column 'room' has a single value and no effect" in fit.notes
    assert sum("single value" in note for note in fit.notes) == 1


def test_the_reason_why_a_text_is_not_a_formula_is_plain():
    with pytest.raises(UnfitError) as caught:
        required_columns("1 +")
    assert "\x1b" not in str(caught.value) and "⧛" not in str(caught.value) and "\n" not in str(caught.value)
