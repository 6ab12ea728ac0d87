"""What tasks and wrappers say of themselves: the entries that ``metadata`` may have, and their types.

``metadata`` stays a dictionary, as Gymnasium has it; a type checker holds its entries against these, and so does
``ngym check``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class _Described(TypedDict, total=False):
    """What both have.

    Attributes:
        render_modes: Gymnasium's; nothing is rendered.
        description: One line.
        paper_name: Title of the paper that it comes from, or None.
        paper_link: Its DOI as a link, or None.
    """

    render_modes: Sequence[str]
    description: str
    paper_name: str | None
    paper_link: str | None


class TaskInfo(_Described, total=False):
    """Metadata of a task.

    Attributes:
        tags: Out of :data:`neurogym.envs.tags.TAGS`.
        carries: Whether a trial depends on those before, so that memory across trials is useful.
        differences: Where it differs from NeuroGym's task of the same name, a sentence each.
        necessary: What cannot be ignored without loss: labels of channels, names of periods, tuples of such that are
            necessary together, or ``"history"``.
        needs_reward: Whether the agent cannot do well without seeing its rewards.
        probabilistic: Whether the outcome of an action is drawn.
        measures: What it is about, names in :data:`neurogym.analysis.measures.MEASURES`; evaluations report them first.
        small: Arguments that make trials few and alike, for tests of what is necessary.
        family: Which tasks of its collection it belongs with.
    """

    tags: Sequence[str]
    carries: bool
    differences: Sequence[str]
    necessary: Sequence[str | tuple[str, ...]]
    needs_reward: bool
    probabilistic: bool
    measures: Sequence[str]
    small: Mapping[str, Any]
    family: str


class WrapperInfo(_Described, total=False):
    """Metadata of a wrapper.

    Attributes:
        order: Where in a stack it goes, and why.
        measures: What a task is also about with it, names in :data:`neurogym.analysis.measures.MEASURES`.
    """

    order: str
    measures: Sequence[str]


#: Entries that a registered task must have.
REQUIRED = ("paper_name", "paper_link", "tags", "description", "carries", "differences", "necessary")


def allowed(kind: type) -> frozenset[str]:
    """Names of the entries that metadata of this kind may have."""
    return frozenset(kind.__annotations__) | frozenset(_Described.__annotations__)
