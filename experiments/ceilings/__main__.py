"""Compute ceilings, blind scores and chance, and store them with the package.

python -m experiments.ceilings                    all tasks (many minutes)
python -m experiments.ceilings NBack-v0           these only, the others are kept
python -m experiments.ceilings --only blind       blind scores only (or: ceilings, chance)
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from experiments.ceilings import bandits, foraging, hidden, single
from experiments.ceilings.blind import blind_entry, chance_entry
from experiments.ceilings.detection import detection_ceiling
from experiments.ceilings.result import Ceiling, make
from neurogym.ceilings import single as single_tasks
from neurogym.envs import registration

FOLDER = Path(__file__).parents[2] / "neurogym" / "ceilings"
FAR = "the alternatives are more than ten standard deviations apart"


def observed(task: str, timings: int = 40, trials: int = 500) -> Ceiling:
    """By the observer of noise-free trials, with as many timings and trials as are needed for a small error."""
    return Ceiling(**single_tasks.observed(make(task), timings, trials))


#: Tasks with noise or with outcomes that are drawn, without a formula of their own.
NOISY: dict[str, Callable[[], Ceiling]] = {
    "AnnubesEnv-v0": partial(single.separable, "AnnubesEnv-v0", FAR),
    "AuditoryComparison-v0": partial(observed, "AuditoryComparison-v0", trials=2000),
    "Bandit-v0": bandits.bandit,
    "ChangingBandit-v0": bandits.changing_bandit,
    "ChangingEnvironment-v0": hidden.changing_environment,
    "ContextSwitch-v0": hidden.context_switch,
    "DawTwoStep-v0": hidden.daw_two_step,
    "DelayComparison-v0": partial(observed, "DelayComparison-v0", trials=2000),
    "DelayEstimation-v0": single.delay_estimation,
    "DelayMatchCategory-v0": single.delay_match_category,
    "DelayMatchSample-v0": partial(observed, "DelayMatchSample-v0"),
    "DelayMatchSampleDistractor1D-v0": partial(single.separable, "DelayMatchSampleDistractor1D-v0", FAR),
    "DelayPairedAssociation-v0": partial(observed, "DelayPairedAssociation-v0"),
    "Detection-v0": detection_ceiling,
    "DualDelayMatchSample-v0": partial(single.separable, "DualDelayMatchSample-v0", FAR),
    "DriftingBandit-v0": foraging.drifting_bandit,
    "DualTask-v0": hidden.dual_task,
    "DynamicForaging-v0": foraging.dynamic_foraging,
    "GenTask-v0": partial(observed, "GenTask-v0", timings=1500, trials=60),
    "HierarchicalReasoning-v0": hidden.hierarchical_reasoning,
    "IBLBlock-v0": partial(hidden.linked, "IBLBlock-v0"),
    "MatchingPenny-v0": partial(single.separable, "MatchingPenny-v0", "the opponent can be foretold"),
    "MemoryRecall-v0": single.memory_recall,
    "NAltConditionalVisuomotor-v0": partial(observed, "NAltConditionalVisuomotor-v0", trials=50),
    "NAltPerceptualDecisionMaking-v0": partial(observed, "NAltPerceptualDecisionMaking-v0", timings=1500, trials=60),
    "PostDecisionWager-v0": partial(observed, "PostDecisionWager-v0", timings=1500, trials=60),
    "Priors-v0": partial(hidden.linked, "Priors-v0"),
    "RDMHist-v0": partial(hidden.linked, "RDMHist-v0"),
    "RateDiscrimination-v0": partial(observed, "RateDiscrimination-v0", trials=2000),
    "ReversalLearning-v0": hidden.reversal_learning,
    "ToneDetection-v0": partial(observed, "ToneDetection-v0", trials=50),
    "TwoStep-v0": hidden.two_step,
    "perceptualdecisionmaking.ibl20-v0": hidden.ibl20,
}

#: Not known: a curriculum whose stages differ.
UNKNOWN = ("CVLearning-v0",)


def is_calculated(task: str) -> bool:
    """Whether the task's own formula is exact, so that nothing needs to be stored."""
    score = make(task).closed_form()
    return score is not None and not score["error"]


def compute(task: str) -> Ceiling:
    if task in NOISY:
        return NOISY[task]()
    score = make(task).closed_form()
    return single.no_noise(task) if score is None else Ceiling(**score)


def store(name: str, tasks: list[str], entry: Callable[[str], dict[str, Any]]) -> None:
    """Compute the entries of some tasks and write them into a file of the package, each as soon as it is known."""
    file = FOLDER / name
    stored = json.loads(file.read_text()) if file.exists() else {}
    for task in tasks:
        start = time.perf_counter()
        stored[task] = entry(task)
        print(f"{task:45s} {stored[task]}  ({time.perf_counter() - start:.1f} s)", flush=True)
        entries = ",\n".join(f"  {json.dumps(each)}: {json.dumps(stored[each])}" for each in sorted(stored))
        file.write_text("{\n" + entries + "\n}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--only", choices=("ceilings", "chance", "blind"))
    arguments = parser.parse_args()
    tasks = [registration.resolve(task) for task in arguments.tasks]
    every = registration.every_task()
    if arguments.only in (None, "ceilings"):
        closed_form = [task for task in every if task not in UNKNOWN and (task in NOISY or not is_calculated(task))]
        store("ceilings.json", tasks or closed_form, lambda task: compute(task).entry())
    if arguments.only in (None, "chance"):
        store("chance.json", tasks or every, chance_entry)
    if arguments.only in (None, "blind"):
        store("blind.json", tasks or every, blind_entry)


if __name__ == "__main__":
    main()
