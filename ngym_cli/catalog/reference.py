"""Pages about everything with a name except tasks: wrappers, algorithms, networks, figures, launchers, analyses, ..."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import resources
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import neurogym.analysis
from neurogym.core import TrialEnv, TrialWrapper
from neurogym.wrappers import key_of
from neurogym.wrappers.forwarding import Forwarding
from ngym_cli.agents.algorithms import ALGORITHMS, find_algorithm
from ngym_cli.agents.networks import find_network
from ngym_cli.config import docstrings, extensions
from ngym_cli.config.options import about, is_optional, range_of
from ngym_cli.environments.stack import find_wrapper, keyword_parameters, wrapper_names
from ngym_cli.papers.model import PROVENANCE
from ngym_cli.terminal import Row

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from neurogym.metadata import WrapperInfo


def wrapper(name: str) -> Row:
    """Return the description of a wrapper; environments that combine several tasks count as wrappers."""
    cls = find_wrapper(name)
    has_metadata = isinstance(cls.metadata, Mapping)  # metadata are optional for a user's own wrapper
    meta: WrapperInfo = cls.metadata if has_metadata else {}
    acts = issubclass(cls, TrialWrapper)
    id_ = name if extensions.is_reference(name) else key_of(cls.__name__)
    options = arguments(cls, ("env",))
    required = "".join(f":{option['id']}=..." for option in options if option["default"] == "required")
    page = {
        **_head(id_, "wrapper", meta.get("description", ""), meta.get("paper_name") or ""),
        "class": cls.__name__,
        "link": meta.get("paper_link"),
        "history_dependent": acts and cls.hooks.history_dependent,
        "order": meta.get("order", ""),
        "changes": _changes(cls),
        "decides": list(cls.decides) if acts else [],
        "ceiling_effect": _effect(cls),
        "inside_of": [key_of(outer) for outer in cls.inside_of] if acts else [],
        "arguments": {option["id"]: option["default"] for option in options},
        "meaning": docstrings.arguments(cls),
        "flag": f"--wrappers {id_}:NAME=VALUE",
        "options": options,
        "example": f"ngym run --task RDM-v0 --wrappers {id_}{required}",
        "text": inspect.getdoc(cls) or "",
    }
    rows = {
        "summary": page["text"].partition("\n\n")[0],
        **{name: page[name] for name in ("changes", "decides", "order")},
        "must be inside": page["inside_of"],
        "ceiling": page["ceiling_effect"],
        "across trials": "carries information" if page["history_dependent"] else "trials stay independent",
    }
    return {**page, "rows": rows}


def _changes(cls: type) -> list[str]:
    """Return what a wrapper declares to change."""
    if not issubclass(cls, TrialWrapper):
        return ["tasks"] if issubclass(cls, TrialEnv) else []
    hooks = cls.hooks
    declared = {
        "conditions": "conditions" in hooks.changes,
        "timing": "timing" in hooks.changes,
        "rewards": "rewards" in hooks.changes,
        "observation": bool(hooks.shows) or "observations" in hooks.changes,
        "record": "record" in hooks.changes,
        "steps": hooks.own_step,
        "trials": hooks.own_new_trial,
    }
    return [word for word, is_declared in declared.items() if is_declared]


def _effect(cls: type) -> str:
    """Effect of a wrapper on the ceiling, as far as independent of the arguments."""
    effect = cls.ceiling_effect if issubclass(cls, Forwarding) else None
    if effect is None:
        return "as the arguments and the task say"
    return "left as it is" if effect.kind == "leaves" else f"not known: {effect.why}"


def algorithm(name: str) -> Row:
    """Return all that is known of a learning algorithm; torch is imported for a user's own only."""
    spec = find_algorithm(name)
    return {
        **_head(name, "algorithm", spec.summary, spec.paper),
        "recurrent": spec.recurrent,
        "actions": sorted(spec.actions),
        "networks": list(spec.networks),
        "defaults": dict(spec.defaults),
        "rows": {
            "class": spec.path,
            "learns from": "the right action of every step" if spec.supervised else "reward",
            "memory": "trains recurrent networks" if spec.recurrent else "none: a memoryless control",
            "networks": list(spec.networks),
            "actions": sorted(spec.actions),
            "environments": f"{spec.n_envs} side by side (--n-envs)",
            "steps": f"{spec.timesteps:,}, or the task's own number (--timesteps)",
        },
        "flag": "--set NAME=VALUE",
        "options": [_option(name, field) for name, field in spec.hyperparameters.items()],
        "example": f"ngym run --task RDM-v0 --alg {name} --set learning_rate=1e-3",
    }


def network(name: str) -> Row:
    """Return all that is known of a network; torch is imported for a user's own only."""
    spec = find_network(name)
    trained_by = [alg.name for alg in ALGORITHMS.values() if alg.recurrent == spec.recurrent]
    task = "SpatialSuppressMotionImage-v0" if spec.spatial else "RDM-v0"
    return {
        **_head(name, "network", spec.summary, spec.paper),
        "recurrent": spec.recurrent,
        "defaults": dict(spec.defaults),
        "rows": {
            "class": spec.path,
            "memory": "recurrent" if spec.recurrent else "none",
            "trained by": trained_by,
            "units": "64 per layer (--units)",
        },
        "flag": "--network-arg NAME=VALUE",
        "options": [_option(name, field) for name, field in spec.described.items()],
        "example": f"ngym run --task {task} --alg {trained_by[0]} --network {name} --units 128",
    }


def figure(name: str) -> Row:
    """Return the description of a figure without drawing the figure."""
    from ngym_cli.figures.registry import find_figure

    spec = find_figure(name)
    record = ",".join(spec.record)
    return {
        **_head(name, "figure", spec.summary, ""),
        "drawn for": sorted(spec.tags),
        "columns": list(spec.columns),
        "record": list(spec.record),
        "rows": {
            "drawn for": sorted(spec.tags) or "every task",
            "needs columns": list(spec.columns),
            "needs recorded": list(spec.record),
        },
        "example": (f"ngym eval latest --record {record}\n           " if record else "") + f"ngym plot latest {name}",
    }


def launcher(name: str) -> Row:
    """Return all that is known of a place where sweeps are run."""
    from ngym_cli.sweeps import launchers

    return {
        **_head(name, "launcher", launchers.MEANING[name], ""),
        "rows": {"needs": launchers.NEEDS.get(name, "")},
        "example": f"ngym sweep --alg recurrent_ppo,recurrent_a2c --seed 0:5 --on {launchers.WRITTEN.get(name, name)}",
    }


def analysis(name: str) -> Row:
    """Return all that is known of an analysis of ``neurogym.analysis``."""
    entry = getattr(neurogym.analysis, name)
    return {
        **_head(name, "analysis", docstrings.summary(entry), ""),
        "rows": {"import": f"from neurogym.analysis import {name}"},
        "flag": "arguments",
        "options": arguments(entry),
        "text": inspect.getdoc(entry) or "",
    }


def model(name: str) -> Row:
    """Return the description of a model of choices; a user's own is imported."""
    from ngym_cli.fitting.registry import MODELS

    spec = MODELS.get(name)
    if spec is None:
        entry = extensions.find_extension("model", name)
        return {
            **_head(name, "model", docstrings.summary(entry), ""),
            "example": f"ngym fit TABLE --model logistic,{name}",
            "text": inspect.getdoc(entry) or "",
        }
    return {
        **_head(name, "model", spec.summary, spec.source),
        "arguments": spec.defaults,
        "rows": {"units": "--units 1,2,4: a network for each number" if spec.units else None},
        "flag": f"--model {name}:NAME=VALUE",
        "options": [_option(key, field) for key, field in spec.arguments.items()],
        "example": f"ngym fit TABLE --model logistic,{name}",
    }


def paper(name: str) -> Row:
    """Return the description of a paper: claims, criteria and our results."""
    from ngym_cli.papers import collection, results

    paper_folder = collection.find(name)
    config, measured = paper_folder.config, results.record().get(name, {})
    verdicts, minutes = results.verdicts(paper_folder, measured), results.minutes(paper_folder, measured)
    return {
        **_head(name, "paper", config.title, config.citation),
        "link": f"https://doi.org/{config.doi}",
        "rows": {
            "summary": config.summary,
            "parts": ", ".join(f"{part_name} ({each.what})" for part_name, each in config.parts.items()),
            "seeds": config.seeds,
            "minutes": None if minutes is None else round(minutes),
        },
        "claims": [
            {
                "id": claim.id,
                "verdict": verdicts[claim.id].state,
                "published": results.published_words(claim.published, claim.unit),
                "title": claim.title,
                "reached": claim.reached or f"cannot be tested: {claim.untestable}",
                "source": f"{claim.where} ({PROVENANCE[claim.provenance]})",
            }
            for claim in config.claims
        ],
        "settings": [{**each.model_dump(), "provenance": PROVENANCE[each.provenance]} for each in config.settings],
        "example": f"ngym reproduce {name}",
    }


@cache
def glossary() -> dict[str, dict[str, str]]:
    """Return the words that users meet: text, and the page of the guide that says more."""
    text = resources.files("ngym_cli.catalog").joinpath("glossary.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def term(name: str) -> Row:
    """Return the definition of a word."""
    entry = glossary()[name]
    return {**_head(name, "term", entry["text"], ""), "rows": {"guide": f"docs/guide/{entry['page']}.md"}}


def analyses() -> list[str]:
    """Return the analyses, functions of ``neurogym.analysis``."""
    return [name for name in neurogym.analysis.__all__ if inspect.isfunction(getattr(neurogym.analysis, name))]


#: Kind of page -> known names and page function. A name of two kinds belongs to the first kind.
REFERENCE_ENTRIES: dict[str, tuple[Callable[[], Iterable[str]], Callable[[str], Row]]] = {
    "wrapper": (wrapper_names, wrapper),
    "algorithm": (lambda: resolve_name("ngym_cli.agents.algorithms:ALGORITHMS"), algorithm),
    "network": (lambda: resolve_name("ngym_cli.agents.networks:NETWORKS"), network),
    "figure": (lambda: resolve_name("ngym_cli.figures.registry:FIGURES"), figure),
    "launcher": (lambda: resolve_name("ngym_cli.sweeps.launchers:LAUNCHERS"), launcher),
    "analysis": (analyses, analysis),
    "paper": (resolve_name("ngym_cli.papers.collection:ids"), paper),
    "model": (lambda: resolve_name("ngym_cli.fitting.registry:MODELS"), model),
    "term": (glossary, term),
}


#: Kinds of a user's own parts other than tasks that have a page and a contract.
USER_PART_KINDS = ("network", "wrapper", "algorithm", "figure", "model")


def own_part(name: str) -> Any | None:
    """Return a user's own part of any kind; None for names of ngym and of tasks that packages offer.

    Raises:
        UserError: if the file, module or object does not exist or cannot be imported.
    """
    kinds = (extensions.ANY,) if extensions.is_reference(name) or name.endswith(".py") else USER_PART_KINDS
    return next((entry for kind in kinds if (entry := extensions.find_extension(kind, name)) is not None), None)


def own_page(name: str) -> Row | None:
    """Return the page of a user's own wrapper, network, algorithm, figure or model; None for tasks and unknown names.

    Raises:
        UserError: if the file, module or object does not exist or cannot be imported.
    """
    user_part = own_part(name)
    kind = "task" if user_part is None else extensions.kind_of(user_part)
    return REFERENCE_ENTRIES[kind][1](name) if kind in REFERENCE_ENTRIES else None


def page(name: str) -> Row | None:
    """Return the page of a name, or None if the name is unknown."""
    return next((describe(name) for names, describe in REFERENCE_ENTRIES.values() if name in names()), None)


def all_names() -> list[str]:
    """Return every name that has a page in this module."""
    return [name for names, _ in REFERENCE_ENTRIES.values() for name in names()]


def _head(name: str, kind: str, description: str, paper: str) -> Row:
    """Return the entries that every page has; pages replace those of the second line."""
    return {
        **{"id": name, "kind": kind, "description": description, "paper": paper or None},
        **{"rows": {}, "options": [], "example": ""},
    }


def arguments(entry: Callable[..., object], without: tuple[str, ...] = ()) -> list[Row]:
    """Return the arguments of a class or function as rows of ``id``, ``default`` (or "required"), ``meaning``, ...

    Args:
        entry: the class or function.
        without: arguments that are left out.
    """
    meaning = docstrings.arguments(entry)
    parameters = {name: value for name, value in (keyword_parameters(entry) or {}).items() if name not in without}
    return [
        {
            "id": name,
            "default": "required" if value is inspect.Parameter.empty else value,
            "meaning": meaning.get(name, ""),
            "range": "",
            "source": "",
        }
        for name, value in parameters.items()
    ]


def _option(name: str, field: FieldInfo) -> Row:
    return {
        "id": name,
        "default": "required" if field.is_required() else field.default,
        "meaning": field.description or "",
        "range": range_of(field) + (" or none" if is_optional(field) else ""),
        "source": about(field).source,
    }
