"""Results do not depend on the order of rows, files or subjects in a table."""

import numpy as np
import pytest

from neurogym.behaviour.describe import describe
from neurogym.behaviour.models.base import Problem
from neurogym.behaviour.models.drifting import Drifting
from neurogym.behaviour.models.logistic import Logistic
from neurogym.behaviour.reading import read
from tests.neurogym.behaviour.laboratories import write_csv


def columns(seed: int = 0) -> dict[str, np.ndarray]:
    """Three subjects with 4, 5 and 11 sessions of 40 trials."""
    rng = np.random.default_rng(seed)
    labels = [(who, k) for who, sessions in (("rat10", 4), ("rat9", 5), ("b", 11)) for k in range(1, sessions + 1)]
    subject = np.repeat([who for who, _ in labels], 40)
    session = np.repeat([k for _, k in labels], 40)
    n = len(subject)
    stimulus = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], n)
    choice = (rng.random(n) < 1 / (1 + np.exp(-2.5 * stimulus - 0.3 * (subject == "b")))).astype(int)
    truth = np.where(stimulus == 0, rng.integers(0, 2, n), stimulus > 0)
    return {
        "subject": subject,
        "session": session,
        "trial": np.tile(np.arange(40), len(labels)),
        "stimulus": stimulus,
        "choice": choice,
        "correct": (choice == truth).astype(int),
        "rt": rng.gamma(4, 0.1, n),
    }


def orders() -> dict[str, np.ndarray]:
    table = columns()
    rng, n = np.random.default_rng(1), len(table["trial"])
    return {
        "backwards": np.arange(n)[::-1],
        "shuffled": rng.permutation(n),
        "by trial": np.argsort(table["trial"], kind="stable"),
        "subjects turned": np.argsort(table["subject"], kind="stable"),
    }


def reordered(order: np.ndarray) -> dict[str, np.ndarray]:
    return {name: column[order] for name, column in columns().items()}


def results(table):
    fits = [model.fit([Problem(table.of("rat9"))])[0] for model in (Logistic(1), Drifting(0))]
    return [each.to_dict() for each in describe(table)], [(each.parameters, each.score) for each in fits]


@pytest.fixture(scope="module")
def expected():
    return results(read(columns()))


@pytest.mark.parametrize("name", orders())
def test_descriptions_and_fits_do_not_depend_on_the_order_of_rows(name, expected):
    assert results(read(reordered(orders()[name]))) == expected


def test_sessions_are_in_the_order_of_their_names():
    table = read(reordered(orders()["shuffled"]))
    assert table.subjects == ("b", "rat9", "rat10")
    assert [each.name for each in table.of("b").sessions] == [str(k) for k in range(1, 12)]


def test_the_order_of_files_does_not_matter(tmp_path):
    table = columns()
    paths = [
        write_csv(tmp_path / f"{who}.csv", {name: column[table["subject"] == who] for name, column in table.items()})
        for who in ("rat9", "b", "rat10")
    ]
    first, second = (describe(read(each)) for each in (paths, paths[::-1]))
    assert [each.to_dict() for each in first] == [each.to_dict() for each in second]
