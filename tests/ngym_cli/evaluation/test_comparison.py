"""An agent next to an animal."""

import json

from neurogym.behaviour.reading import read
from ngym_cli.evaluation import comparison
from tests.neurogym.behaviour.test_order import columns, orders, reordered, write


def test_comparisons_do_not_depend_on_the_order_of_rows(tmp_path):
    agent = comparison.as_trials(read(columns(seed=5)))
    results = []
    for name in ("backwards", "shuffled"):
        data = write(tmp_path / f"{name}.csv", reordered(orders()[name]))
        reference = comparison.as_trials(comparison.read(data, None))
        results.append(
            json.dumps([row.to_dict() for row in comparison.statistics(agent, reference, strength=None, n_boot=20)])
        )
    assert results[0] == results[1]
