"""Old ids with the equivalent present task and parameters."""

from __future__ import annotations

from typing import Any

_RENAMED: dict[str, tuple[str, dict[str, Any]]] = {
    "2AFC": ("GenTask", {}),
    "AntiReach1D": ("AntiReach", {}),
    "CE": ("ChangingEnvironment", {}),
    "CurriculumLearning": ("CVLearning", {}),
    "DelayedComparison": ("DelayComparison", {}),
    "DelayedMatchCategory": ("DelayMatchCategory", {}),
    "DelayedMatchSample": ("DelayMatchSample", {}),
    "DelayedMatchToSampleDistractor1D": ("DelayMatchSampleDistractor1D", {}),
    "DelayedResponse": ("PerceptualDecisionMakingDelayResponse", {"rewards": {"fail": -1.0}}),
    "delayestimation": ("DelayEstimation", {}),
    "DPA": ("DelayPairedAssociation", {}),
    "DR": ("PerceptualDecisionMakingDelayResponse", {"rewards": {"fail": -1.0}}),
    "DualDelayedMatchSample": ("DualDelayMatchSample", {}),
    "GNG": ("GoNogo", {}),
    "IBL_Block": ("IBLBlock", {}),
    "Mante": ("ContextDecisionMaking", {"use_expl_context": True}),
    "nalt_ConditionalVisuomotor": ("NAltConditionalVisuomotor", {}),
    "NAltRDM": ("NAltPerceptualDecisionMaking", {}),
    "Nothing": ("Null", {}),
    "padoaSch": ("EconomicDecisionMaking", {}),
    "pdWager": ("PostDecisionWager", {}),
    "PerceptualDecisionMaking1D": ("PerceptualDecisionMaking", {"dim_ring": 16}),
    "RaposoTask": ("RateDiscrimination", {}),
    "RDM": ("PerceptualDecisionMaking", {}),
    "RDM_hist": ("RDMHist", {}),
    "ReadySetGo_DoublePrior": ("ReadySetGoDoublePrior", {}),
    "ReadySetGo_SinglePrior": ("ReadySetGoSinglePrior", {}),
    "Reversal": ("ReversalLearning", {}),
    "Romo": ("DelayComparison", {}),
    "Serrano": ("ReachingDelayResponse", {}),
    "SingleContextDecisionMaking": ("ContextDecisionMaking", {}),
    "SvsN": ("Detection", {}),
    "UnifiedContextDecisionMaking": ("ContextDecisionMaking", {}),
    "cogneuro.roitman02": ("perceptualdecisionmaking.roitman02", {}),
    "priors.priors_v0": ("Priors", {}),
    "psychopy.RandomDotMotion": ("RandomDotMotion", {}),
    "psychopy.SpatialSuppressMotion": ("SpatialSuppressMotionImage", {}),
    "psychopy.spatialsuppressmotion": ("SpatialSuppressMotionImage", {}),
    "psychopy.VisualSearch": ("VisualSearch", {}),
    "psypy.RandomDotMotion": ("RandomDotMotion", {}),
}

#: Second versions, which differed in their timing (here a stimulus lasts at least 100 ms, one step).
_SECOND: dict[str, tuple[str, dict[str, Any]]] = {
    "RDM-v1": (
        "PerceptualDecisionMaking-v0",
        {
            "timing": {"fixation": 500, "stimulus": ("truncated_exponential", (330, 100, 1500)), "decision": 500},
        },
    ),
}

#: Tasks that had the prefix ``contrib.``
_CONTRIBUTED = (
    "AngleReproduction",
    "ChangingEnvironment",
    "ContextSwitch",
    "CVLearning",
    "IBL",
    "IBL_Block",
    "LeverPress",
    "LeverPressWithPoke",
    "LeverPressWithPokeRest",
    "MatchingPenny",
    "MemoryRecall",
    "Pneumostomeopening",
)

#: Functions of 2020 whose names were put together without a dot.
_YANG19 = {
    "go": "go",
    "rtgo": "rtgo",
    "dlygo": "dlygo",
    "antigo": "anti",
    "rtantigo": "rtanti",
    "dlyantigo": "dlyanti",
    "dm": "dm1",
    "ctxdm": "ctxdm1",
    "multidm": "multidm",
    "dlydm": "dlydm1",
    "ctxdlydm": "ctxdlydm1",
    "multidlydm": "multidlydm",
    "dlymatchsample": "dms",
    "dlynonmatchsample": "dnms",
    "dlymatchcategory": "dmc",
    "dlynonmatchcategory": "dnmc",
}

ALIASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"{old}-v0": (f"{new}-v0", kwargs) for old, (new, kwargs) in _RENAMED.items()},
    **_SECOND,
    **{f"contrib.{name}-v0": (f"{name.replace('_', '')}-v0", {}) for name in _CONTRIBUTED},
    **{f"yang19{old}-v0": (f"yang19.{new}-v0", {}) for old, new in _YANG19.items()},
}

#: Tasks in the file of the task that they vary: module by the rule, and the module that there is.
VARIANTS: dict[str, str] = {
    f"neurogym.envs.{group}.{name}": f"neurogym.envs.{group}.{file}"
    for group, file, names in (
        ("contrib", "ibl", ("iblblock",)),
        ("contrib", "leverpress", ("leverpresswithpoke", "leverpresswithpokerest")),
        ("native", "delaymatchsample", ("delaymatchsampledistractor1d",)),
        ("native", "priors", ("rdmhist",)),
        ("native", "reaching1d", ("reaching1dwithselfdistraction",)),
        ("native", "readysetgosingleprior", ("readysetgodoubleprior",)),
    )
    for name in names
}
