"""Fitted policies as plain arrays, and policies from arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_origin, get_type_hints

import numpy as np

Arrays = dict[str, np.ndarray]


def flatten(value: Any, prefix: str = "") -> Arrays:
    """Return the fields of a dataclass as arrays; names of nested fields are joined with dots."""
    found: Arrays = {}
    for each in fields(value):
        own, name = getattr(value, each.name), prefix + each.name
        found.update(flatten(own, f"{name}.") if is_dataclass(own) else {name: np.asarray(own)})
    return found


def rebuild(kind: type[Any], arrays: Mapping[str, np.ndarray], prefix: str = "") -> Any:
    """Return a dataclass from the result of `flatten`.

    Args:
        kind: the dataclass; its fields are arrays, numbers, tuples of words or dataclasses of these.
        arrays: as returned by `flatten`; fields with defaults may be missing, as in fits of earlier versions.
        prefix: of the names.

    Raises:
        KeyError: if an array is missing.
    """
    given: dict[str, Any] = {}
    optional = {each.name for each in fields(kind) if each.default is not MISSING}
    for name, hint in get_type_hints(kind).items():
        key = prefix + name
        if name in optional and key not in arrays:
            continue
        if is_dataclass(hint):
            given[name] = rebuild(hint, arrays, f"{key}.")  # type: ignore[arg-type]
        elif get_origin(hint) is tuple:
            given[name] = tuple(arrays[key].tolist())
        else:
            given[name] = arrays[key].item() if hint in (bool, int, float, str) else arrays[key]
    return kind(**given)


class Saved:
    """Mixin of models whose policies are dataclasses of arrays.

    Attributes:
        policy: class of the policies.
    """

    policy: type[Any]

    def to_arrays(self, policy: Any) -> Arrays:
        """See `Model.to_arrays`."""
        return flatten(policy)

    def from_arrays(self, arrays: Mapping[str, np.ndarray], table: Any) -> Any:
        """See `Model.from_arrays`."""
        return rebuild(self.policy, arrays)
