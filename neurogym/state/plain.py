"""Values of attributes as plain data, and back.

======================================  ===============================================  ==============================
kind                                    saved as                                         restored as
======================================  ===============================================  ==============================
number, word, None                      itself                                           itself
``scalar``, ``array``, ``objects``      numbers; items of an array of objects            a new array
``list``, ``tuple``, ``set``, ...       the items                                        a new container
``dict``                                pairs of key and value                           a new dictionary, of the class
                                                                                         that the constructor made
``generator``                           state, and seeds of children                     a new generator
``object``                              the attributes that its class lists as `state`   the object that the
                                                                                         constructor made, filled
``session``                             an environment that the value is                 the same environment
``same``                                number of a value that was met before            the same value
``constant``                            name (functions, classes, spaces, ranges)        what the constructor made
======================================  ===============================================  ==============================
"""

from __future__ import annotations

import collections
import copy
import enum
import functools
import pathlib
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
#: The same, of which the value is compared and not only the name.
CONSTANT_VALUES = (range, slice, bytes, complex, pathlib.Path, enum.Enum)
SEQUENCES: dict[str, Callable[..., Any]] = {
    kind.__name__: kind for kind in (list, tuple, set, frozenset, collections.deque)
}
#: Types of arguments that are saved as a task's parameters; what else a task is made with stays what it is.
PARAMETER_TYPES = (*PLAIN_TYPES, np.generic, np.ndarray, dict, list, tuple, *CONSTANTS, *CONSTANT_VALUES)
BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


class CannotSave(TypeError):
    """Error for an attribute that is not plain data."""


def declared_state(kind: Any) -> tuple[str, ...] | None:
    """Attributes that a class and its base classes list as ``state``; None if the class itself has no such list."""
    if not isinstance(vars(kind).get("state"), tuple):
        return None
    return tuple(dict.fromkeys(name for base in kind.__mro__ for name in vars(base).get("state", ())))


def state_of(owner: Any, left_out: frozenset[str] = frozenset()) -> Data:
    """Attributes of an object that are its state: those that its class lists, or all.

    Args:
        owner: The object.
        left_out: Attributes that are not among all.
    """
    own, names = vars(owner), declared_state(type(owner))
    if names is None:
        return {name: value for name, value in own.items() if name not in left_out}
    return {name: own[name] if name in own else getattr(owner, name) for name in names if hasattr(owner, name)}


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
        if isinstance(value, np.generic):
            return {KIND: "scalar", "value": np.asarray(value)}
        if isinstance(value, (*CONSTANTS, *CONSTANT_VALUES)):
            if isinstance(getattr(value, "__self__", None), (np.random.Generator, np.ndarray, list, dict)):
                raise refusal(value, path)  # bound to something that is replaced when the session is restored
            return {KIND: "constant", "name": _name_of(value)}
        if id(value) in self._numbers:
            return {KIND: "same", "number": self._numbers[id(value)][0]}
        number = len(self._numbers)
        self._numbers[id(value)] = number, value
        return {**self._numbered(value, path), "number": number}

    def attributes(self, values: Data, path: str) -> Data:
        """Encode attributes by name."""
        return {name: self.encode(value, f"{path}.{name}") for name, value in values.items()}

    def _numbered(self, value: Any, path: str) -> Data:
        """Encode a value that may occur more than once."""
        if isinstance(value, dict):
            pairs = [[self.encode(k, path), self.encode(v, f"{path}[{k!r}]")] for k, v in value.items()]
            return {KIND: "dict", "class": type(value).__name__, "pairs": pairs}
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, gym.Env):
            return {KIND: "session", "session": self._session(value, path)}
        if isinstance(value, Distribution):
            return {KIND: "distribution", "items": [self.encode(item, path) for item in value]}
        if isinstance(value, np.random.Generator):
            return {KIND: "generator", **_bits(value.bit_generator)}
        if SEQUENCES.get(type(value).__name__) is type(value):
            items = [self.encode(item, f"{path}[{i}]") for i, item in enumerate(value)]
            return {KIND: type(value).__name__, "items": items}
        if not any(map(declared_state, type(value).__mro__[:-1])):
            raise refusal(value, path)
        return {KIND: "object", "class": type(value).__qualname__, "attributes": self.attributes(state_of(value), path)}

    def _array(self, value: np.ndarray, path: str) -> Data:
        if value.dtype == object:
            items = [self.encode(item, f"{path}[{i}]") for i, item in enumerate(value.ravel().tolist())]
            return {KIND: "objects", "shape": list(value.shape), "items": items}
        if value.dtype.kind not in "biufU" or value.dtype.char == "g" or isinstance(value, np.ma.MaskedArray):
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
        self._skipped: dict[int, Data] = {}
        self._filled: set[int] = set()
        #: Kind of a value to the method that decodes it.
        self._decoders: dict[str, Callable[[Data, Any, str], Any]] = {
            **{"constant": _constant, "scalar": _scalar, "same": self._same, "array": _array, "generator": _generator},
            **{"objects": self._objects, "dict": self._dict, "object": self._object, "session": self._environment},
            **dict.fromkeys(("distribution", *SEQUENCES), self._sequence),
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
        if data[KIND] not in self._decoders:
            raise ValueError(f"{path}: unknown kind {data[KIND]!r}")
        value = self._decoders[data[KIND]](data, present, path)
        if "number" in data:
            self._decoded[data["number"]] = value
        return value

    def skip(self, data: Any) -> None:
        """Note the values of an attribute that is not restored, because a later attribute may refer to them."""
        if isinstance(data, dict):
            self._skipped |= {data["number"]: data} if "number" in data and data.get(KIND) != "same" else {}
            data = list(data.values())
        for item in data if isinstance(data, list) else ():
            self.skip(item)

    def _same(self, data: Data, present: Any, path: str) -> Any:
        number = data["number"]
        return self._decoded[number] if number in self._decoded else self.decode(self._skipped[number], None, path)

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
        mapping = copy.copy(present) if type(present).__name__ == data["class"] else {}
        if type(mapping).__name__ != data["class"]:
            raise ValueError(f"{path} is a {data['class']} that the constructor does not make")
        mapping.clear()
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
        names = declared_state(type(present)) or data["attributes"]
        self.fill(present, {name: item for name, item in data["attributes"].items() if name in names}, path)
        return present

    def fill(self, owner: Any, attributes: Data, path: str) -> None:
        """Set encoded attributes of an object; an attribute that its class makes by itself, past the property."""
        for name, item in attributes.items():
            of_class = getattr(type(owner), name, None)
            if callable(of_class):
                raise ValueError(f"{path}.{name} is a method, not an attribute")
            present = vars(owner).get(name)
            value = self.decode(item, present, f"{path}.{name}")
            if isinstance(of_class, property) and name not in vars(owner):
                setattr(owner, name, value)
            else:
                vars(owner)[name] = value


def _constant(data: Data, present: Any, path: str) -> Any:
    """The function, class or space that the constructor made."""
    if _name_of(present) != data["name"]:
        raise ValueError(f"{path} is {data['name']}, but the constructor makes {_name_of(present)}")
    return present


def _scalar(data: Data, present: Any, path: str) -> Any:
    """The number, of NumPy's type."""
    return np.asarray(data["value"])[()]


def _array(data: Data, present: Any, path: str) -> np.ndarray:
    """A new array."""
    values = np.array(data["value"])
    values.flags.writeable = not data.get("fixed", False)
    return values


def _name_of(value: object) -> str:
    """Name of a function or class; of other values the name of their class, and of short ones what they are."""
    if isinstance(value, CONSTANT_VALUES):
        return repr(value)
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def refusal(value: object, path: str) -> CannotSave:
    """Error for a value that is not plain data."""
    kind = type(value).__name__
    article = "an" if kind[0].lower() in "aeiou" else "a"
    return CannotSave(
        f"attribute {path} is {article} {kind}, which cannot be saved with a run; expected numbers, arrays, lists, "
        f"dictionaries and generators, or state = (...) with the attributes of {path.partition('.')[0]} that change"
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


def _generator(data: Data, present: Any, path: str) -> np.random.Generator:
    """The random generator that plain data describe."""
    if data["state"]["bit_generator"] not in BIT_GENERATORS:
        raise ValueError(f"{path}: unknown generator {data['state']['bit_generator']!r}")
    seeds = data.get("seeds")
    sequence = None
    if seeds:
        key, size, children = tuple(seeds["spawn_key"]), seeds["pool_size"], seeds["children"]
        sequence = np.random.SeedSequence(seeds["entropy"], spawn_key=key, pool_size=size, n_children_spawned=children)
    bits = vars(np.random)[data["state"]["bit_generator"]](sequence)
    bits.state = data["state"]
    return np.random.Generator(bits)
