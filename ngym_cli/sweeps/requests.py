"""From the words of the command line to a sweep: start one, go on with one, or look at one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ngym_cli.config.values import parse_assignment, parse_assignments, parse_scalar, split_entries
from ngym_cli.errors import UserError, did_you_mean
from ngym_cli.sweeps import control, folder
from ngym_cli.sweeps.recipe import canonical, from_flags

ACTIONS = ("status", "resume")


def sweep(
    what: str | None,
    reference: str | None,
    parameters: Mapping[str, object],
    wrappers: Iterable[str] | None,
    zipped: Iterable[str] | None,
    searched: Mapping[str, object],
    where: Mapping[str, object],
    root: Path,
    name: str | None,
    *,
    detach: bool,
    trust: bool,
    dry_run: bool,
    json: bool,
) -> int:
    """Do what a command line asks for; return the exit code.

    Args:
        what: a recipe's file, ``status``, ``resume``, or None.
        reference: the sweep to look at or to go on with.
        parameters: flags of a run by name.
        wrappers: stacks.
        zipped: groups of parameters that change together.
        searched: flags of the search.
        where: flags of the launcher.
        root: folder of all sweeps.
        name: name of the sweep.
        detach: do not wait for the cluster.
        trust: let a recipe name a user's own code.
        dry_run: only say what would be done.
        json: print one JSON document.

    Raises:
        UserError: on words that do not go together, and as the actions themselves.
    """
    values = from_flags(parameters, wrappers)
    over = tables(zipped, searched, where)
    if what in ACTIONS:
        if values or "zip" in over or "search" in over or name is not None or dry_run:
            raise UserError(f"ngym sweep {what} takes a sweep as it is; no other settings go with it")
        found = folder.find(reference or "latest", root)
        if what == "status":
            return control.show(found, json)
        return control.resume(found, over.get("launch", {}), trust, detach, json)
    if reference is not None:
        raise UserError(f"ngym sweep {what} {reference}: expected a recipe alone" + did_you_mean(str(what), ACTIONS))
    file = Path(what) if what is not None else None
    if file is not None and not file.is_file():
        raise UserError(f"no such recipe: {what}" + did_you_mean(str(what), ACTIONS))
    if file is None and not values and "search" not in over:
        raise UserError("nothing to sweep: give a recipe or flags, as in ngym sweep --alg ppo,recurrent_ppo --seed 0:5")
    recipe = control.make_recipe(file, over, values, trust)
    return control.start(recipe, control.name_of(recipe, name, file), root, dry_run, detach, json)


def tables(zipped: Iterable[str] | None, searched: Mapping[str, Any], where: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a recipe that flags give, with nothing that they leave open."""
    found: dict[str, Any] = {}
    if zipped:
        found["zip"] = [[_key(part) for part in split_entries(group)] for group in zipped]
    search = {key: value for key, value in searched.items() if value is not None}
    if "space" in search:
        search["space"] = parse_assignments(search["space"], "--space", str)
    if search:
        found["search"] = search
    launch = {key: value for key, value in where.items() if value is not None}
    if "slurm" in launch:
        pairs = (parse_assignment(text, "--slurm") for text in launch["slurm"])
        launch["slurm"] = {key: value if ":" in value else parse_scalar(value) for key, value in pairs}
    if launch:
        found["launch"] = launch
    return found


def _key(name: str) -> str:
    try:
        return canonical(name.strip().replace("-", "_"))
    except ValueError as error:
        raise UserError(f"--zip: {error}") from None
