"""Compute the ceilings and store them with the package.

python -m experiments.ceilings            all tasks (minutes)
python -m experiments.ceilings NBack-v0   these only, the others are kept
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from experiments.ceilings import bandits, hidden, single
from experiments.ceilings.result import Ceiling
from experiments.ceilings.templates import template_ceiling
from neurogym.envs import registration

FILE = Path(__file__).parents[2] / "neurogym" / "envs" / "ceilings.json"
FAR = "the alternatives are more than ten standard deviations apart"
REPEATING = "exact posterior in the long run (the kind of block is then known)"

#: Tasks with noise or with outcomes that are drawn. Those with a ``ceiling`` of their own are not listed.
NOISY: dict[str, Callable[[], Ceiling]] = {
    "AnnubesEnv-v0": partial(single.separable, "AnnubesEnv-v0", FAR),
    "Bandit-v0": bandits.bandit,
    "ChangingBandit-v0": bandits.changing_bandit,
    "ChangingEnvironment-v0": hidden.changing_environment,
    "ContextSwitch-v0": hidden.context_switch,
    "DawTwoStep-v0": hidden.daw_two_step,
    "DelayComparison-v0": partial(template_ceiling, "DelayComparison-v0", trials=2000),
    "DelayEstimation-v0": single.delay_estimation,
    "DelayMatchCategory-v0": single.delay_match_category,
    "DelayMatchSample-v0": partial(template_ceiling, "DelayMatchSample-v0"),
    "DelayMatchSampleDistractor1D-v0": partial(single.separable, "DelayMatchSampleDistractor1D-v0", FAR),
    "DelayPairedAssociation-v0": partial(template_ceiling, "DelayPairedAssociation-v0"),
    "Detection-v0": single.detection_ceiling,
    "DualDelayMatchSample-v0": partial(single.separable, "DualDelayMatchSample-v0", FAR),
    "DualTask-v0": hidden.dual_task,
    "GenTask-v0": partial(template_ceiling, "GenTask-v0", timings=1500, trials=60),
    "HierarchicalReasoning-v0": hidden.hierarchical_reasoning,
    "IBLBlock-v0": hidden.ibl_block,
    "MatchingPenny-v0": partial(single.separable, "MatchingPenny-v0", "the opponent can be foretold"),
    "MemoryRecall-v0": single.memory_recall,
    "NAltConditionalVisuomotor-v0": partial(template_ceiling, "NAltConditionalVisuomotor-v0", trials=50),
    "NAltPerceptualDecisionMaking-v0": partial(
        template_ceiling, "NAltPerceptualDecisionMaking-v0", timings=1500, trials=60
    ),
    "PostDecisionWager-v0": partial(template_ceiling, "PostDecisionWager-v0", timings=1500, trials=60),
    "Priors-v0": partial(template_ceiling, "Priors-v0", prior={1: 0.8, 2: 0.2}, draws=2000, method=REPEATING),
    "RDMHist-v0": partial(template_ceiling, "RDMHist-v0", prior={1: 0.8, 2: 0.2}, trials=2000, method=REPEATING),
    "RateDiscrimination-v0": partial(template_ceiling, "RateDiscrimination-v0", floor=True, trials=2000),
    "ReversalLearning-v0": hidden.reversal_learning,
    "ToneDetection-v0": partial(template_ceiling, "ToneDetection-v0", trials=50),
    "TwoStep-v0": hidden.two_step,
    "perceptualdecisionmaking.ibl20-v0": partial(
        template_ceiling, "PerceptualDecisionMaking-v0", prior={0: 0.8, 1: 0.2}, trials=2000, method=REPEATING
    ),
    **{
        f"yang19.{name}-v0": partial(single.yang_decide, f"yang19.{name}-v0")
        for name in "dm1 dm2 ctxdm1 ctxdm2 multidm dlydm1 dlydm2 ctxdlydm1 ctxdlydm2 multidlydm".split()
    },
    **{
        f"yang19.{name}-v0": partial(template_ceiling, f"yang19.{name}-v0", trials=50, draws=20_000)
        for name in "dms dnms dmc dnmc".split()
    },
}

#: Not known: the best use of dots that live for a few frames; a curriculum whose stages differ.
UNKNOWN = ("CVLearning-v0", "RandomDotMotion-v0")


def has_its_own(task: str) -> bool:
    from neurogym.core import TrialEnv

    return type(registration.make(task).unwrapped).ceiling is not TrialEnv.ceiling


def compute(task: str) -> Ceiling:
    return NOISY[task]() if task in NOISY else single.no_noise(task)


def main(tasks: list[str]) -> None:
    stored = json.loads(FILE.read_text()) if FILE.exists() else {}
    known = registration.every_task()
    for task in tasks or [t for t in known if t not in UNKNOWN and (t in NOISY or not has_its_own(t))]:
        start = time.perf_counter()
        stored[task] = compute(task).entry()
        print(f"{task:45s} {stored[task]}  ({time.perf_counter() - start:.1f} s)", flush=True)
        entries = ",\n".join(f"  {json.dumps(name)}: {json.dumps(stored[name])}" for name in sorted(stored))
        FILE.write_text("{\n" + entries + "\n}\n")


if __name__ == "__main__":
    main([registration.resolve(task) for task in sys.argv[1:]])
