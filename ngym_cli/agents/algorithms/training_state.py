"""State of training as plain tensors and JSON: for exact resumption, without pickle.

Take the state between a rollout and the next: in a callback's `on_rollout_start`, or after `learn` has returned.
Nested plain data are split into tensors (for safetensors) and the rest (for JSON). Training states can have dozens of
small arrays for each of a thousand environments; small arrays are joined by type.
"""

from __future__ import annotations

import copy
import math
import random
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.vec_env import VecTransposeImage, is_vecenv_wrapped
from torch import Tensor

from neurogym.messages.plain_data import plain
from ngym_cli.agents.algorithms import sb3
from ngym_cli.agents.networks.policy import RecurrentPolicy

_TENSOR, _WORDS, _OBJECTS, _FLOAT = "__tensor__", "__words__", "__objects__", "__float__"
_AS_IT_IS = frozenset({type(None), str, int, bool})  # the most common case

#: Largest array that is joined with others (bytes).
SMALL = 1 << 15

#: Largest depth of a tree; deeper trees were not written by this module.
MAX_DEPTH = 100


def flatten_tree(tree: object, name: str, tensors: dict[str, Tensor]) -> object:
    """Put the arrays of a tree into `tensors`, under names that begin with `name`; return the rest with references.

    Tensors share the memory of the arrays.

    Example:
        >>> tensors = {}
        >>> flatten_tree({"a": np.ones(2), "b": [1, "x"]}, "env", tensors)
        {'a': {'__tensor__': 'env/a'}, 'b': [1, 'x']}
        >>> restore_tree({"a": {"__tensor__": "env/a"}}, tensors)
        {'a': array([1., 1.])}
    """
    if type(tree) in _AS_IT_IS:
        return tree
    if isinstance(tree, np.ndarray):
        if tree.dtype.kind == "U":
            return {_WORDS: tree.ravel().tolist(), "shape": list(tree.shape), "dtype": tree.dtype.str}
        if tree.dtype == object:
            return {_OBJECTS: flatten_tree(list(tree.ravel()), name, tensors), "shape": list(tree.shape)}
        tensors[name] = torch.from_numpy(np.require(tree, requirements=["C", "W"]))  # a copy only where it must be
        return {_TENSOR: name}
    if isinstance(tree, np.generic):
        return flatten_tree(tree.item(), name, tensors)
    if isinstance(tree, float) and not math.isfinite(tree):
        return {_FLOAT: repr(tree)}
    if isinstance(tree, dict):
        return {
            str(key): value if type(value) in _AS_IT_IS else flatten_tree(value, f"{name}/{key}", tensors)
            for key, value in tree.items()
        }
    if isinstance(tree, list | tuple):
        return [
            value if type(value) in _AS_IT_IS else flatten_tree(value, f"{name}/{i}", tensors)
            for i, value in enumerate(tree)
        ]
    return tree


def restore_tree(rest: object, tensors: dict[str, Tensor], depth: int = 0) -> Any:
    """The tree that :func:`flatten_tree` took apart (tuples have become lists).

    Raises:
        ValueError: if it is nested deeper than this package writes, or a tensor is missing.
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"nested more than {MAX_DEPTH} deep")
    if isinstance(rest, list):
        return [restore_tree(value, tensors, depth + 1) for value in rest]
    if not isinstance(rest, dict):
        return rest
    if _TENSOR in rest:
        if rest[_TENSOR] not in tensors:
            raise ValueError(f"tensor {rest[_TENSOR]} is missing")
        return tensors[rest[_TENSOR]].numpy().copy()
    if _WORDS in rest:
        return np.array(rest[_WORDS], dtype=str).astype(rest["dtype"]).reshape(rest["shape"])
    if _OBJECTS in rest:
        column = np.empty(len(rest[_OBJECTS]), object)
        for i, value in enumerate(rest[_OBJECTS]):
            column[i] = restore_tree(value, tensors, depth + 1)
        return column.reshape(rest["shape"])
    if _FLOAT in rest:
        return float(rest[_FLOAT])
    return {key: restore_tree(value, tensors, depth + 1) for key, value in rest.items()}


def join(tensors: dict[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, list[Any]]]:
    """Join small arrays into a single array per data type.

    Returns:
        The arrays, and for each small array its location: the name of the joint array, the offset and the shape.
    """
    large: dict[str, Tensor] = {}
    pieces: dict[str, list[np.ndarray]] = {}
    ends: dict[str, int] = {}
    places: dict[str, list[Any]] = {}
    for name, value in tensors.items():
        array = value.numpy()
        if array.nbytes > SMALL:
            large[name] = value
            continue
        joint = f"joined/{array.dtype.name}"
        begin = ends.get(joint, 0)
        ends[joint] = begin + array.size
        pieces.setdefault(joint, []).append(array.ravel())
        places[name] = [joint, begin, list(array.shape)]
    return {**large, **{name: torch.from_numpy(np.concatenate(arrays)) for name, arrays in pieces.items()}}, places


def split(tensors: dict[str, Tensor], places: dict[str, list[Any]]) -> dict[str, Tensor]:
    """The arrays that :func:`join` was given.

    Raises:
        ValueError: if a part lies outside of what it is said to be part of.
    """
    joint = {name: tensors[name].numpy() for name in {location[0] for location in places.values()}}
    arrays = {name: value for name, value in tensors.items() if name not in joint}
    for name, (of, begin, shape) in places.items():
        size = math.prod(shape)
        if begin < 0 or min(shape, default=0) < 0 or begin + size > joint[of].size:
            raise ValueError(f"{name} lies outside of {of}")
        arrays[name] = torch.from_numpy(joint[of][begin : begin + size].reshape(shape))
    return arrays


Tensors = dict[str, Tensor]
PlainState = dict[str, Any]  #: everything else in a training state, as JSON

REPLAY = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


def training_state(model: BaseAlgorithm) -> tuple[Tensors, PlainState]:
    """Weights, optimiser, recurrent states, last observations, replay, generators and counters of any algorithm.

    Returns:
        Tensors by name (for safetensors) and everything else as JSON.
    """
    tensors = {f"policy/{name}": value.detach().cpu().clone() for name, value in model.policy.state_dict().items()}
    info: PlainState = {**sb3.progress(model), "optimizer": _save_optimizer(model.policy.optimizer, tensors)}
    for name, seen in sb3.last_seen(model).items():
        tensors[f"env/{name}"] = torch.from_numpy(seen)
    if isinstance(model, sb3.Learner):
        for i, state in enumerate(model.carried_states):
            tensors[f"recurrent/{i}"] = torch.from_numpy(state.copy())
        if learner_state := model.own_state():
            info["own"] = flatten_tree(copy.deepcopy(learner_state), "own", tensors)
        if anchors := model.consolidation.state():
            info["consolidation"] = flatten_tree(anchors, "consolidation", tensors)
        if model.recording is not None:
            info["recording"] = flatten_tree(model.recording.state(), "recording", tensors)
    info["replay"] = _save_replay(_replay(model), tensors)
    info["generators"] = _save_generators(model, tensors)
    return tensors, plain(info)


def load_training_state(model: BaseAlgorithm, tensors: Tensors, info: PlainState) -> None:
    """Load a state into a model of the same configuration; continue with `learn(..., reset_num_timesteps=False)`.

    Raises:
        ValueError: if the state is not that of such a model.
    """
    policy = {name.removeprefix("policy/"): value for name, value in tensors.items() if name.startswith("policy/")}
    try:
        model.policy.load_state_dict(policy)
    except RuntimeError as error:
        raise ValueError(f"the saved weights do not fit this model: {str(error).splitlines()[-1].strip()}") from error
    sb3.set_progress(model, info["counters"], info["episodes"])
    _load_optimizer(model.policy.optimizer, info["optimizer"], tensors)
    seen = {name: tensors[f"env/{name}"].numpy().copy() for name in sb3.SEEN if f"env/{name}" in tensors}
    if model.env is not None and is_vecenv_wrapped(model.env, VecTransposeImage):
        seen = {name: _pixel_by_pixel(array) if array.ndim == 4 else array for name, array in seen.items()}
    sb3.set_last_seen(model, seen)
    if isinstance(model, sb3.Learner):
        model.carried_states = [tensors[f"recurrent/{i}"].numpy() for i in range(len(model.carried_states))]
        model.set_own_state(restore_tree(info.get("own", {}), tensors))
        model.consolidation.set_state(restore_tree(info.get("consolidation", {}), tensors))
        if model.recording is not None:
            model.recording.set_state(restore_tree(info["recording"], tensors))
    _load_replay(_replay(model), info["replay"], tensors)
    _load_generators(model, info["generators"], tensors)


def _pixel_by_pixel(images: np.ndarray) -> np.ndarray:
    """Images (image, channel, row, column) in the memory order of frames; convolutions round by memory order."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(images, 1, -1)), -1, 1)


def _save_optimizer(optimizer: torch.optim.Optimizer, tensors: Tensors) -> PlainState:
    state = optimizer.state_dict()
    names = []
    for index, entries in state["state"].items():
        for name, value in entries.items():
            tensors[f"optimizer/{index}/{name}"] = torch.as_tensor(value).detach().cpu().clone()
            names.append([index, name])
    return {"entries": names, "lr": [group["lr"] for group in state["param_groups"]]}


def _load_optimizer(optimizer: torch.optim.Optimizer, info: PlainState, tensors: Tensors) -> None:
    state = optimizer.state_dict()
    state["state"] = {}
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    for index, name in info["entries"]:
        value = tensors[f"optimizer/{index}/{name}"]
        if not 0 <= int(index) < len(weights) or (value.ndim and value.shape != weights[int(index)].shape):
            raise ValueError(f"the saved state of the optimiser does not fit this model: {name} of weights {index}")
        state["state"].setdefault(int(index), {})[name] = value.clone()
    for group, lr in zip(state["param_groups"], info["lr"], strict=True):
        group["lr"] = lr
    optimizer.load_state_dict(state)


def _replay(model: BaseAlgorithm) -> ReplayBuffer | None:
    return model.replay_buffer if isinstance(model, OffPolicyAlgorithm) else None


def _columns(replay: ReplayBuffer) -> dict[str, np.ndarray]:
    """Arrays with the experience, by name; compact replay buffers have no array of next observations."""
    return {name: vars(replay)[name] for name in REPLAY if name in vars(replay)}


def _save_replay(replay: ReplayBuffer | None, tensors: Tensors) -> PlainState | None:
    if replay is None:
        return None
    filled = replay.buffer_size if replay.full else replay.pos
    for name, column in _columns(replay).items():
        tensors[f"replay/{name}"] = torch.from_numpy(column[:filled].copy())
    return {"pos": replay.pos, "full": replay.full}


def _load_replay(replay: ReplayBuffer | None, info: PlainState | None, tensors: Tensors) -> None:
    if (replay is None) != (info is None):
        raise ValueError("the saved state and the model disagree on having a replay buffer")
    if replay is None or info is None:
        return
    for name, column in _columns(replay).items():
        saved = tensors[f"replay/{name}"].numpy()
        column[: len(saved)] = saved
    replay.pos, replay.full = info["pos"], info["full"]


def _numpy_generators(model: BaseAlgorithm) -> dict[str, np.random.Generator]:
    """Random generators of the model, of the policy and of the action space (random exploration)."""
    generators = {"model": model.rng} if isinstance(model, sb3.Learner) else {}
    if isinstance(model.policy, RecurrentPolicy):
        generators["policy"] = model.policy.rng
    return {**generators, "action_space": model.action_space.np_random}


def _save_generators(model: BaseAlgorithm, tensors: Tensors) -> PlainState:
    tensors["generator/torch"] = torch.get_rng_state()
    if model.device.type == "cuda":
        tensors["generator/cuda"] = torch.cuda.get_rng_state(model.device)
    legacy: Any = np.random.get_state()  # Stable-Baselines3 draws from the global generator
    kind, keys, *rest = legacy
    tensors["generator/numpy"] = torch.from_numpy(keys.astype(np.int64))
    version, words, gauss = random.getstate()
    tensors["generator/python"] = torch.tensor(words, dtype=torch.int64)
    return {
        "numpy": [kind, *rest],
        "python": [version, gauss],
        "own": {name: generator.bit_generator.state for name, generator in _numpy_generators(model).items()},
    }


def _load_generators(model: BaseAlgorithm, info: PlainState, tensors: Tensors) -> None:
    torch.set_rng_state(tensors["generator/torch"])
    if model.device.type == "cuda" and "generator/cuda" in tensors:
        torch.cuda.set_rng_state(tensors["generator/cuda"], model.device)
    kind, *rest = info["numpy"]
    np.random.set_state((kind, tensors["generator/numpy"].numpy().astype(np.uint32), *rest))
    version, gauss = info["python"]
    random.setstate((version, tuple(tensors["generator/python"].tolist()), gauss))
    for name, generator in _numpy_generators(model).items():
        generator.bit_generator.state = info["own"][name]
