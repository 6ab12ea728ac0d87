"""Twenty tasks with a common interface, from Yang, Joglekar, Song, Newsome & Wang 2019, 10.1038/s41593-018-0310-2.

All have a fixation cue, two rings of ``dim_ring`` units (one per modality) and one action per direction. They are
separate environments: nothing in the observation names the task, so one network that is to do them all needs the task
as a further input.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from neurogym.envs.collections.yang19_families import RINGS, Decide, Match, Respond, YangTask
from neurogym.metadata import RENDER_MODES, TaskInfo

ARGUMENTS_DOC = (
    "    Args:\n        **kwargs: ``dt``, ``rewards``, ``timing``, ``dim_ring``, ``sigma``, ``abort``{more}.\n"
)

_BOTH = ("stimulus_mod1", "stimulus_mod2")
_SUPERVISED = (
    "the networks of the paper learned the right outputs; from reward it takes several times as long, and some tasks "
    "are not learned in five minutes with every seed"
)
_FAMILIES: dict[type[YangTask], str] = {
    Respond: "respond to one stimulus",
    Decide: "decide between two stimuli",
    Match: "compare with a sample",
}


def _task(
    family: type[YangTask],
    name: str,
    description: str,
    tags: tuple[str, ...] = (),
    necessary: tuple[str, ...] = _BOTH,
    **fixed: object,
) -> Callable[..., YangTask]:
    """Return a function that makes one of the twenty tasks, with metadata and documentation."""
    common = {Respond: ("steps action space", "n-alternative"), Decide: ("n-alternative",), Match: ("go-no-go",)}
    metadata = TaskInfo(
        render_modes=[*RENDER_MODES],
        doi="10.1038/s41593-018-0310-2",
        tags=["perceptual", *common[family], *tags, "supervised"],
        family=_FAMILIES[family],
        description=description,
        differences=family.metadata["differences"],
        necessary=necessary,
        supervised=_SUPERVISED,
    )

    def make(**kwargs: object) -> YangTask:
        env = family(**fixed, **kwargs)
        env.metadata = metadata
        return env

    of_constructor = inspect.signature(YangTask.__init__).parameters
    parameters = [p for name, p in of_constructor.items() if name != "self"]
    if family is Decide:
        parameters.append(inspect.signature(Decide.__init__).parameters["cohs"])
    make.__name__ = make.__qualname__ = name
    more = ", ``cohs``" if family is Decide else ""
    make.__doc__ = f"{description[0].upper()}{description[1:]}.\n\n{ARGUMENTS_DOC.format(more=more)}"
    make.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    )
    make.metadata, make.of, make.fixed = metadata, family, fixed  # type: ignore[attr-defined]
    return make


def _respond(name: str, reaction: bool = False, anti: bool = False, delay: float = 0) -> Callable[..., YangTask]:
    """Return a task with one stimulus, shown at once with the go cue (``reaction``) or before it."""
    where, target = ("away from" if anti else "towards"), ("remembered stimulus after a delay" if delay else "stimulus")
    tags = ("reaction time",) if reaction else ("delayed response", "working memory") if delay else ()
    description = f"respond {where} the {target}" + (" as soon as it appears" if reaction else "")
    return _task(Respond, name, description, tags, reaction=reaction, anti=anti, delay=delay)


def _decide(name: str, judged: tuple[int, ...], ignored: int = 0, delayed: bool = False) -> Callable[..., YangTask]:
    """Return a task with two stimuli, of which the stronger in the ``judged`` modalities is right."""
    several, successive = ignored or len(judged) > 1, "successive " * delayed
    modality = "both modalities together" if len(judged) > 1 else f"modality {judged[0]}"
    if several:
        description = f"respond towards the {successive}stimulus stronger in {modality}"
    else:
        description = f"respond towards the stronger of two {successive}stimuli in {modality}"
    description += f", ignoring modality {ignored}" if ignored else ""
    tags = ("working memory",) * delayed + ("context dependent",) * bool(ignored)
    necessary, stimulated = tuple(_BOTH[m - 1] for m in judged), RINGS if several else judged
    return _task(Decide, name, description, tags, necessary, shown=stimulated, judged=judged, delayed=delayed)


def _match(name: str, description: str, category: bool = False, respond_to: str = "match") -> Callable[..., YangTask]:
    """Return a task with a sample and a test, which is answered where it matches or where it does not."""
    description = f"respond towards the test if it {description}"
    return _task(Match, name, description, ("working memory",), category=category, respond_to=respond_to)


go = _respond("go")
rtgo = _respond("rtgo", reaction=True)
dlygo = _respond("dlygo", delay=500)
anti = _respond("anti", anti=True)
rtanti = _respond("rtanti", reaction=True, anti=True)
dlyanti = _respond("dlyanti", anti=True, delay=500)
dm1 = _decide("dm1", (1,))
dm2 = _decide("dm2", (2,))
ctxdm1 = _decide("ctxdm1", (1,), ignored=2)
ctxdm2 = _decide("ctxdm2", (2,), ignored=1)
multidm = _decide("multidm", (1, 2))
dlydm1 = _decide("dlydm1", (1,), delayed=True)
dlydm2 = _decide("dlydm2", (2,), delayed=True)
ctxdlydm1 = _decide("ctxdlydm1", (1,), ignored=2, delayed=True)
ctxdlydm2 = _decide("ctxdlydm2", (2,), ignored=1, delayed=True)
multidlydm = _decide("multidlydm", (1, 2), delayed=True)
dms = _match("dms", "matches the sample")
dnms = _match("dnms", "does not match the sample", respond_to="non-match")
dmc = _match("dmc", "is in the sample's category", category=True)
dnmc = _match("dnmc", "is in the other category than the sample", category=True, respond_to="non-match")
