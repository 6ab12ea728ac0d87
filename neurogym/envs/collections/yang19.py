"""Twenty tasks with a common interface, from Yang, Joglekar, Song, Newsome & Wang 2019, 10.1038/s41593-018-0310-2.

All have a fixation cue, two rings of ``dim_ring`` units (one per modality) and one action per direction. They are
separate environments: nothing in the observation names the task, so one network that is to do them all needs the task
as a further input.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from neurogym.envs.collections.yang19_families import Decide, Match, Respond, YangTask
from neurogym.metadata import RENDER_MODES, TaskInfo

ARGUMENTS = "    Args:\n        **kwargs: ``dt``, ``rewards``, ``timing``, ``dim_ring``, ``sigma``, ``abort``{more}.\n"

_BOTH = ("stimulus_mod1", "stimulus_mod2")
_ONE_RING = "the modality is drawn independently in every trial"
_CUE = "the fixation cue stays on until the decision"
_TAUGHT = (
    "the networks of the paper learned the right outputs; from reward it takes several times as long, and some tasks "
    "are not learned in five minutes with every seed"
)
_MERGED = "timing given by the user is merged with the task's own, none of it is replaced or lost"
_FAMILIES: dict[type[YangTask], str] = {
    Respond: "respond to one stimulus", Decide: "decide between two stimuli", Match: "compare with a sample",
}  # fmt: skip
_NOTES: dict[type[YangTask], list[str]] = {
    Respond: [_ONE_RING, _MERGED],
    Decide: [
        _CUE,
        _MERGED,
        "all simultaneous tasks have a variable stimulus duration",
        "equal sums of strengths are not drawn",
    ],
    Match: [
        _CUE,
        _MERGED,
        _ONE_RING,
        "withholding where it is right earns `withhold` and counts as performance 1",
        "both categories have the same number of directions",
    ],
}


def _task(
    family: type[YangTask],
    name: str,
    description: str,
    tags: tuple[str, ...] = (),
    necessary: tuple[str, ...] = _BOTH,
    **fixed: Any,
) -> Callable[..., YangTask]:
    """Return a function that makes one of the twenty tasks, with metadata and documentation."""
    common = {Respond: ("steps action space", "n-alternative"), Decide: ("n-alternative",), Match: ("go-no-go",)}
    metadata = TaskInfo(
        render_modes=[*RENDER_MODES],
        paper_name="Task representations in neural networks trained to perform many cognitive tasks",
        doi="10.1038/s41593-018-0310-2",
        tags=["perceptual", *common[family], *tags, "supervised"],
        family=_FAMILIES[family],
        description=description,
        differences=_NOTES[family],
        necessary=necessary,
        taught=_TAUGHT,
    )

    def make(**kwargs: Any) -> YangTask:
        env = family(**fixed, **kwargs)
        env.metadata = metadata
        return env

    own = inspect.signature(YangTask.__init__).parameters
    parameters = [p for name, p in own.items() if name != "self"]
    if family is Decide:
        parameters.append(inspect.signature(Decide.__init__).parameters["cohs"])
    make.__name__ = make.__qualname__ = name
    more = ", ``cohs``" if family is Decide else ""
    make.__doc__ = f"{description[0].upper()}{description[1:]}.\n\n{ARGUMENTS.format(more=more)}"
    make.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    )
    make.metadata = metadata  # type: ignore[attr-defined]
    return make


go = _task(Respond, "go", "respond towards the stimulus")
rtgo = _task(Respond, "rtgo", "respond towards the stimulus as soon as it appears", ("reaction time",), reaction=True)
dlygo = _task(
    Respond,
    "dlygo",
    "respond towards the remembered stimulus after a delay",
    ("delayed response", "working memory"),
    delay=500,
)
anti = _task(Respond, "anti", "respond away from the stimulus", anti=True)
rtanti = _task(
    Respond,
    "rtanti",
    "respond away from the stimulus as soon as it appears",
    ("reaction time",),
    reaction=True,
    anti=True,
)
dlyanti = _task(
    Respond,
    "dlyanti",
    "respond away from the remembered stimulus after a delay",
    ("delayed response", "working memory"),
    delay=500,
    anti=True,
)
dm1 = _task(
    Decide, "dm1", "respond towards the stronger of two stimuli in modality 1", necessary=_BOTH[:1], judged=(1,)
)
dm2 = _task(
    Decide,
    "dm2",
    "respond towards the stronger of two stimuli in modality 2",
    necessary=_BOTH[1:],
    shown=(2,),
    judged=(2,),
)
ctxdm1 = _task(
    Decide,
    "ctxdm1",
    "respond towards the stimulus stronger in modality 1, ignoring modality 2",
    ("context dependent",),
    _BOTH[:1],
    shown=(1, 2),
    judged=(1,),
)
ctxdm2 = _task(
    Decide,
    "ctxdm2",
    "respond towards the stimulus stronger in modality 2, ignoring modality 1",
    ("context dependent",),
    _BOTH[1:],
    shown=(1, 2),
    judged=(2,),
)
multidm = _task(
    Decide, "multidm", "respond towards the stimulus stronger in both modalities together", shown=(1, 2), judged=(1, 2)
)
dlydm1 = _task(
    Decide,
    "dlydm1",
    "respond towards the stronger of two successive stimuli in modality 1",
    ("working memory",),
    _BOTH[:1],
    delayed=True,
)
dlydm2 = _task(
    Decide,
    "dlydm2",
    "respond towards the stronger of two successive stimuli in modality 2",
    ("working memory",),
    _BOTH[1:],
    shown=(2,),
    judged=(2,),
    delayed=True,
)
ctxdlydm1 = _task(
    Decide,
    "ctxdlydm1",
    "respond towards the successive stimulus stronger in modality 1, ignoring modality 2",
    ("working memory", "context dependent"),
    _BOTH[:1],
    shown=(1, 2),
    judged=(1,),
    delayed=True,
)
ctxdlydm2 = _task(
    Decide,
    "ctxdlydm2",
    "respond towards the successive stimulus stronger in modality 2, ignoring modality 1",
    ("working memory", "context dependent"),
    _BOTH[1:],
    shown=(1, 2),
    judged=(2,),
    delayed=True,
)
multidlydm = _task(
    Decide,
    "multidlydm",
    "respond towards the successive stimulus stronger in both modalities together",
    ("working memory",),
    shown=(1, 2),
    judged=(1, 2),
    delayed=True,
)
dms = _task(Match, "dms", "respond towards the test if it matches the sample", ("working memory",))
dnms = _task(
    Match,
    "dnms",
    "respond towards the test if it does not match the sample",
    ("working memory",),
    respond_to="non-match",
)
dmc = _task(
    Match,
    "dmc",
    "respond towards the test if it is in the sample's category",
    ("working memory",),
    category=True,
)
dnmc = _task(
    Match,
    "dnmc",
    "respond towards the test if it is in the other category than the sample",
    ("working memory",),
    category=True,
    respond_to="non-match",
)
