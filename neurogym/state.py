"""The whole state of an environment as plain data, so that a session can be continued exactly.

:func:`capture` walks the attributes of an environment, its wrappers, schedules and generators and returns numbers,
strings, lists, dictionaries and arrays only; :func:`restore` puts them back into an environment that was made in the
same way. What is not data (functions, spaces) is left as it is. Nothing is pickled, so nothing that is read can run.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.trials import Trials

#: Attributes that the constructor or another attribute provides.
_SKIPPED = frozenset(
    {"env", "task", "spec", "action_space", "observation_space", "metadata", "_top", "_wrappers", "_building"}
    | {"_tables", "_ob", "_gt", "_cached_spec", "_saved_kwargs", "tasks", "rule"}
)
_BLOCK = ("n", "info", "starts", "ends", "length", "offset", "total", "fields", "go", "go_period", "has_gt", "bonus")
_KEY = "__kind__"


def capture(env: gym.Env) -> dict[str, Any]:
    """State of an environment and its wrappers as a tree of plain data and arrays."""
    seen: dict[int, int] = {}
    return {_KEY: "stack", "layers": [_attributes(layer, seen) for layer in _stack(env)]}


def restore(env: gym.Env, state: dict[str, Any]) -> None:
    """Put a captured state into an environment made in the same way.

    Raises:
        ValueError: If the state belongs to another stack of wrappers.
    """
    stack = _stack(env)
    if not isinstance(state, dict) or len(state.get("layers", ())) != len(stack):
        raise ValueError(f"the saved state does not fit {env}: it has another number of wrappers")
    made: dict[int, Any] = {}
    for layer, attributes in zip(stack, state["layers"], strict=True):
        _set_attributes(layer, attributes, made)
    task = env.unwrapped
    if getattr(task, "_block", None) is not None:
        row = task._row, task._end, task.trial  # type: ignore[attr-defined]
        task._take(task._block, task._at)  # type: ignore[attr-defined]
        task._row, task._end, task.trial = row  # type: ignore[attr-defined]


def _stack(env: gym.Env) -> list[Any]:
    stack: list[Any] = [env]
    while isinstance(stack[-1], gym.Wrapper):
        stack.append(stack[-1].env)
    return stack


def _attributes(obj: Any, seen: dict[int, int]) -> dict[str, Any]:
    captured = {}
    for name, value in vars(obj).items():
        if name not in _SKIPPED:
            data = _encode(value, seen)
            if data is not NotImplemented:
                captured[name] = data
    return captured


def _set_attributes(obj: Any, attributes: dict[str, Any], made: dict[int, Any]) -> None:
    for name, data in attributes.items():
        setattr(obj, name, _decode(data, getattr(obj, name, None), made, obj))


def _encode(value: Any, seen: dict[int, int]) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value
    if isinstance(value, np.generic):
        return {_KEY: "scalar", "value": np.asarray(value)}
    if isinstance(value, np.random.Generator):
        return {_KEY: "generator", "state": value.bit_generator.state}
    if isinstance(value, np.ndarray):
        return {_KEY: "objects", "shape": list(value.shape), "values": [_encode(v, seen) for v in value.ravel()]}
    if isinstance(value, (list, tuple)):
        parts = [_encode(part, seen) for part in value]
        return (
            NotImplemented if any(part is NotImplemented for part in parts) else {_KEY: _kind(value), "values": parts}
        )
    if isinstance(value, range):
        return {_KEY: "range", "values": [value.start, value.stop, value.step]}
    if isinstance(value, dict):
        pairs = [[_encode(k, seen), _encode(v, seen)] for k, v in value.items()]
        return {_KEY: "dict", "pairs": [pair for pair in pairs if not any(part is NotImplemented for part in pair)]}
    if isinstance(value, Trials):
        if id(value) in seen:
            return {_KEY: "same", "block": seen[id(value)]}
        seen[id(value)] = len(seen)
        block = {name: _encode(getattr(value, name), seen) for name in _BLOCK}
        return {_KEY: "block", "number": seen[id(value)], **block}
    if isinstance(value, gym.Env):
        return capture(value)
    is_data = hasattr(value, "__dict__") and not isinstance(value, (gym.Space, type))
    if is_data and (not callable(value) or hasattr(value, "seed")):
        return {_KEY: "object", "attributes": _attributes(value, seen)}
    return NotImplemented


def _kind(value: list | tuple) -> str:
    return "tuple" if isinstance(value, tuple) else "list"


def _decode(data: Any, present: Any, made: dict[int, Any], owner: Any) -> Any:
    if not isinstance(data, dict):
        return data.copy() if isinstance(data, np.ndarray) else data
    kind = data[_KEY]
    if kind == "scalar":
        return data["value"][()]
    if kind == "generator":
        generator = np.random.Generator(np.random.PCG64())
        generator.bit_generator.state = data["state"]
        return generator
    if kind in ("list", "tuple"):
        old = present if isinstance(present, (list, tuple)) and len(present) == len(data["values"]) else None
        values = [_decode(v, old[i] if old else None, made, owner) for i, v in enumerate(data["values"])]
        return tuple(values) if kind == "tuple" else values
    if kind == "range":
        return range(*data["values"])
    if kind == "objects":
        array = np.empty(len(data["values"]), dtype=object)
        for i, value in enumerate(data["values"]):
            array[i] = _decode(value, None, made, owner)
        return array.reshape(data["shape"])
    if kind == "dict":
        kept = dict(present) if isinstance(present, dict) else {}
        decoded = [(_decode(k, None, made, owner), v) for k, v in data["pairs"]]
        kept = {k: v for k, v in kept.items() if callable(v)}
        return kept | {
            k: _decode(v, present.get(k) if isinstance(present, dict) else None, made, owner) for k, v in decoded
        }
    if kind == "block":
        block = made[data["number"]] = Trials(owner, 0)
        for name in _BLOCK:
            setattr(block, name, _decode(data[name], None, made, owner))
        block.take_rows()
        return block
    if kind == "same":
        return made[data["block"]]
    if kind == "stack":
        restore(present, data)
        return present
    _set_attributes(present, data["attributes"], made)
    return present
