"""From plain data back into an environment."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import importlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.state.checks import check_block, check_place
from neurogym.state.encoding import BLOCK, NOT_STATE, RENAMED, attributes_of, class_name
from neurogym.state.values import (
    CONTAINERS,
    FACTORIES,
    GENERATORS,
    KIND,
    MAPPINGS,
    SIMPLE,
    Data,
    inner_spaces,
    load_bytes,
    unpacked,
)
from neurogym.trials import Trials


class Decoder:
    """Puts a captured state into an environment; what the constructor made is filled, not replaced.

    Args:
        env: The environment, made in the same way as the one that was captured.
    """

    def __init__(self, env: gym.Env):
        self._modules = {cls.__module__ for layer in _layers(env) for cls in type(layer).__mro__}
        self._made: dict[int, object] = {}
        self._filled: set[int] = set()  # what of the environment has been filled, each thing once

    def decode(self, data: object, present: object, path: str) -> Any:
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
        if kind in SIMPLE:
            return SIMPLE[kind].load(*data["parts"])
        if kind in GENERATORS:
            value = GENERATORS[kind].load(data)
        elif kind in CONTAINERS:
            value = self._container(data, present, path)
        elif kind in _KINDS:
            value = _KINDS[kind](self, data, present, path)
        else:
            raise ValueError(f"{path}: unknown kind {kind!r}")
        if "number" in data:
            self._made[data["number"]] = value
        return value

    def _enum(self, data: Data, present: object, path: str) -> enum.Enum:
        return self._class(data["class"], present, path)[data["name"]]

    def _method(self, data: Data, present: object, path: str) -> object:
        if str(data["name"]).startswith("__"):
            raise ValueError(f"{path}: method {data['name']!r}")
        return getattr(self.decode(data["of"], getattr(present, "__self__", None), path), data["name"])

    def _partial(self, data: Data, present: object, path: str) -> object:
        if not isinstance(present, functools.partial):
            raise ValueError(f"{path}: there is no function to be called with the saved arguments")
        args = self.decode(data["args"], list(present.args), path)
        return functools.partial(present.func, *args, **self.decode(data["keywords"], present.keywords, path))

    # -- arrays and containers ----------------------------------------------------------------------------------------

    def _scalar(self, data: Data, present: object, path: str) -> object:
        return self.decode(data["value"], None, path)[()]

    def _array(self, data: Data, present: object, path: str) -> np.ndarray:
        array = np.array(data["value"])
        array.flags.writeable = not data["fixed"]
        return array

    def _bytes_of_array(self, data: Data, present: object, path: str) -> np.ndarray:
        return load_bytes(data)

    def _objects(self, data: Data, present: object, path: str) -> np.ndarray:
        """Array of objects; its items may be packed, and may have been saved once each."""
        items = unpacked(data["packed"]) if "packed" in data else data["values"]
        places = data["places"].tolist() if "places" in data else range(len(items))
        flat = np.empty(len(places), dtype=object)
        self._made[data["number"]] = array = flat.reshape(data["shape"])  # may hold itself
        if "packed" not in data:
            items = [self.decode(part, None, f"{path}[{i}]") for i, part in enumerate(items)]
        elif data["packed"]["of"] == "array":
            self._made.update(enumerate(items, data["packed"]["number"]))
        if len(places) and not 0 <= min(places) <= max(places) < len(items):
            raise ValueError(f"{path}: an entry that is not there")
        for i, place in enumerate(places):
            flat[i] = items[place]
        return array

    def _container(self, data: Data, present: object, path: str) -> object:
        kind = data[KIND]
        base: Any = CONTAINERS[kind]
        cls: Any = self._class(data["class"], present, path) if "class" in data else base
        if not issubclass(cls, base):
            raise ValueError(f"{path}: {cls} is no {kind}")
        parts = self._pairs(data, present, path) if kind in MAPPINGS else self._parts(data, present, path)
        made: Any
        if kind == "mappingproxy":
            made = types.MappingProxyType(dict(parts))
        elif kind in ("tuple", "frozenset"):
            made = base.__new__(cls, parts)
        else:
            made = self._made[data["number"]] = cls.__new__(cls)  # may hold itself
            if kind == "deque":
                collections.deque.__init__(made, maxlen=data["longest"])
            elif kind == "defaultdict":
                made.default_factory = FACTORIES.get(str(data["factory"]), getattr(present, "default_factory", None))
            for part in parts:
                if kind in MAPPINGS:
                    base.__setitem__(made, *part)
                else:
                    (base.add if kind == "set" else base.append)(made, part)
        for name, part in data.get("attributes", {}).items():
            made.__dict__[name] = self.decode(part, getattr(present, name, None), f"{path}.{name}")
        return made

    def _parts(self, data: Data, present: Any, path: str) -> Iterator[Any]:
        """Items of a sequence."""
        ordered = isinstance(present, (list, tuple, collections.deque)) and len(present) <= len(data["values"])
        for i, part in enumerate(data["values"]):
            here = present[i] if ordered and i < len(present) else None
            yield self.decode(part, here, f"{path}[{i}]")

    def _pairs(self, data: Data, present: object, path: str) -> Iterator[tuple[Any, Any]]:
        """Keys and values of a mapping."""
        for key, part in data["pairs"]:
            name = self.decode(key, None, path)
            here = present.get(name) if isinstance(present, (dict, types.MappingProxyType)) else None
            yield name, self.decode(part, here, f"{path}[{name!r}]")

    # -- blocks, spaces and objects -----------------------------------------------------------------------------------

    def _block(self, data: Data, present: object, path: str) -> Trials:
        env = self.decode(data["env"], present.env if isinstance(present, Trials) else None, path)
        block = Trials(env, 0)
        for name in BLOCK:
            setattr(block, name, self.decode(data[name], None, f"{path}.{name}"))
        check_block(block, present.fields if isinstance(present, Trials) else {}, path)
        total = block.total
        block.place(block.length, block.offset)
        block.total = total  # rows that were cut off are there
        return block

    def _space(self, data: Data, present: object, path: str) -> gym.Space:
        if not isinstance(present, gym.Space):
            raise ValueError(f"{path}: there is no space here")
        for part, space in zip(data["parts"], inner_spaces(present), strict=True):
            self.decode(part, space, path)
        vars(present)["_np_random"] = self.decode(data["generator"], None, path)
        return present

    def _object(self, data: Data, present: object, path: str) -> object:
        value = self._counterpart(data["class"], present, path)
        if "number" in data:
            self._made[data["number"]] = value
        attributes = data.get("attributes", {})
        is_env = isinstance(value, gym.Env)
        for saved, part in attributes.items():
            name = RENAMED.get(saved, saved) if is_env else saved
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

    def _counterpart(self, name: str, present: object, path: str) -> Any:
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

    def _class(self, name: str, present: object, path: str) -> Any:
        """Find a class by name: the class of the present object, or a class in the modules of the environment."""
        if _is_called(type(present), name):
            return type(present)
        module, _, qualified = str(name).partition(":")
        ours = module.startswith("neurogym.")
        found: object = _moved(module) if ours and module not in sys.modules else sys.modules.get(module)
        for part in qualified.split("."):
            found = vars(found).get(part) if found is not None else None
        if not isinstance(found, type) or (found.__module__ != module and not (ours and _is_of_toolkit(found))):
            raise ValueError(f"{path}: there is no class {name}")
        data_only = issubclass(found, enum.Enum | tuple) or dataclasses.is_dataclass(found)
        if not data_only and not ours and module not in self._modules | {"collections", "types"}:
            raise ValueError(f"{path}: a {qualified} that the constructor did not make")
        return found


#: Kinds of values that refer to others, or to what the environment has.
_KINDS: dict[str, Callable[[Decoder, Data, object, str], object]] = {
    "scalar": Decoder._scalar,
    "array": Decoder._array,
    "bytes_of_array": Decoder._bytes_of_array,
    "objects": Decoder._objects,
    "enum": Decoder._enum,
    "method": Decoder._method,
    "partial": Decoder._partial,
    "block": Decoder._block,
    "space": Decoder._space,
    "object": Decoder._object,
}


def _layers(env: object) -> Iterator[object]:
    yield env
    while isinstance(env, gym.Wrapper):
        env = env.env
        yield env


def _moved(module: str) -> types.ModuleType | None:
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


def _is_ours(value: object) -> bool:
    """Whether a value is an object of the toolkit that no bare value can replace."""
    return _is_of_toolkit(type(value)) and not isinstance(value, int | float | str)


def _is_frozen(cls: type) -> bool:
    return dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]


def _set(value: object, name: str, part: object) -> None:
    """Set an attribute directly, bypassing properties and frozen classes."""
    own = getattr(value, "__dict__", None)
    if own is not None and (name in own or name not in attributes_of(value)):
        own[name] = part
    else:
        object.__setattr__(value, name, part)
