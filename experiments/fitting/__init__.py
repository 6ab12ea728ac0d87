"""Fits of models to choices: recovery of simulated subjects, animals beside published anchors, a trained agent, speed.

    python -m experiments.records --make --only fitting
    python -m experiments.records --make --only "fitting/q-learning, 60 subjects"

Every item is made by the code behind ``ngym fit``; ``TARGETS`` says what each number is to reach. Anchors of the rat
are mean log-likelihoods per held-out trial (nats), five folds by session.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from experiments.fitting import animals, simulated, timed
from experiments.records.record import Record, Row, Rows

HERE = Path(__file__).parent

ITEMS: dict[str, Callable[[int], Row]] = {
    "q-learning, 60 subjects": simulated.q_learning,
    "hybrid two-step, 40 subjects": simulated.two_step,
    "model recovery, two-step": simulated.two_step_models,
    "glm-hmm of 3 states": simulated.hidden_states,
    "drifting weights": simulated.drifting,
    "gru of 2 units on q-learners with forgetting": simulated.tiny_network,
    "speed, gru of 2 units": simulated.speed,
    "trained agent on a bandit": animals.trained_agent,
    "monkeys, ddm": animals.monkeys,
    "ddm, 50 subjects": timed.ddm,
    "ddm, two anticipations": timed.anticipations,
    "ddm, omissions at a deadline": timed.omissions,
    "q-learning with times, 50 subjects": timed.learner,
    "gru with times on a q-learner": timed.network,
    "q-learning, 50 subjects by NUTS": timed.samples,
    **{f"{name}, 50 subjects": timed.learners(name) for name in timed.LEARNERS},
    **{f"rat, {model}": animals.rat(model) for model in animals.RAT},
}

#: Number of a row, what it is to reach, and whether larger is better.
TARGETS: dict[str, dict[str, tuple[float, str]]] = {
    "q-learning, 60 subjects": {
        "correlation alpha": (0.986, ">="),
        "correlation beta": (0.981, ">="),
        "correlation kappa": (0.930, ">="),
        "coverage": (0.90, ">="),
    },
    "hybrid two-step, 40 subjects": {"correlation w": (0.9, ">=")},
    "model recovery, two-step": {"diagonal": (0.9, ">=")},
    "glm-hmm of 3 states": {"states": (0.9, ">=")},
    "drifting weights": {"coverage": (0.9, ">=")},
    "gru of 2 units on q-learners with forgetting": {"nats below the true model": (0.002, "<=")},
    "speed, gru of 2 units": {"seconds on one core": (60.0, "<=")},
    "ddm, 50 subjects": {
        **{f"correlation {name}": (0.95, ">=") for name in ("k", "A", "t_R")},
        **{f"correlation {name}": (0.9, ">=") for name in ("z", "x0", "lapse")},
        "coverage": (0.90, ">="),
        "seconds per subject": (1.0, "<="),
        "seconds, hierarchical": (60.0, "<="),
    },
    "ddm, two anticipations": {"largest shift (s.e.), as anticipations": (1.0, "<=")},
    "ddm, omissions at a deadline": {"largest bias (s.e.), counted": (1.0, "<=")},
    "q-learning with times, 50 subjects": {"coverage": (0.90, ">=")},
    "q-learning, 50 subjects by NUTS": {"coverage": (0.90, ">="), "seconds on one core": (600.0, "<=")},
    "gru with times on a q-learner": {"nats below the true model": (0.004, "<=")},
    **{f"rat, {model}": {"log-likelihood": (anchor, ">=")} for model, anchor in animals.RAT.items()},
}


def make(item: str, seed: int) -> Row:
    """Measure an item."""
    import torch

    torch.set_num_threads(1)
    began = time.process_time()
    return {**ITEMS[item](seed), "cpu_seconds": round(time.process_time() - began, 1)}


def table(rows: Rows) -> str:
    """Return the numbers of each item beside what they are to reach."""
    lines = ["| item | number | measured | to reach |", "|---|---|---|---|"]
    for item, seeds in rows.items():
        row, aims = next(iter(seeds.values())), TARGETS.get(item, {})
        for name, value in row.items():
            if isinstance(value, float | int) and not name.endswith(("seconds", "to_make")):
                aim = "{1} {0:g}".format(*aims[name]) if name in aims else "-"
                lines.append(f"| {item} | {name} | {value:.4g} | {aim} |")
    return "\n".join(lines)


RECORD = Record(
    name="fitting",
    what="recovery of simulated subjects, fits to animals and to a trained agent, speed of fitting",
    file=HERE / "results.json",
    items=lambda: list(ITEMS),
    make=make,
    tables={"results": table},
    seeds=1,
)
