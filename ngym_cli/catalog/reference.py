"""Pages about algorithms, networks, figures, launchers, analyses, models and papers: all but tasks and wrappers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pkgutil import resolve_name

from ngym_cli.agents.options import Option
from ngym_cli.catalog import descriptions
from ngym_cli.catalog.descriptions import Row
from ngym_cli.config import parts


def algorithm(name: str) -> Row:
    """Return all that is known of a learning algorithm; torch is imported for a user's own only."""
    from ngym_cli.agents.algorithms import find_algorithm

    spec = find_algorithm(name)
    return {
        **_head(name, "algorithm", spec.summary, spec.paper),
        "recurrent": spec.recurrent,
        "actions": sorted(spec.actions),
        "networks": list(spec.networks),
        "defaults": dict(spec.defaults),
        "rows": {
            "class": spec.path,
            "learns from": "the right action of every step" if spec.needs_truth else "reward",
            "memory": "trains recurrent networks" if spec.recurrent else "none: a memoryless control",
            "networks": list(spec.networks),
            "actions": sorted(spec.actions),
            "environments": f"{spec.n_envs} side by side (--n-envs)",
            "steps": f"{spec.timesteps:,}, or the task's own number (--timesteps)",
        },
        "flag": "--set NAME=VALUE",
        "options": [_option(option) for option in spec.hyperparameters],
        "example": f"ngym run --task RDM-v0 --alg {name} --set learning_rate=1e-3",
    }


def network(name: str) -> Row:
    """Return all that is known of a network; torch is imported for a user's own only."""
    from ngym_cli.agents.algorithms import ALGORITHMS
    from ngym_cli.agents.networks import find_network

    spec = find_network(name)
    trained_by = [alg.name for alg in ALGORITHMS.values() if alg.recurrent == spec.recurrent]
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
        "options": [_option(option) for option in spec.described],
        "example": f"ngym run --task RDM-v0 --alg {trained_by[0]} --network {name} --units 128",
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
        "options": [],
        "example": (f"ngym eval latest --record {record}\n           " if record else "") + f"ngym plot latest {name}",
    }


def launcher(name: str) -> Row:
    """Return all that is known of a place where sweeps are run."""
    from ngym_cli.sweeps import launchers

    return {
        **_head(name, "launcher", launchers.MEANING[name], ""),
        "rows": {"needs": launchers.NEEDS.get(name, "")},
        "options": [],
        "example": f"ngym sweep --alg recurrent_ppo,recurrent_a2c --seed 0:5 --on {launchers.WRITTEN.get(name, name)}",
    }


def analysis(name: str) -> Row:
    """Return all that is known of an analysis of ``neurogym.analysis``."""
    from neurogym import analysis as package

    entry = getattr(package, name)
    parameters = inspect.signature(entry).parameters.values()
    meaning = descriptions.arguments(entry)
    return {
        **_head(name, "analysis", descriptions.summary(entry), ""),
        "rows": {"import": f"from neurogym.analysis import {name}"},
        "flag": "arguments",
        "options": [
            {
                "id": p.name,
                "default": "required" if p.default is p.empty else p.default,
                "meaning": meaning.get(p.name, ""),
                "range": "",
                "source": "",
            }
            for p in parameters
            if p.kind is not p.VAR_KEYWORD
        ],
        "example": "",
        "text": inspect.getdoc(entry) or "",
    }


def model(name: str) -> Row:
    """Return the description of a model of choices; a user's own is imported."""
    from ngym_cli.fitting.registry import MODELS

    spec = MODELS.get(name)
    if spec is None:
        entry = parts.find_own("model", name)
        return {
            **_head(name, "model", descriptions.summary(entry), ""),
            "rows": {},
            "options": [],
            "example": f"ngym fit TABLE --model logistic,{name}",
            "text": inspect.getdoc(entry) or "",
        }
    return {
        **_head(name, "model", spec.summary, spec.source),
        "arguments": dict(spec.arguments),
        "rows": {"units": "--units 1,2,4: a network for each number" if spec.units else None},
        "flag": f"--model {name}:NAME=VALUE",
        "options": [
            {"id": key, "default": default, "meaning": "", "range": "", "source": ""}
            for key, default in spec.arguments.items()
        ],
        "example": f"ngym fit TABLE --model logistic,{name}",
    }


def models() -> Iterable[str]:
    """Return the models of choices."""
    from ngym_cli.fitting.registry import MODELS

    return MODELS


def paper(name: str) -> Row:
    """Return the description of a paper: claims, criteria and our results."""
    from ngym_cli.papers import collection, results
    from ngym_cli.papers.model import PROVENANCE

    found = collection.find(name)
    config, verdicts = found.config, results.verdicts(found, results.record().get(name, {}))
    return {
        **_head(name, "paper", config.title, config.citation),
        "link": f"https://doi.org/{config.doi}",
        "rows": {
            "summary": config.summary,
            "parts": ", ".join(f"{part} ({each.what})" for part, each in config.parts.items()),
            "seeds": config.seeds,
            "minutes": None
            if (took := results.minutes(found, results.record().get(name, {}))) is None
            else round(took),
        },
        "options": [],
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
        "settings": [
            {**setting.model_dump(), "provenance": PROVENANCE[setting.provenance]} for setting in config.settings
        ],
        "example": f"ngym reproduce {name}",
    }


def papers() -> list[str]:
    """Return the papers that come with ngym."""
    from ngym_cli.papers import collection

    return collection.ids()


def analyses() -> list[str]:
    """Return the analyses, functions of ``neurogym.analysis``."""
    from neurogym import analysis as package

    return [name for name in package.__all__ if inspect.isfunction(getattr(package, name))]


#: Kind of page -> known names and page function. A name of two kinds belongs to the first kind.
KINDS: dict[str, tuple[Callable[[], Iterable[str]], Callable[[str], Row]]] = {
    "algorithm": (lambda: resolve_name("ngym_cli.agents.algorithms:ALGORITHMS"), algorithm),
    "network": (lambda: resolve_name("ngym_cli.agents.networks:NETWORKS"), network),
    "figure": (lambda: resolve_name("ngym_cli.figures.registry:FIGURES"), figure),
    "launcher": (lambda: resolve_name("ngym_cli.sweeps.launchers:NAMES"), launcher),
    "analysis": (analyses, analysis),
    "paper": (papers, paper),
    "model": (models, model),
}


#: Listing of ``ngym list`` -> its kind, and the fields of a page that are listed.
LISTED: dict[str, tuple[str, tuple[str, ...]]] = {
    "algs": ("algorithm", ("id", "description", "paper", "recurrent", "actions", "networks", "defaults")),
    "networks": ("network", ("id", "description", "paper", "recurrent", "defaults")),
    "figures": ("figure", ("id", "description", "drawn for", "columns", "record")),
    "launchers": ("launcher", ("id", "description")),
    "analyses": ("analysis", ("id", "description")),
    "models": ("model", ("id", "description", "arguments", "paper")),
}


def own_page(name: str) -> Row | None:
    """Return the page of a user's own network, algorithm, figure or model; None for tasks, wrappers and unknown names.

    Raises:
        UserError: if the file, module or object does not exist or cannot be imported.
    """
    for kind in ("network", "algorithm", "figure", "model"):
        offered = name in parts.offered(kind)
        if offered or parts.is_reference(name):
            found = parts.kind_of(parts.find_own(kind, name))
            return KINDS[found][1](name) if found in KINDS else None
    return None


def page(name: str) -> Row | None:
    """Return the page of a name, or None if the name is unknown."""
    for names, describe in KINDS.values():
        if name in names():
            return describe(name)
    return None


def all_names() -> list[str]:
    """Return every name that has a page in this module."""
    return [name for names, _ in KINDS.values() for name in names()]


def _head(name: str, kind: str, description: str, paper: str) -> Row:
    return {"id": name, "kind": kind, "description": description, "paper": paper or None}


def _option(option: Option) -> Row:
    return {
        "id": option.name,
        "default": option.default,
        "meaning": option.meaning,
        "range": option.range + (" or none" if option.none else ""),
        "source": option.source,
    }
