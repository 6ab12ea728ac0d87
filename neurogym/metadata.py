"""Metadata of tasks and wrappers: entries that ``metadata`` may have, and their types.

``metadata`` is a dictionary, as Gymnasium has it. Made with :class:`TaskInfo` or :class:`WrapperInfo` its entries are
known to a type checker, and one that does not exist is refused.
"""

from __future__ import annotations

import copy
import functools
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

from neurogym.compat.changes import DIFFERENCES
from neurogym.messages.names import unknown

RENDER_MODES = ("rgb_array",)

#: Tag to its meaning for a task.
TAGS: dict[str, str] = {
    "aerial respiratory behaviour": "about breathing at the surface",
    "associative learning": "an association is learned from outcomes",
    "auditory": "the stimulus is a sound",
    "center-surround": "the size of the stimulus changes how it is seen",
    "conditional": "an arbitrary mapping from stimulus to action",
    "confidence": "the agent can decline to decide, or wager",
    "context dependent": "a cue or hidden state changes which answer is right",
    "continuous action space": "actions are real numbers",
    "decision": "ends with a decision",
    "delayed response": "a delay separates stimulus and response",
    "go-no-go": "respond or withhold",
    "hypoxia": "about lack of oxygen",
    "learning": "what is right has to be learned within a session",
    "Lymnaea Stagnalis": "about the great pond snail",
    "molluscan model": "about a mollusc",
    "motion": "the stimulus moves",
    "motor": "a movement has to be controlled",
    "multidimensional action space": "an action has several components",
    "n-alternative": "more than two answers are possible, or as many as requested",
    "operant conditioning": "behaviour changes by its consequences",
    "perceptual": "something has to be perceived",
    "plaid": "the stimulus is a pattern of gratings",
    "reaction time": "the agent decides when to answer",
    "snail": "about a snail",
    "steps action space": "actions are directions on a ring, or steps along one",
    "supervised": "every step has a right action, so that it can be trained with supervision",
    "system": "about a whole system",
    "timing": "intervals have to be measured or produced",
    "two-alternative": "two answers are possible",
    "value-based": "options differ in what they are worth",
    "visual working memory": "visual items are remembered",
    "working memory": "something has to be remembered within a trial",
}


class _Described(TypedDict, total=False):
    """Entries of both tasks and wrappers.

    Attributes:
        render_modes: Gymnasium's.
        description: One line; of a class by default the first sentence of the docstring.
        paper_name: Title of the paper that it comes from, or None; by default that of the DOI in ``papers.toml``.
        paper_link: Its DOI as a link, or None.
        doi: Its DOI, from which the link is made.
        measures: What of behaviour it is made to measure: names of analyses.
        order: Where in a stack it goes, and why (wrappers and what takes the place of several tasks).
    """

    render_modes: Sequence[str]
    description: str
    paper_name: str | None
    paper_link: str | None
    doi: str | None
    measures: Sequence[str]
    order: str


class TaskEntries(_Described, total=False):
    """Entries of a task's metadata.

    Attributes:
        tags: Out of :data:`TAGS`.
        history_dependent: Whether a trial depends on earlier trials, so that memory across trials is useful. By default
            where rewards are needed, which report on earlier trials.
        differences: Where it differs from NeuroGym's task of the same name, a sentence each; of the tasks of this
            package they are in ``compat/neurogym.toml``.
        necessary: What cannot be ignored without loss: labels of channels, names of periods, tuples of such that are
            necessary together, or ``"history"``.
        needs_reward: Whether the agent cannot do well without seeing its rewards.
        probabilistic: Whether the outcome of an action is drawn.
        small: Arguments that make trials few and alike, for tests of what is necessary.
        supervised: Why networks learn it from the right actions by default, not from reward: a sentence, with the paper
            that did so where there is one.
        trained_with: Arguments that ``ngym run`` gives the task, where networks learn better with them.
        family: Which tasks of its collection it belongs with.
    """

    family: str
    tags: Sequence[str]
    history_dependent: bool
    differences: Sequence[str]
    necessary: Sequence[str | tuple[str, ...]]
    needs_reward: bool
    probabilistic: bool
    small: Mapping[str, object]
    supervised: str
    trained_with: Mapping[str, object]


#: Names of entries in earlier versions, which would have no effect, and the present ones.
OLDER_NAMES = {"carries": "history_dependent", "taught": "supervised"}

#: Entries that may be left out.
USUAL: dict[str, object] = {"paper_name": None, "paper_link": None}
USUAL_OF_TASKS: dict[str, object] = {**USUAL, "differences": ()}

#: Entries that a registered task must have.
REQUIRED = ("paper_name", "paper_link", "tags", "description", "history_dependent", "differences", "necessary")


def entries_of(kind: type) -> frozenset[str]:
    """Names of the entries that metadata with the given types may have."""
    return frozenset(kind.__annotations__) | frozenset(_Described.__annotations__)


class TaskInfo(dict[str, Any]):
    """Metadata of a task: a dictionary with the entries of :class:`TaskEntries`.

    A task without a paper, without memory across trials, or without differences leaves these entries out.

    >>> info = TaskInfo(description="say which is brighter", history_dependent=False)
    >>> info.replace(history_dependent=True)["history_dependent"], info["history_dependent"]
    (True, False)

    Raises:
        TypeError: For an entry that does not exist.
    """

    def __init__(self, **entries: Unpack[TaskEntries]):
        usual = {**USUAL_OF_TASKS, "history_dependent": bool(entries.get("needs_reward"))}
        super().__init__({**usual, **_checked(entries, TaskEntries)})

    @classmethod
    def of(cls, entries: Mapping[str, object]) -> Self:
        """Metadata of a user-defined task, with entries of any name."""
        info = cls.__new__(cls)
        info.update(entries)
        return info

    def replace(self, **entries: Unpack[TaskEntries]) -> Self:
        """Copy the metadata with some entries replaced."""
        return self.of({**self, **_checked(entries, TaskEntries)})


class WrapperInfo(dict[str, Any]):
    """Metadata of a wrapper: a dictionary with description, paper, and place in a stack.

    Raises:
        TypeError: For an entry that does not exist.
    """

    def __init__(self, **entries: Unpack[_Described]):
        super().__init__({"render_modes": [*RENDER_MODES], **USUAL, **_checked(entries, _Described)})

    def replace(self, **entries: Unpack[_Described]) -> Self:
        """Copy the metadata with some entries replaced."""
        return type(self)(**{**self, **entries})


def describe(cls: Any) -> None:
    """Add to the metadata of a task or wrapper what is known of it elsewhere.

    The description is the first sentence of the docstring, unless the metadata give another; the differences from
    NeuroGym are those of the table.

    Args:
        cls: The class, with the metadata that it defines or inherits.

    Raises:
        TypeError: If an entry has a name of an earlier version.
    """
    for name in OLDER_NAMES.keys() & vars(cls).get("metadata", {}).keys():
        raise TypeError(f"{cls.__name__}: metadata[{name!r}] is called {OLDER_NAMES[name]!r}")
    inherited = next((vars(base)["metadata"] for base in cls.__mro__[1:] if "metadata" in vars(base)), None)
    before = inherited.get("description") if isinstance(inherited, Mapping) else None
    sentence = first_sentence(vars(cls).get("__doc__"))
    has_metadata = "metadata" in vars(cls) or before is not None
    if sentence and has_metadata and cls.metadata.get("description") in (None, before):
        cls.metadata = copy.copy(cls.metadata)
        cls.metadata["description"] = sentence
    if cls.__module__.startswith("neurogym.envs.") and cls.__name__ in DIFFERENCES:
        cls.metadata = copy.copy(cls.metadata)
        cls.metadata["differences"] = DIFFERENCES[cls.__name__]


def first_sentence(docstring: str | None) -> str:
    """First sentence of a docstring as a phrase: without markup and full stop, beginning in lower case.

    >>> first_sentence("Do nothing: a ``single`` action. A trial lasts ten seconds.")
    'do nothing: a single action'
    """
    line = ((docstring or "").strip().splitlines() or [""])[0]
    sentence = line.partition(". ")[0].rstrip(".").replace("``", "")
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]


def _checked(entries: Mapping[str, object], kind: type) -> dict[str, object]:
    """Entries with the link and the title of the paper found by the DOI; an unknown entry is refused."""
    for name in entries:
        if name not in entries_of(kind):
            raise TypeError(unknown("entry of metadata", name, entries_of(kind)))
    completed = dict(entries)
    if "doi" in completed:
        doi = completed.pop("doi")
        completed["paper_link"] = doi and f"https://doi.org/{doi}"
        if doi in _titles():
            completed.setdefault("paper_name", _titles()[doi])
    return completed


@functools.cache
def _titles() -> dict[str, str]:
    """Titles of papers by DOI, for the tasks and wrappers of this package."""
    return tomllib.loads(Path(__file__).with_name("papers.toml").read_text("utf-8"))
