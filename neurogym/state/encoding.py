"""From an environment to plain data."""

from __future__ import annotations

import enum
import functools
import types
from collections.abc import Collection
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np

from neurogym.state.values import (
    CONSTANTS,
    GENERATORS,
    KIND,
    MAPPINGS,
    PLAIN,
    SIMPLE,
    SIMPLE_NAMES,
    Data,
    container_of,
    generator_kind,
    inner_spaces,
    is_plain,
    packed,
    save_bytes,
    unique_items,
)
from neurogym.trials import Trials
from neurogym.trials.single import SingleTrial

#: Attributes that an environment's constructor or class provides.
NOT_STATE = frozenset(
    ("block_described", "_now", "_stack", "_shown_by", "spec", "metadata", "rule")
    + ("_saved_kwargs", "_cached_spec", "_arguments", "is_made")
)
#: Attributes of environments by the names under which earlier versions saved them.
RENAMED = {"_looks_up": "_is_batched"}
#: What there is to a block of trials that is ready to be stepped.
BLOCK = ("n", "info", "starts", "ends", "length", "offset", "total", "fields", "go", "go_period", "has_gt", "bonus")

_CONSTANT = object()
_Method = types.MethodType | types.BuiltinFunctionType | types.MethodWrapperType
_COMPILED = (types.MethodDescriptorType, types.WrapperDescriptorType)


@runtime_checkable
class _HasState(Protocol):
    def state_dict(self) -> dict[str, object]: ...

    def load_state_dict(self, state: dict[str, object]) -> None: ...


class CannotSave(TypeError):
    """Error for an attribute that is not plain data and does not define ``state_dict``."""


class Encoder:
    """Encodes one environment; keeps track of encoded objects, so that each object is saved once.

    Args:
        env: The environment, wrapped or not.
    """

    def __init__(self, env: gym.Env):
        self.env = env
        self._numbers: dict[int, tuple[int, object]] = {}  # by id; holds on to the objects, so that an id stays theirs
        self._next = 0

    def encode(self, value: object, path: str) -> Any:
        """Encode a value as plain data; ``path`` is the value's name in error messages."""
        data = self._data(value, path)
        return {KIND: "constant"} if data is _CONSTANT else data

    def _data(self, value: object, path: str) -> object:
        if type(value) in PLAIN:
            return value
        if isinstance(value, np.generic):
            return {KIND: "scalar", "value": self._array(np.asarray(value), path)}
        if isinstance(value, enum.Enum):
            return {KIND: "enum", "class": class_name(type(value)), "name": value.name}
        if type(value) in SIMPLE_NAMES:
            name = SIMPLE_NAMES[type(value)]
            return {KIND: name, "parts": SIMPLE[name].save(value)}
        if isinstance(value, CONSTANTS):
            return _CONSTANT
        if isinstance(value, _Method):
            return self._method(value, path)
        if id(value) in self._numbers:
            return {KIND: "same", "number": self._numbers[id(value)][0]}
        before, number = len(self._numbers), self._next
        self._numbers[id(value)] = number, value
        self._next += 1
        try:
            data = self._numbered(value, path)
        except CannotSave:
            for met in list(self._numbers)[before:]:
                del self._numbers[met]
            raise
        if data is _CONSTANT:
            del self._numbers[id(value)]
        else:
            data["number"] = number
        return data

    def _numbered(self, value: object, path: str) -> Any:
        """Encode an object that may occur more than once."""
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        random = generator_kind(value)
        if random is not None:
            return {KIND: random, **GENERATORS[random].save(value)}
        if isinstance(value, functools.partial):
            parts = {"args": list(value.args), "keywords": value.keywords}
            return {KIND: "partial", **{name: self.encode(part, path) for name, part in parts.items()}}
        kind = container_of(value)
        if kind is not None:
            return self._container(value, kind, path)
        if isinstance(value, Trials):
            return {KIND: "block", **{name: self.encode(getattr(value, name), path) for name in ("env", *BLOCK)}}
        if isinstance(value, gym.Space):
            return self._space(value, path)
        return self._object(value, path)

    def _array(self, value: np.ndarray, path: str) -> object:
        if isinstance(value, np.ma.MaskedArray):
            raise _refusal(value, path)
        if isinstance(value, np.memmap) and not value.flags.writeable:
            return _CONSTANT
        plain = np.asarray(value)
        if plain.dtype == object:
            return {KIND: "objects", "shape": list(plain.shape), **self._items(plain.ravel().tolist(), path)}
        if plain.dtype.kind == "U" or is_plain(plain.dtype):
            return {KIND: "array", "value": plain, "fixed": not plain.flags.writeable}
        if plain.dtype.hasobject:
            raise _refusal(value, path)
        return {KIND: "bytes_of_array", **save_bytes(plain)}

    def _items(self, items: list[object], path: str) -> Data:
        """Encode the items of an object array: each object once, items of the same type packed if possible."""
        distinct, places = unique_items(items)
        found: Data = {} if places is None else {"places": places}
        several = list(distinct.values())
        is_new = not any(id(part) in self._numbers for part in several)
        together = packed(several) if len(several) > 1 and is_new else None
        if together is None:
            return {**found, "values": [self.encode(part, f"{path}[{i}]") for i, part in distinct.items()]}
        if together["of"] == "array":  # may be met again
            together["number"] = self._next
            self._numbers.update({id(part): (self._next + k, part) for k, part in enumerate(several)})
            self._next += len(several)
        return {**found, "packed": together}

    def _method(self, value: _Method, path: str) -> object:
        """A method of something that has state; functions have none."""
        owner = value.__self__
        if owner is None or isinstance(owner, types.ModuleType | type):
            return _CONSTANT
        return {KIND: "method", "of": self.encode(owner, f"{path}.__self__"), "name": value.__name__}

    def _container(self, value: Any, kind: str, path: str) -> Data:
        data: Data = {KIND: kind}
        if kind in MAPPINGS:
            data["pairs"] = [[self.encode(k, path), self.encode(v, f"{path}[{k!r}]")] for k, v in value.items()]
        else:
            data["values"] = [
                part if type(part) in PLAIN else self.encode(part, f"{path}[{i}]") for i, part in enumerate(value)
            ]
        if kind == "deque":
            data["longest"] = value.maxlen
        if kind == "defaultdict":
            data["factory"] = None if value.default_factory is None else value.default_factory.__name__
        if type(value).__module__ not in ("builtins", "collections"):  # a class of one's own
            data["class"] = class_name(type(value))
            data["attributes"] = {name: self.encode(v, f"{path}.{name}") for name, v in attributes_of(value).items()}
        return data

    def _space(self, value: gym.Space, path: str) -> object:
        """Encode a space: constant, except for a random generator of the space."""
        generator = vars(value).get("_np_random")  # the property of this name would make one
        inner = [self.encode(part, path) for part in inner_spaces(value)]
        if generator is None and all(part == {KIND: "constant"} for part in inner):
            return _CONSTANT
        return {KIND: "space", "generator": self.encode(generator, path), "parts": inner}

    def _object(self, value: Any, path: str) -> object:
        if isinstance(value, SingleTrial):
            value.settle()  # type: ignore[attr-defined]  # the tables of a trial that is yet to begin come from rewards that are not saved
        cls, is_env = type(value), isinstance(value, gym.Env)
        has_own = issubclass(cls, _HasState)  # of the class: wrappers pass on what they lack
        data: Data = {KIND: "object", "class": class_name(cls)}
        name = cls.__name__ if is_env else path
        if is_env or not has_own:
            attributes = attributes_of(value)
            if not is_env and not _is_plain_python(cls, value):
                if callable(value) and not attributes:
                    return _CONSTANT
                raise _refusal(value, path)
            data["attributes"] = self._attributes(attributes, name, NOT_STATE if is_env else (), has_own)
        if has_own:
            data["own"] = self.encode(value.state_dict(), f"{name}.state_dict()")
        return data

    def _attributes(self, attributes: Data, path: str, left_out: Collection[str], lenient: bool) -> Data:
        """Encode attributes; ``lenient`` leaves out those that cannot be saved."""

        def place(name: str) -> int:  # environments last, so that the stable path to a shared object comes first
            value = attributes[name]
            return 0 if container_of(value) else 2 if isinstance(value, gym.Env) else 1

        saved = {}
        for name in sorted((name for name in attributes if name not in left_out), key=place):
            try:
                part = self._data(attributes[name], f"{path}.{name}")
            except CannotSave:
                if not lenient:
                    raise
                continue
            if part is not _CONSTANT:
                saved[name] = part
        return saved


def class_name(cls: type) -> str:
    """Module and name of a class."""
    return f"{cls.__module__}:{cls.__qualname__}"


def attributes_of(value: object) -> dict[str, object]:
    """Attributes of an object by name, including attributes in ``__slots__``."""
    found = dict(getattr(value, "__dict__", {}))
    for base in type(value).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                found.setdefault(name, getattr(value, name))
    return found


_PLAIN: dict[type, bool] = {types.SimpleNamespace: True}  # found once for a class


def _is_plain_python(cls: type, value: object) -> bool:
    """Whether attributes are all there is to the objects of a class (not so for files, locks, tensors)."""
    if cls not in _PLAIN:
        own_state = cls.__getstate__ is not object.__getstate__ and isinstance(cls.__getstate__, _COMPILED)
        usual = cls.__reduce__ is object.__reduce__ and cls.__reduce_ex__ is object.__reduce_ex__
        _PLAIN[cls] = usual and not own_state and not isinstance(value, int | float | complex | str | bytes)
        try:
            object.__reduce_ex__(value, 2)  # refuses what holds more than attributes
        except TypeError:
            _PLAIN[cls] = False
    return _PLAIN[cls]


def _refusal(value: object, path: str) -> CannotSave:
    owner = path.partition(".")[0]
    kind = type(value).__name__
    article = "an" if kind[0].lower() in "aeiou" else "a"
    return CannotSave(
        f"attribute {path} is {article} {kind}, which cannot be saved with a run; expected numbers, arrays, containers "
        f"of the standard library, or state_dict() and load_state_dict(state) defined on {owner}"
    )
