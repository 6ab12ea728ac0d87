"""Values of the standard library and of NumPy as plain data, and back; what an environment's state is made of."""

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
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

KIND = "__kind__"  #: key under which a dictionary of a saved state gives its type

#: What is plain data already.
PLAIN = frozenset({type(None), bool, int, float, str})

#: What stays as the constructor made it.
CONSTANTS = (
    *(type, types.FunctionType, types.ModuleType, types.GenericAlias, re.Pattern, np.dtype, np.ufunc, logging.Logger),
    *(EnvSpec, type(Ellipsis), type(NotImplemented), property, functools.cached_property),
)

#: Type: its name in a saved state, its parts as plain data, and how it is made from them.
SIMPLE: dict[type, tuple[str, Callable[[Any], list[Any]], Callable[..., Any]]] = {
    complex: ("complex", lambda v: [v.real, v.imag], complex),
    range: ("range", lambda v: [v.start, v.stop, v.step], range),
    slice: ("slice", lambda v: [v.start, v.stop, v.step], slice),
    datetime.timedelta: ("timedelta", lambda v: [v.days, v.seconds, v.microseconds], datetime.timedelta),
    datetime.datetime: ("datetime", lambda v: [v.isoformat()], datetime.datetime.fromisoformat),
    datetime.date: ("date", lambda v: [v.isoformat()], datetime.date.fromisoformat),
    datetime.time: ("time", lambda v: [v.isoformat()], datetime.time.fromisoformat),
    decimal.Decimal: ("decimal", lambda v: [str(v)], decimal.Decimal),
    fractions.Fraction: ("fraction", lambda v: [v.numerator, v.denominator], fractions.Fraction),
    uuid.UUID: ("uuid", lambda v: [v.hex], uuid.UUID),
    type(pathlib.Path()): ("path", lambda v: [str(v)], pathlib.Path),
    type(pathlib.PurePath()): ("pure_path", lambda v: [str(v)], pathlib.PurePath),
    bytes: ("bytes", lambda v: [np.frombuffer(v, np.uint8)], lambda a: a.astype(np.uint8).tobytes()),
    bytearray: (
        "bytearray",
        lambda v: [np.frombuffer(bytes(v), np.uint8)],
        lambda a: bytearray(a.astype(np.uint8).tobytes()),
    ),
    array.array: (
        "array.array",
        lambda v: [v.typecode, np.frombuffer(v.tobytes(), np.uint8)],
        lambda code, a: array.array(code, a.astype(np.uint8).tobytes()),
    ),
}
MADE_FROM = {name: make for name, _, make in SIMPLE.values()}

#: Containers by name; a class of one's own that is derived from one of them is saved as that one and its attributes.
SEQUENCES: dict[str, type] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": collections.deque,
}
MAPPINGS: dict[str, type] = {
    "Counter": collections.Counter,
    "OrderedDict": collections.OrderedDict,
    "defaultdict": collections.defaultdict,
    "mappingproxy": types.MappingProxyType,
    "dict": dict,
}
CONTAINERS: dict[str, type] = {**SEQUENCES, **MAPPINGS}
_CONTAINER_TYPES = tuple(CONTAINERS.values())
FACTORIES: dict[str, Any] = {
    kind.__name__: kind for kind in (int, float, str, bool, list, dict, set, tuple, bytes, collections.deque)
}
FACTORIES["Counter"] = collections.Counter
BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def container_of(value: Any) -> str | None:
    """Name of the standard-library container that a value is, or is derived from; None for other values."""
    if not isinstance(value, _CONTAINER_TYPES):
        return None
    return next(name for name, kind in CONTAINERS.items() if isinstance(value, kind))


def bits_of(values: np.ndarray) -> dict[str, Any]:
    """Encode an array as bytes if JSON and safetensors lack the type (complex numbers, dates, records)."""
    plain = np.ascontiguousarray(values)
    return {
        "dtype": np.lib.format.dtype_to_descr(plain.dtype),
        "shape": list(values.shape),
        "value": np.frombuffer(plain.tobytes(), np.uint8),
    }


def from_bits(data: dict[str, Any]) -> np.ndarray:
    """The array that :func:`bits_of` took apart."""
    dtype = np.lib.format.descr_to_dtype(_description(data["dtype"]))
    if dtype.hasobject:
        raise ValueError("an array of objects is not saved as its bytes")
    return np.frombuffer(data["value"].astype(np.uint8).tobytes(), dtype).reshape(data["shape"]).copy()


def _description(written: Any) -> Any:
    """A type's description with the tuples that lists stand for in JSON."""
    if isinstance(written, str):
        return written
    return [tuple(_description(part) if i == 1 else _tuples(part) for i, part in enumerate(field)) for field in written]


def _tuples(part: Any) -> Any:
    return tuple(part) if isinstance(part, list) else part


def generator_state(value: Any) -> dict[str, Any] | None:
    """State of a generator of random numbers; None if ``value`` is none."""
    if isinstance(value, np.random.Generator):
        return {KIND: "generator", "state": value.bit_generator.state, "seeds": _seeds(value.bit_generator)}
    if isinstance(value, np.random.BitGenerator):
        return {KIND: "bits", "state": value.state, "seeds": _seeds(value)}
    if isinstance(value, np.random.SeedSequence):
        return {KIND: "seeds", **_sequence(value)}
    if isinstance(value, np.random.RandomState):
        return {KIND: "random_state", "state": value.get_state(legacy=False)}
    if type(value) is random.Random:
        version, words, following = value.getstate()
        return {
            KIND: "random",
            "version": version,
            "words": np.array(words, np.uint64).astype(np.int64),
            "next": following,
        }
    return None


def _seeds(bits: np.random.BitGenerator) -> dict[str, Any] | None:
    """Seed sequence from which a generator spawns further generators."""
    sequence = bits.seed_seq
    return _sequence(sequence) if isinstance(sequence, np.random.SeedSequence) else None


def _sequence(value: np.random.SeedSequence) -> dict[str, Any]:
    entropy = value.entropy
    return {
        "entropy": entropy if entropy is None or isinstance(entropy, int) else [int(word) for word in entropy],
        "spawn_key": list(value.spawn_key),
        "pool_size": value.pool_size,
        "spawned": value.n_children_spawned,
    }


def inner_spaces(space: object) -> list[gym.Space]:
    """Components of a composite space; empty for other spaces."""
    parts = vars(space).get("spaces", ()) if isinstance(space, gym.Space) else ()
    return list(parts.values() if isinstance(parts, dict) else parts)


def generator_from(data: dict[str, Any]) -> Any:
    """The generator that :func:`generator_state` took apart.

    Raises:
        ValueError: If it is none of NumPy's.
    """
    kind = data[KIND]
    if kind == "seeds":
        return _seed_sequence(data)
    if kind == "random":
        made = random.Random()
        made.setstate((data["version"], tuple(int(word) for word in data["words"]), data["next"]))
        return made
    state = data["state"]
    if state["bit_generator"] not in BIT_GENERATORS:
        raise ValueError(f"unknown generator {state['bit_generator']!r}")
    bit_generator = vars(np.random)[state["bit_generator"]]
    if kind == "random_state":
        legacy = np.random.RandomState(bit_generator())
        legacy.set_state(state)
        return legacy
    bits = bit_generator(_seed_sequence(data["seeds"]) if data.get("seeds") else None)
    bits.state = state
    return bits if kind == "bits" else np.random.Generator(bits)


def _seed_sequence(data: dict[str, Any]) -> np.random.SeedSequence:
    return np.random.SeedSequence(
        data["entropy"],
        spawn_key=tuple(data["spawn_key"]),
        pool_size=data["pool_size"],
        n_children_spawned=data["spawned"],
    )


_KINDS = "biuf"


def is_plain(dtype: np.dtype) -> bool:
    """Whether JSON and safetensors have numbers of a type."""
    return dtype.kind in _KINDS and dtype.itemsize <= 8


def unique_items(items: Sequence[Any]) -> tuple[dict[int, Any], np.ndarray | None]:
    """Distinct items of a sequence, and the index of each item among the distinct items.

    Two are the same if they are one object, or equal words.

    Returns:
        Position in ``items`` to item, in order; and for each item its place among these (None: all differ).
    """
    n = len(items)
    keys = [item if type(item) is str else id(item) for item in items]
    first = dict(zip(reversed(keys), range(n - 1, -1, -1), strict=True))  # of several positions, the first stays
    at = sorted(first.values())
    distinct = {i: items[i] for i in at}
    if len(at) == n:
        return distinct, None
    places = {keys[i]: place for place, i in enumerate(at)}
    return distinct, np.fromiter(map(places.__getitem__, keys), np.int64, n)


def packed(items: Sequence[Any]) -> dict[str, Any] | None:
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
    if kind is float:
        return {"of": "float", "value": np.array(items)}
    if kind is int:
        fits = all(-(2**63) <= item < 2**63 for item in items)
        return {"of": "int", "value": np.array(items, np.int64)} if fits else None
    if kind is np.ndarray:
        return _arrays(items)
    if issubclass(kind, np.generic) and is_plain(items[0].dtype):
        return {"of": "scalar", "value": np.array(items, items[0].dtype)}
    return None


def _arrays(items: Sequence[np.ndarray]) -> dict[str, Any] | None:
    like = items[0]
    first = (like.dtype, like.ndim, like.flags.writeable)
    if not is_plain(like.dtype) or any((a.dtype, a.ndim, a.flags.writeable) != first for a in items):
        return None
    shapes = np.array([a.shape for a in items], np.int64).reshape(len(items), like.ndim)
    return {
        "of": "array",
        "value": np.concatenate([a.ravel() for a in items]),
        "shapes": shapes,
        "fixed": not like.flags.writeable,
    }


def unpacked(data: dict[str, Any]) -> list[Any]:
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
    shapes = data["shapes"].tolist()
    ends = np.cumsum([int(np.prod(shape, dtype=np.int64)) for shape in shapes])
    if np.min(data["shapes"], initial=0) < 0 or len(ends) == 0 or ends[-1] != len(values):
        raise ValueError(f"{len(values)} numbers for arrays of {ends[-1] if len(ends) else 0}")
    found = [part.reshape(shape).copy() for part, shape in zip(np.split(values, ends[:-1]), shapes, strict=True)]
    for each in found:
        each.flags.writeable = not data["fixed"]
    return found
