"""From plain data back into an environment."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import importlib
import sys
import types
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.state.checks import check_block, check_place
from neurogym.state.encoding import BLOCK, NOT_STATE, attributes_of, class_name
from neurogym.state.values import (
    CONTAINERS,
    FACTORIES,
    KIND,
    MADE_FROM,
    MAPPINGS,
    SEQUENCES,
    from_bits,
    generator_from,
    inner_spaces,
    unpacked,
)
from neurogym.trials import Trials

_RANDOM = ("generator", "bits", "seeds", "random_state", "random")


class Decoder:
    """Puts a captured state into an environment; what the constructor made is filled, not replaced.

    Args:
        env: The environment, made in the same way as the one that was captured.
    """

    def __init__(self, env: gym.Env):
        self._modules = {cls.__module__ for layer in _layers(env) for cls in type(layer).__mro__}
        self._made: dict[int, Any] = {}
        self._filled: set[int] = set()  # what of the environment has been filled, each thing once

    def decode(self, data: Any, present: Any, path: str) -> Any:
        """Value encoded by ``data``.

        Args:
            data: What :class:`neurogym.state.encoding.Encoder` returned.
            present: What the environment has in its place.
            path: Its name, for messages.

        Raises:
            ValueError: If it does not fit the environment.
        """
        if not isinstance(data, dict):
            if data is None or isinstance(data, bool | int | float | str):
                return data
            raise ValueError(f"{path}: a bare {type(data).__name__}")
        kind = data[KIND]
        if kind == "constant":
            return present
        if kind == "same":
            return self._made[data["number"]]
        value = self._value(kind, data, present, path)
        if "number" in data:
            self._made[data["number"]] = value
        return value

    def _value(self, kind: str, data: dict[str, Any], present: Any, path: str) -> Any:
        if kind in ("array", "objects", "scalar", "bytes_of_array"):
            return self._array(kind, data, path)
        if kind in MADE_FROM:
            return MADE_FROM[kind](*data["parts"])
        if kind in _RANDOM:
            return generator_from(data)
        if kind in SEQUENCES or kind in MAPPINGS:
            return self._container(kind, data, present, path)
        if kind == "enum":
            return self._class(data["class"], present, path)[data["name"]]
        if kind == "method":
            if str(data["name"]).startswith("__"):
                raise ValueError(f"{path}: method {data['name']!r}")
            return getattr(self.decode(data["of"], getattr(present, "__self__", None), path), data["name"])
        if kind == "partial":
            if not isinstance(present, functools.partial):
                raise ValueError(f"{path}: there is no function to be called with the saved arguments")
            args = self.decode(data["args"], list(present.args), path)
            return functools.partial(present.func, *args, **self.decode(data["keywords"], present.keywords, path))
        if kind == "block":
            return self._block(data, present, path)
        if kind == "space":
            return self._space(data, present, path)
        if kind == "object":
            return self._object(data, present, path)
        raise ValueError(f"{path}: unknown kind {kind!r}")

    # -- arrays and containers ----------------------------------------------------------------------------------------

    def _array(self, kind: str, data: dict[str, Any], path: str) -> Any:
        if kind == "scalar":
            return self.decode(data["value"], None, path)[()]
        if kind == "bytes_of_array":
            return from_bits(data)
        if kind == "array":
            array = np.array(data["value"])
            array.flags.writeable = not data["fixed"]
            return array
        return self._objects(data, path)

    def _objects(self, data: dict[str, Any], path: str) -> np.ndarray:
        """Decode an object array, encoded by :meth:`neurogym.state.encoding.Encoder._items`."""
        places = data["places"].tolist() if "places" in data else None
        together = unpacked(data["packed"]) if "packed" in data else None
        there = len(data["values"] if together is None else together)
        flat = np.empty(there if places is None else len(places), dtype=object)
        array = flat.reshape(data["shape"])
        self._made[data["number"]] = array  # may hold itself
        if together is None:
            items = [self.decode(part, None, f"{path}[{i}]") for i, part in enumerate(data["values"])]
        else:
            items = together
            if data["packed"]["of"] == "array":
                self._made.update(enumerate(items, data["packed"]["number"]))
        if places and not 0 <= min(places) <= max(places) < there:
            raise ValueError(f"{path}: an entry that is not there")
        for i, place in enumerate(range(there) if places is None else places):
            flat[i] = items[place]
        return array

    def _container(self, kind: str, data: dict[str, Any], present: Any, path: str) -> Any:
        cls = self._class(data["class"], present, path) if "class" in data else CONTAINERS[kind]
        if not isinstance(cls, type) or not issubclass(cls, CONTAINERS[kind]):
            raise ValueError(f"{path}: {cls} is no {kind}")
        made: Any
        if kind in MAPPINGS:
            made = self._mapping(kind, cls, data, present, path)
        elif kind in ("tuple", "frozenset"):
            base: Any = SEQUENCES[kind]
            made = base.__new__(cls, self._parts(data, present, path))
        else:
            made = cls.__new__(cls)
            if kind == "deque":
                collections.deque.__init__(made, maxlen=data["longest"])
            self._made[data["number"]] = made  # may hold itself
            add = made.add if kind == "set" else made.append
            for part in self._parts(data, present, path):
                add(part)
        for name, part in data.get("attributes", {}).items():
            made.__dict__[name] = self.decode(part, getattr(present, name, None), f"{path}.{name}")
        return made

    def _parts(self, data: dict[str, Any], present: Any, path: str) -> Iterator[Any]:
        ordered = isinstance(present, (list, tuple, collections.deque)) and len(present) <= len(data["values"])
        for i, part in enumerate(data["values"]):
            here = present[i] if ordered and i < len(present) else None
            yield self.decode(part, here, f"{path}[{i}]")

    def _mapping(self, kind: str, cls: Any, data: dict[str, Any], present: Any, path: str) -> Any:
        made: Any
        if kind == "mappingproxy":
            made = {}
        else:
            made = cls.__new__(cls)
            self._made[data["number"]] = made
        if kind == "defaultdict":
            before = present.default_factory if isinstance(present, collections.defaultdict) else None
            factory = FACTORIES.get(str(data["factory"]), before)
            collections.defaultdict.__init__(made, factory)
        elif kind == "OrderedDict":
            collections.OrderedDict.__init__(made)
        base: Any = dict if kind == "mappingproxy" else MAPPINGS[kind]
        for key, part in data["pairs"]:
            name = self.decode(key, None, path)
            here = present.get(name) if isinstance(present, (dict, types.MappingProxyType)) else None
            base.__setitem__(made, name, self.decode(part, here, f"{path}[{name!r}]"))
        return types.MappingProxyType(made) if kind == "mappingproxy" else made

    # -- blocks, spaces and objects -----------------------------------------------------------------------------------

    def _block(self, data: dict[str, Any], present: Any, path: str) -> Trials:
        env = self.decode(data["env"], present.env if isinstance(present, Trials) else None, path)
        block = Trials(env, 0)
        for name in BLOCK:
            setattr(block, name, self.decode(data[name], None, f"{path}.{name}"))
        check_block(block, present.fields if isinstance(present, Trials) else {}, path)
        total = block.total
        block.place(block.length, block.offset)
        block.total = total  # rows that were cut off are there
        return block

    def _space(self, data: dict[str, Any], present: Any, path: str) -> gym.Space:
        if not isinstance(present, gym.Space):
            raise ValueError(f"{path}: there is no space here")
        for part, space in zip(data["parts"], inner_spaces(present), strict=True):
            self.decode(part, space, path)
        vars(present)["_np_random"] = self.decode(data["generator"], None, path)
        return present

    def _object(self, data: dict[str, Any], present: Any, path: str) -> Any:
        value = self._counterpart(data["class"], present, path)
        if "number" in data:
            self._made[data["number"]] = value
        attributes = data.get("attributes", {})
        is_env = isinstance(value, gym.Env)
        for name, part in attributes.items():
            if is_env and name in NOT_STATE or callable(getattr(type(value), name, None)):
                raise ValueError(f"{path}.{name} is not part of a state")
            where = f"{type(value).__name__}.{name}" if is_env else f"{path}.{name}"
            there = getattr(value, name, None)
            found = self.decode(part, there, where)
            if isinstance(found, bool | int | float | str) and _is_ours(there):
                raise ValueError(f"{where} is a {type(found).__name__} in place of a {type(there).__name__}")
            _set(value, name, found)
        if "own" in data:
            value.load_state_dict(self.decode(data["own"], None, path))
        if is_env:
            check_place(value, path)
        return value

    def _counterpart(self, name: str, present: Any, path: str) -> Any:
        """Return the object to fill: the environment's own object if suitable, else a new object."""
        fits = _is_called(type(present), name) and id(present) not in self._filled
        if fits and not _is_frozen(type(present)):
            self._filled.add(id(present))
            return present
        if isinstance(present, gym.Env):
            raise ValueError(f"{path}: the saved state is of another stack ({name.rpartition(':')[2]})")
        cls = self._class(name, present, path)
        if issubclass(cls, gym.Env | gym.Space) or hasattr(cls, "__del__"):
            raise ValueError(f"{path}: there is no {cls.__name__} here to be filled")
        return cls() if cls is types.SimpleNamespace else object.__new__(cls)

    def _class(self, name: str, present: Any, path: str) -> Any:
        """Find a class by name: the class of the present object, or a class in the modules of the environment."""
        if _is_called(type(present), name):
            return type(present)
        module, _, qualified = str(name).partition(":")
        ours = module.startswith("neurogym.")
        found: Any = _moved(module) if ours and module not in sys.modules else sys.modules.get(module)
        for part in qualified.split("."):
            found = vars(found).get(part) if found is not None else None
        if not isinstance(found, type) or (found.__module__ != module and not (ours and _is_of_toolkit(found))):
            raise ValueError(f"{path}: there is no class {name}")
        data_only = issubclass(found, enum.Enum | tuple) or dataclasses.is_dataclass(found)
        if not data_only and not ours and module not in self._modules | {"collections", "types"}:
            raise ValueError(f"{path}: a {qualified} that the constructor did not make")
        return found


def _layers(env: Any) -> Iterator[Any]:
    yield env
    while isinstance(env, gym.Wrapper):
        env = env.env
        yield env


def _moved(module: str) -> Any:
    """The present module of a former path of the toolkit; None if there is none."""
    try:
        return sys.modules[importlib.import_module(module).present]
    except (AttributeError, ImportError):
        return None


def _is_called(cls: type, name: str) -> bool:
    """Whether a saved name is that of a class; classes of the toolkit may have moved to another module since."""
    moved = name.startswith("neurogym.") and _is_of_toolkit(cls) and name.partition(":")[2] == cls.__qualname__
    return moved or class_name(cls) == name


def _is_of_toolkit(cls: type) -> bool:
    """Whether the toolkit defines a class, in any module, since classes may have moved after a state was saved."""
    return cls.__module__.startswith("neurogym.")


def _is_ours(value: Any) -> bool:
    """Whether a value is an object of the toolkit that no bare value can replace."""
    return _is_of_toolkit(type(value)) and not isinstance(value, int | float | str)


def _is_frozen(cls: type) -> bool:
    return dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]


def _set(value: Any, name: str, part: Any) -> None:
    """Set an attribute directly, bypassing properties and frozen classes."""
    own = getattr(value, "__dict__", None)
    if own is not None and (name in own or name not in attributes_of(value)):
        own[name] = part
    else:
        object.__setattr__(value, name, part)
