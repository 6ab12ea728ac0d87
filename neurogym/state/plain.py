"""Values of attributes as plain data, and back.

======================================  ===============================================  ==============================
kind                                    saved as                                         restored as
======================================  ===============================================  ==============================
number, word, None                      itself                                           itself
``scalar``, ``array``, ``objects``      numbers; items of an array of objects            a new array
``bytes``, ``path``, ...; ``enum``      numbers or words                                 a new value; the member
``list``, ``tuple``, ``set``, ...       the items                                        a new container
``dict``                                pairs of key and value                           a new dictionary, of the class
                                                                                         that the constructor made
``generator``                           state, and seeds of children                     a new generator
``object``                              name of the class, and attributes                the object that the
                                                                                         constructor made, filled
``session``                             an environment that the value is                 the same environment
``same``                                number of a value that was met before            the same value
``constant``                            name (functions, classes, spaces)                what the constructor made
======================================  ===============================================  ==============================
"""

from __future__ import annotations

import collections
import copy
import enum
import functools
import pathlib
import random
import types
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.sampling.distributions import Distribution, Patterns, Vectors

KIND = "__kind__"  #: key under which a dictionary of plain data names the type of a value
Data = dict[str, Any]  #: plain data of one value

PLAIN_TYPES = frozenset({type(None), bool, int, float, str})
#: Values that stay what the constructor made them.
CONSTANTS = (
    *(type, types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType, functools.partial),
    *(property, np.dtype, np.ufunc, gym.Space, Patterns, Vectors),
)
#: Values without inner values: type, to a list of plain data, and from the list.
LEAF_TYPES: dict[str, tuple[type, Callable[[Any], list[Any]], Callable[..., Any]]] = {
    "bytes": (bytes, lambda v: [np.frombuffer(v, np.uint8)], lambda numbers: np.asarray(numbers, np.uint8).tobytes()),
    "complex": (complex, lambda v: [v.real, v.imag], complex),
    "range": (range, lambda v: [v.start, v.stop, v.step], range),
    "slice": (slice, lambda v: [v.start, v.stop, v.step], slice),
    "path": (pathlib.Path, lambda v: [str(v)], pathlib.Path),
}
SEQUENCES: dict[str, Callable[..., Any]] = {
    kind.__name__: kind for kind in (list, tuple, set, frozenset, collections.deque)
}
GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_HEAP = 1 << 9  #: flag of classes that are defined in Python


def has_state(kind: type) -> bool:
    """Whether objects of a class define what to save."""
    return hasattr(kind, "state_dict") and hasattr(kind, "load_state_dict")


class CannotSave(TypeError):
    """Error for an attribute that is not plain data."""


class Encoder:
    """Encodes the attributes of one session.

    Args:
        session: Encodes an environment that is an attribute of another environment.
    """

    def __init__(self, session: Callable[[gym.Env, str], Data]):
        self._session = session
        self._numbers: dict[int, tuple[int, object]] = {}  # by id, with the value, so that the id stays in use

    def encode(self, value: Any, path: str) -> Any:
        """Encode a value.

        Args:
            value: The value.
            path: Name of the value in error messages.

        Raises:
            CannotSave: If the value is not plain data.
        """
        if type(value) in PLAIN_TYPES:
            return value
        if isinstance(value, (dict, list, tuple, np.ndarray)):  # most values; nothing below applies to them
            return self._once(value, path)
        if isinstance(value, np.generic):
            return {KIND: "scalar", "value": np.asarray(value)}
        if isinstance(value, CONSTANTS):
            if isinstance(getattr(value, "__self__", None), (*GENERATORS, np.ndarray, list, dict)):
                raise refusal(value, path)  # bound to something that is replaced when the session is restored
            return {KIND: "constant", "name": _name_of(value)}
        if isinstance(value, enum.Enum):
            return {KIND: "enum", "class": type(value).__qualname__, "name": value.name}
        for name, (kind, save, _) in LEAF_TYPES.items():
            if isinstance(value, kind):
                return {KIND: name, "items": save(value)}
        return self._once(value, path)

    def _once(self, value: Any, path: str) -> Data:
        """Encode a value that may occur more than once."""
        if id(value) in self._numbers:
            return {KIND: "same", "number": self._numbers[id(value)][0]}
        number = len(self._numbers)
        self._numbers[id(value)] = number, value
        try:
            return {**self._numbered(value, path), "number": number}
        except CannotSave:
            for key in list(self._numbers)[number:]:
                del self._numbers[key]
            raise

    def attributes(self, values: Data, path: str) -> Data:
        """Encode attributes by name."""
        return {
            name: value if type(value) in PLAIN_TYPES else self.encode(value, f"{path}.{name}")
            for name, value in values.items()
        }

    def _numbered(self, value: Any, path: str) -> Data:
        if isinstance(value, dict):
            pairs = [
                [k if type(k) in PLAIN_TYPES else self.encode(k, path), self._item(v, path, k)]
                for k, v in value.items()
            ]
            return {KIND: "dict", "class": type(value).__name__, "pairs": pairs}
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, gym.Env):
            return {KIND: "session", "session": self._session(value, path)}
        if isinstance(value, Distribution):
            return {KIND: "distribution", "items": [self.encode(item, path) for item in value]}
        if isinstance(value, np.random.Generator):
            return {KIND: "generator", **_bits(value.bit_generator)}
        if isinstance(value, np.random.RandomState):
            return {KIND: "random_state", "state": value.get_state(legacy=False)}
        if type(value) is random.Random:
            version, words, following = value.getstate()
            return {KIND: "random", "version": version, "words": np.array(words, np.int64), "next": following}
        if SEQUENCES.get(type(value).__name__) is type(value):
            items = [self._item(item, path, i) for i, item in enumerate(value)]
            return {KIND: type(value).__name__, "items": items}
        if has_state(type(value)):
            return {KIND: "object", "class": type(value).__qualname__, "own": self.encode(value.state_dict(), path)}
        if not is_python(value):
            raise refusal(value, path)
        return {KIND: "object", "class": type(value).__qualname__, "attributes": self.attributes(vars(value), path)}

    def _item(self, value: Any, path: str, key: object) -> Any:
        return value if type(value) in PLAIN_TYPES else self.encode(value, f"{path}[{key!r}]")

    def _array(self, value: np.ndarray, path: str) -> Data:
        if value.dtype == object:
            items = [self.encode(item, f"{path}[{i}]") for i, item in enumerate(value.ravel().tolist())]
            return {KIND: "objects", "shape": list(value.shape), "items": items}
        if value.dtype.kind == "U":
            return {KIND: "array", "value": np.array(value)}
        if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8 or isinstance(value, np.ma.MaskedArray):
            raise refusal(value, path)
        return {KIND: "array", "value": np.array(value), "fixed": not value.flags.writeable}


class Decoder:
    """Decodes what an :class:`Encoder` encoded, into an environment that was made in the same way.

    Args:
        session: Puts a session into an environment that is an attribute of another environment.
    """

    def __init__(self, session: Callable[[gym.Env, Data, str], None]):
        self._session = session
        self._decoded: dict[int, Any] = {}
        self._filled: set[int] = set()
        #: Kind of a value to the method that decodes it: values that occur once, and numbered ones.
        self._values: dict[str, Callable[[Data, Any, str], Any]] = {
            **{"constant": _constant, "enum": _member, "scalar": _scalar, "same": self._same},
        }
        self._numbered: dict[str, Callable[[Data, Any, str], Any]] = {
            **{"array": _array, "objects": self._objects, "dict": self._dict, "object": self._object},
            **dict.fromkeys(("distribution", *SEQUENCES), self._sequence),
            "session": self._environment,
        }

    def decode(self, data: Any, present: Any, path: str) -> Any:
        """Decode a value.

        Args:
            data: The plain data.
            present: Value of the attribute as the constructor made it.
            path: Name of the value in error messages.

        Raises:
            ValueError: If the data do not fit the environment.
        """
        if type(data) in PLAIN_TYPES:
            return data
        if not isinstance(data, dict) or KIND not in data:
            raise ValueError(f"{path}: expected a value, got a {type(data).__name__}")
        kind = data[KIND]
        if kind in LEAF_TYPES:
            return LEAF_TYPES[kind][2](*data["items"])
        if kind in self._values:
            return self._values[kind](data, present, path)
        value = self._numbered.get(kind, _generator)(data, present, path)
        self._decoded[data["number"]] = value
        return value

    def _same(self, data: Data, present: Any, path: str) -> Any:
        return self._decoded[data["number"]]

    def _objects(self, data: Data, present: Any, path: str) -> np.ndarray:
        values = np.empty(len(data["items"]), object)
        for i, item in enumerate(data["items"]):
            values[i] = self.decode(item, None, f"{path}[{i}]")
        return values.reshape(data["shape"])

    def _environment(self, data: Data, present: Any, path: str) -> gym.Env:
        if not isinstance(present, gym.Env):
            raise ValueError(f"{path}: expected an environment, found a {type(present).__name__}")
        self._session(present, data["session"], path)
        return present

    def _sequence(self, data: Data, present: Any, path: str) -> Any:
        kind = data[KIND]
        ordered = isinstance(present, (list, tuple, collections.deque))
        container: Any = None
        if kind in ("list", "deque"):
            longest = present.maxlen if isinstance(present, collections.deque) else None
            container = self._decoded[data["number"]] = [] if kind == "list" else collections.deque(maxlen=longest)
        items = [] if container is None else container
        for i, item in enumerate(data["items"]):
            before = present[i] if ordered and i < len(present) else None
            items.append(self.decode(item, before, f"{path}[{i}]"))
        if kind == "distribution":
            return Distribution(*items)
        return items if container is not None else SEQUENCES[kind](items)

    def _dict(self, data: Data, present: Any, path: str) -> Any:
        if type(present).__name__ == data["class"]:
            mapping = copy.copy(present)
            mapping.clear()
        elif data["class"] in ("dict", "Counter", "OrderedDict"):
            mapping = {"dict": dict, "Counter": collections.Counter, "OrderedDict": collections.OrderedDict}[
                data["class"]
            ]()
        else:
            raise ValueError(f"{path} is a {data['class']} that the constructor does not make")
        self._decoded[data["number"]] = mapping
        for key, item in data["pairs"]:
            name = self.decode(key, None, path)
            before = present.get(name) if isinstance(present, dict) else None
            mapping[name] = self.decode(item, before, f"{path}[{name!r}]")
        return mapping

    def _object(self, data: Data, present: Any, path: str) -> Any:
        if type(present).__qualname__ != data["class"] or id(present) in self._filled:
            raise ValueError(f"{path} is a {data['class']} that the constructor does not make")
        self._filled.add(id(present))
        self._decoded[data["number"]] = present
        if "own" in data:
            present.load_state_dict(self.decode(data["own"], None, path))
        else:
            self.fill(present, data["attributes"], path)
        return present

    def fill(self, owner: Any, attributes: Data, path: str) -> None:
        """Set encoded attributes of an object, past properties."""
        for name, item in attributes.items():
            if callable(getattr(type(owner), name, None)):
                raise ValueError(f"{path}.{name} is a method, not an attribute")
            vars(owner)[name] = self.decode(item, vars(owner).get(name), f"{path}.{name}")


def _constant(data: Data, present: Any, path: str) -> Any:
    """The function, class or space that the constructor made."""
    if _name_of(present) != data["name"]:
        raise ValueError(f"{path} is {data['name']}, but the constructor makes {_name_of(present)}")
    return present


def _member(data: Data, present: Any, path: str) -> Any:
    """The member of an enumeration."""
    if type(present).__qualname__ != data["class"]:
        raise ValueError(f"{path} is a {data['class']}, but the constructor makes {present!r}")
    return type(present)[data["name"]]


def _scalar(data: Data, present: Any, path: str) -> Any:
    """The number, of NumPy's type."""
    return np.asarray(data["value"])[()]


def _array(data: Data, present: Any, path: str) -> np.ndarray:
    """A new array."""
    values = np.array(data["value"])
    values.flags.writeable = not data.get("fixed", False)
    return values


def _name_of(value: object) -> str:
    """Name of a function or class; of other values the name of their class."""
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def is_python(value: object) -> bool:
    """Whether attributes are all that an object consists of (not so for files, locks, tensors)."""
    kinds = type(value).__mro__[:-1]
    has_slots = any(vars(base).get("__slots__") for base in kinds)
    return hasattr(value, "__dict__") and not has_slots and all(base.__flags__ & _HEAP for base in kinds)


def refusal(value: object, path: str) -> CannotSave:
    """Error for a value that is not plain data."""
    kind = type(value).__name__
    article = "an" if kind[0].lower() in "aeiou" else "a"
    return CannotSave(
        f"attribute {path} is {article} {kind}, which cannot be saved with a run; expected numbers, arrays, lists, "
        f"dictionaries and generators, or state_dict() and load_state_dict(state) defined on {path.partition('.')[0]}"
    )


def _bits(bits: np.random.BitGenerator) -> Data:
    """State of a bit generator, and of the sequence from which the seeds of its children come."""
    seeds = bits.seed_seq
    if not isinstance(seeds, np.random.SeedSequence):
        return {"state": bits.state}
    entropy = seeds.entropy
    spawn = {
        "entropy": entropy if entropy is None or isinstance(entropy, int) else [int(word) for word in entropy],
        "spawn_key": [int(word) for word in seeds.spawn_key],
        "pool_size": seeds.pool_size,
        "children": seeds.n_children_spawned,
    }
    return {"state": bits.state, "seeds": spawn}


def _generator(data: Data, present: Any, path: str) -> Any:
    """The random generator that plain data describe."""
    kind = data[KIND]
    if kind == "random":
        generator = random.Random()
        generator.setstate((data["version"], tuple(int(word) for word in data["words"]), data["next"]))
        return generator
    if kind == "random_state":
        legacy = np.random.RandomState()
        legacy.set_state(data["state"])
        return legacy
    if kind != "generator" or data["state"]["bit_generator"] not in BIT_GENERATORS:
        raise ValueError(f"{path}: unknown kind {kind!r}")
    seeds = data.get("seeds")
    sequence = None
    if seeds:
        key, size, children = tuple(seeds["spawn_key"]), seeds["pool_size"], seeds["children"]
        sequence = np.random.SeedSequence(seeds["entropy"], spawn_key=key, pool_size=size, n_children_spawned=children)
    bits = vars(np.random)[data["state"]["bit_generator"]](sequence)
    bits.state = data["state"]
    return np.random.Generator(bits)
