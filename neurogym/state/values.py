"""Values of the standard library and of NumPy as plain data, and back: each type with both directions."""

from __future__ import annotations

import array
import collections
import datetime
import decimal
import fractions
import functools
import logging
import pathlib
import random
import re
import types
import uuid
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

KIND = "__kind__"  #: key under which a dictionary of a saved state gives its type
Data = dict[str, Any]  #: plain data of one value

#: What is plain data already.
PLAIN = frozenset({type(None), bool, int, float, str})

#: What stays as the constructor made it.
CONSTANTS = (
    *(type, types.FunctionType, types.ModuleType, types.GenericAlias, re.Pattern, np.dtype, np.ufunc, logging.Logger),
    *(EnvSpec, type(Ellipsis), type(NotImplemented), property, functools.cached_property),
)


class Leaf(NamedTuple):
    """A type whose values hold no values of other types.

    Attributes:
        type: The type.
        save: From a value to its parts, which are plain data.
        load: From these to the value.
    """

    type: type
    save: Callable[[Any], Any]
    load: Callable[..., Any]


def _bytes(values: np.ndarray) -> bytes:
    return values.astype(np.uint8).tobytes()


#: Values that compare by their contents, saved under ``"parts"``.
SIMPLE: dict[str, Leaf] = {
    "complex": Leaf(complex, lambda v: [v.real, v.imag], complex),
    "range": Leaf(range, lambda v: [v.start, v.stop, v.step], range),
    "slice": Leaf(slice, lambda v: [v.start, v.stop, v.step], slice),
    "timedelta": Leaf(datetime.timedelta, lambda v: [v.days, v.seconds, v.microseconds], datetime.timedelta),
    "datetime": Leaf(datetime.datetime, lambda v: [v.isoformat()], datetime.datetime.fromisoformat),
    "date": Leaf(datetime.date, lambda v: [v.isoformat()], datetime.date.fromisoformat),
    "time": Leaf(datetime.time, lambda v: [v.isoformat()], datetime.time.fromisoformat),
    "decimal": Leaf(decimal.Decimal, lambda v: [str(v)], decimal.Decimal),
    "fraction": Leaf(fractions.Fraction, lambda v: [v.numerator, v.denominator], fractions.Fraction),
    "uuid": Leaf(uuid.UUID, lambda v: [v.hex], uuid.UUID),
    "path": Leaf(type(pathlib.Path()), lambda v: [str(v)], pathlib.Path),
    "pure_path": Leaf(type(pathlib.PurePath()), lambda v: [str(v)], pathlib.PurePath),
    "bytes": Leaf(bytes, lambda v: [np.frombuffer(v, np.uint8)], _bytes),
    "bytearray": Leaf(bytearray, lambda v: [np.frombuffer(bytes(v), np.uint8)], lambda a: bytearray(_bytes(a))),
    "array.array": Leaf(
        array.array,
        lambda v: [v.typecode, np.frombuffer(v.tobytes(), np.uint8)],
        lambda code, a: array.array(code, _bytes(a)),
    ),
}
SIMPLE_NAMES = {leaf.type: name for name, leaf in SIMPLE.items()}


def _save_seeds(value: object) -> Data | None:
    """Seed sequence, from which generators spawn further generators; None for seeds of other kinds."""
    if not isinstance(value, np.random.SeedSequence):
        return None
    entropy = value.entropy
    return {
        "entropy": entropy if entropy is None or isinstance(entropy, int) else [int(word) for word in entropy],
        "spawn_key": list(value.spawn_key),
        "pool_size": value.pool_size,
        "spawned": value.n_children_spawned,
    }


def _load_seeds(data: Data) -> np.random.SeedSequence:
    spawned = {"pool_size": data["pool_size"], "n_children_spawned": data["spawned"]}
    return np.random.SeedSequence(data["entropy"], spawn_key=tuple(data["spawn_key"]), **spawned)


def _save_bits(value: np.random.BitGenerator) -> Data:
    return {"state": value.state, "seeds": _save_seeds(value.seed_seq)}


def _load_bits(data: Data) -> np.random.BitGenerator:
    name = data["state"]["bit_generator"]
    if name not in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"):
        raise ValueError(f"unknown generator {name!r}")
    bits = vars(np.random)[name](_load_seeds(data["seeds"]) if data.get("seeds") else None)
    bits.state = data["state"]
    return bits


def _load_random_state(data: Data) -> np.random.RandomState:
    made = np.random.RandomState(_load_bits(data))
    made.set_state(data["state"])  # with the second number of the last pair of normals
    return made


def _save_random(value: random.Random) -> Data:
    version, words, following = value.getstate()
    return {"version": version, "words": np.array(words, np.uint64).astype(np.int64), "next": following}


def _load_random(data: Data) -> random.Random:
    made = random.Random()
    made.setstate((data["version"], tuple(int(word) for word in data["words"]), data["next"]))
    return made


#: Generators of random numbers.
GENERATORS: dict[str, Leaf] = {
    "generator": Leaf(
        np.random.Generator, lambda v: _save_bits(v.bit_generator), lambda d: np.random.Generator(_load_bits(d))
    ),
    "bits": Leaf(np.random.BitGenerator, _save_bits, _load_bits),
    "seeds": Leaf(np.random.SeedSequence, _save_seeds, _load_seeds),
    "random_state": Leaf(
        np.random.RandomState,
        lambda v: {"state": v.get_state(legacy=False)},
        _load_random_state,
    ),
    "random": Leaf(random.Random, _save_random, _load_random),
}


def generator_kind(value: object) -> str | None:
    """Name of the kind of generator; None for other values."""
    if isinstance(value, random.Random) and type(value) is not random.Random:  # may have no state, or more
        return None
    return next((name for name, leaf in GENERATORS.items() if isinstance(value, leaf.type)), None)


#: Containers by name; a user's class that is derived from a container is saved as the container and its attributes.
MAPPINGS: dict[str, type] = {
    "Counter": collections.Counter,
    "OrderedDict": collections.OrderedDict,
    "defaultdict": collections.defaultdict,
    "mappingproxy": types.MappingProxyType,
    "dict": dict,
}
CONTAINERS: dict[str, type] = {
    **{kind.__name__: kind for kind in (list, tuple, set, frozenset, collections.deque)},
    **MAPPINGS,
}
_CONTAINER_TYPES = tuple(CONTAINERS.values())
#: What a ``defaultdict`` can make for a missing key.
FACTORIES: dict[str, type] = {
    kind.__name__: kind
    for kind in (int, float, str, bool, list, dict, set, tuple, bytes, collections.deque, collections.Counter)
}


def container_of(value: object) -> str | None:
    """Name of the standard-library container that a value is, or is derived from; None for other values."""
    if not isinstance(value, _CONTAINER_TYPES):
        return None
    return next(name for name, kind in CONTAINERS.items() if isinstance(value, kind))


def inner_spaces(space: object) -> list[gym.Space]:
    """Components of a composite space; empty for other spaces."""
    parts = vars(space).get("spaces", ()) if isinstance(space, gym.Space) else ()
    return list(parts.values() if isinstance(parts, dict) else parts)


# -- arrays ------------------------------------------------------------------------------------------------------------


def is_plain(dtype: np.dtype) -> bool:
    """Whether JSON and safetensors have numbers of a type."""
    return dtype.kind in "biuf" and dtype.itemsize <= 8


def save_bytes(values: np.ndarray) -> Data:
    """Encode an array as bytes if JSON and safetensors lack the type (complex numbers, dates, records)."""
    plain = np.ascontiguousarray(values)
    return {
        "dtype": np.lib.format.dtype_to_descr(plain.dtype),
        "shape": list(values.shape),
        "value": np.frombuffer(plain.tobytes(), np.uint8),
    }


def load_bytes(data: Data) -> np.ndarray:
    """The array that :func:`save_bytes` took apart."""
    dtype = np.lib.format.descr_to_dtype(_description(data["dtype"]))
    if dtype.hasobject:
        raise ValueError("an array of objects is not saved as its bytes")
    return np.frombuffer(_bytes(data["value"]), dtype).reshape(data["shape"]).copy()


def _description(written: Any) -> Any:
    """Description of a type with the tuples (title and name) that are lists in JSON."""
    if isinstance(written, str):
        return written
    return [(tuple(n) if isinstance(n, list) else n, _description(kind), *shape) for n, kind, *shape in written]


def unique_items(items: Sequence[object]) -> tuple[dict[int, object], np.ndarray | None]:
    """Distinct items of a sequence, and the index of each item among the distinct items.

    Two are the same if they are one object, or equal words.

    Returns:
        Position in ``items`` to item, in order; and for each item its place among these (None: all differ).
    """
    keys = [item if type(item) is str else id(item) for item in items]
    first: dict[str | int, int] = {}
    for i, key in enumerate(keys):
        first.setdefault(key, i)
    distinct = {i: items[i] for i in first.values()}
    if len(distinct) == len(items):
        return distinct, None
    places = {key: place for place, key in enumerate(first)}
    return distinct, np.array([places[key] for key in keys], np.int64)


def packed(items: Sequence[Any]) -> Data | None:
    """Pack several items of the same type into an array: Python or NumPy numbers, or arrays that differ only in shape.

    Args:
        items: Two or more.

    Returns:
        What :func:`unpacked` takes; None if they are something else.
    """
    kinds = set(map(type, items))
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind is float or (kind is int and all(-(2**63) <= item < 2**63 for item in items)):
        return {"of": kind.__name__, "value": np.array(items, kind)}
    if issubclass(kind, np.generic) and is_plain(items[0].dtype):
        return {"of": "scalar", "value": np.array(items, items[0].dtype)}
    if kind is not np.ndarray or not is_plain(items[0].dtype):
        return None
    if len({(a.dtype, a.ndim, a.flags.writeable) for a in items}) > 1:
        return None
    shapes = np.array([a.shape for a in items], np.int64).reshape(len(items), items[0].ndim)
    values = np.concatenate([a.ravel() for a in items])
    return {"of": "array", "value": values, "shapes": shapes, "fixed": not items[0].flags.writeable}


def unpacked(data: Data) -> Sequence[object]:
    """The items that :func:`packed` took.

    Raises:
        ValueError: If shapes and numbers do not fit each other.
    """
    kind, values = data["of"], np.asarray(data["value"])
    if kind in ("float", "int"):
        return values.tolist()
    if kind == "scalar":
        return list(values)
    if kind != "array":
        raise ValueError(f"unknown items {kind!r}")
    shapes = data["shapes"]
    ends = np.cumsum(shapes.prod(axis=1))
    if not len(shapes) or shapes.min(initial=0) < 0 or ends[-1] != len(values):
        raise ValueError(f"{len(values)} numbers do not fit arrays of the shapes {shapes.tolist()}")
    parts = np.split(values, ends[:-1])
    found = [part.reshape(shape).copy() for part, shape in zip(parts, shapes, strict=True)]
    for each in found:
        each.flags.writeable = not data["fixed"]
    return found
