"""Sessions of whole stacks: attributes of each layer, the current trial, and the trials made ahead."""

from __future__ import annotations

import functools
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.rules import OUTCOMES
from neurogym.state.plain import CannotSave, Data, Decoder, Encoder, has_state
from neurogym.trials import Trials
from neurogym.trials.cursor import MOST_BLOCK_ROWS, has_trials
from neurogym.trials.events import EVENT_TABLES, OUTCOME

#: Attributes that Gymnasium keeps; the generator is saved as ``np_random``.
_OF_GYMNASIUM = frozenset(gym.Env.__annotations__) | frozenset(vars(gym.wrappers.OrderEnforcing(gym.Env())))
#: Attributes of tasks that the constructor makes, or that are saved in another form.
_OF_TASKS = frozenset(("rule", "session", "_arguments", "_is_made"))
#: Reports of trials, on which no trial that is made ahead can depend.
_REPORTS = frozenset(("last", "trial", "_spans_of_trial"))
#: Attributes of tasks in states of earlier versions to the present ones.
OLDER_NAMES = {"_last_gt": "last_gt", "session": "_session_argument"}
#: Most trials that are made again for a saved session, so that no file can ask for all memory.
MOST_AGAIN = 1 << 17


@functools.lru_cache(512)
def _left_out(kind: Any) -> frozenset[str]:
    """Attributes of a task or wrapper that are no part of a state: Gymnasium's, and what its classes call derived."""
    derived = (name for base in kind.__mro__ for name in vars(base).get("derived", ()))
    return _OF_GYMNASIUM.union(_OF_TASKS if hasattr(kind, "rule") else (), derived)


def _attributes_of(layer: Any) -> dict[str, Any]:
    """Attributes of a wrapper or task, with those of the task's session that are saved."""
    if isinstance(layer, gym.Wrapper) or not has_trials(layer):
        return vars(layer)
    session = layer.session
    return {**vars(layer), **{name: vars(session)[name] for name in session.STATE if name in vars(session)}}


def _layers(env: gym.Env) -> list[gym.Env]:
    """Wrappers and task, outermost first."""
    layers = [env]
    while isinstance(env, gym.Wrapper):
        env = env.env
        layers.append(env)
    return layers


class SessionEncoder:
    """Encodes the session of a stack.

    Args:
        trial: Whether the position in the current trial is part of the state.
    """

    def __init__(self, trial: bool = True):
        self._trial = trial
        self._encoder = Encoder(self._inner)
        self._met: set[int] = set()

    def _inner(self, env: gym.Env, path: str) -> Data:
        """Session of an environment that is an attribute of another one."""
        outer, self._trial = self._trial, True
        try:
            return self.session(env, path)
        finally:
            self._trial = outer

    def session(self, env: gym.Env, path: str) -> Data:
        """Encode the stack; each layer is encoded where it is met first."""
        new = [layer for layer in _layers(env) if id(layer) not in self._met]
        self._met.update(map(id, new))
        task = env.unwrapped
        begins = has_trials(task) and any(layer is task for layer in new)
        if begins:
            task.session.finish_pending_step()  # type: ignore[attr-defined]  # later the rewards may be others
        session: Data = {"layers": [self._layer(layer) for layer in new]}
        return {**session, "trials": self._trials(task, path)} if begins else session

    def _layer(self, layer: Any) -> Data:
        cls = type(layer)
        data: Data = {"class": cls.__name__}
        if not isinstance(layer, gym.Wrapper):
            data["generator"] = self._encoder.encode(layer.np_random, f"{cls.__name__}.np_random")
        left_out = _left_out(cls) if self._trial else _left_out(cls) | _REPORTS  # type: ignore[arg-type]  # classes are hashable
        attributes = {name: value for name, value in _attributes_of(layer).items() if name not in left_out}
        if not has_state(cls):
            return {**data, "attributes": self._encoder.attributes(attributes, cls.__name__)}
        saved: Data = {}
        for name, value in attributes.items():  # what cannot be saved is what the class saves itself
            try:
                saved.update(self._encoder.attributes({name: value}, cls.__name__))
            except CannotSave:
                continue
        defined = self._encoder.encode(layer.state_dict(), f"{cls.__name__}.state_dict()")
        return {**data, "attributes": saved, "own": defined}

    def _trials(self, task: Any, path: str) -> Data:
        """Trials made ahead, as what they are made from, and the position in the current trial."""
        ahead, cursor = task.session.ahead, task.session.cursor
        data: Data = {"sizes": ahead.sizes}
        if ahead.block is not None:
            if ahead.before is None:
                raise CannotSave(f"{path} has trials made ahead that cannot be made again")
            data |= {"before": ahead.before, "n": ahead.block.n, "next": ahead.next, "is_stale": ahead.is_stale}
        if not self._trial or cursor.block is None:
            return data
        is_ahead = cursor.block is ahead.block and "before" in data
        data["position"] = [cursor.trial if is_ahead else -1, cursor.step, cursor.end - cursor.first, cursor.skipped]
        if not is_ahead or not task.traits.batched:  # a task that programs its steps may have changed the rows
            data["trial"] = self._encoder.encode(cursor.alone().arrays(), f"{path}.trial")
        return data


class SessionDecoder:
    """Puts a saved session into a stack that was made in the same way.

    Args:
        made: a stack whose trials made ahead are those of the session already.
    """

    def __init__(self, made: gym.Env | None = None) -> None:
        self._decoder, self._made = Decoder(self.session), made
        self._met: set[int] = set()

    def session(self, env: gym.Env, data: Data, path: str) -> None:
        """Restore the stack: trials made ahead first, from the state before them, then the state itself.

        Raises:
            ValueError: If the data are of another stack.
        """
        new = [layer for layer in _layers(env) if id(layer) not in self._met]
        self._met.update(map(id, new))
        names, saved = [type(layer).__name__ for layer in new], [str(layer["class"]) for layer in data["layers"]]
        if names != saved:
            raise ValueError(f"the saved state is of another stack ({', '.join(saved)}), expected {', '.join(names)}")
        task: Any = env.unwrapped
        trials = data.get("trials", {})
        if "before" in trials and env is not self._made:
            n = _whole_number(trials["n"], 1, MOST_AGAIN, "number of trials in the block")
            SessionDecoder().session(task.session.top, trials["before"], path)
            task.session.make_ahead(n)
        for layer, saved_layer in zip(new, data["layers"], strict=True):
            self._layer(layer, saved_layer)
        if "trials" in data:
            self._trials(task, trials, path)

    def _layer(self, layer: Any, data: Data) -> None:
        name, attributes = type(layer).__name__, data["attributes"]
        if not isinstance(layer, gym.Wrapper):
            attributes = {OLDER_NAMES.get(key, key): item for key, item in attributes.items()}
        for attribute in attributes.keys() & _left_out(type(layer)):  # type: ignore[arg-type]
            raise ValueError(f"{name}.{attribute} is not part of a state")
        if "generator" in data:
            layer.np_random = self._decoder.decode(data["generator"], None, f"{name}.np_random")
        session = layer.session if not isinstance(layer, gym.Wrapper) and has_trials(layer) else None
        for key, item in attributes.items():  # in the order in which they were saved, since they refer to each other
            self._decoder.fill(session if session and key in session.STATE else layer, {key: item}, name)
        if "own" in data:
            layer.load_state_dict(self._decoder.decode(data["own"], None, name))

    def _trials(self, task: Any, data: Data, path: str) -> None:
        ahead, cursor = task.session.ahead, task.session.cursor
        ahead.sizes = tuple(_whole_number(size, 0, MOST_BLOCK_ROWS, "size of a block") for size in data["sizes"])
        if "before" in data:
            ahead.next = _whole_number(data["next"], 0, ahead.block.n, "next trial")
            ahead.is_stale = bool(data["is_stale"])
        else:
            ahead.block = None
        if "position" not in data:
            cursor.leave()
            return
        trial, step, length, skipped = data["position"]
        block = ahead.block
        if "trial" in data:
            arrays = self._decoder.decode(data["trial"], None, f"{path}.trial")
            alone = Trials.from_arrays(task, arrays)
            check_trial(alone, f"{path}.trial")
            if trial >= 0:
                at = block.span(_whole_number(trial, 0, block.n - 1, "current trial"))
                for name, values in alone.fields.items():
                    block.fields[name][at] = values[: alone.length.item(0)]
            else:
                block, trial = alone, 0
        if block is None:
            raise ValueError(f"{path}: the current trial is missing")
        cursor.enter(block, _whole_number(trial, 0, block.n - 1, "current trial"))
        length = _whole_number(length, 1, block.length.item(trial), "length of the trial")
        cursor.row = cursor.first + _whole_number(step, 0, length - 1, "step")
        cursor.end, cursor.skipped = cursor.first + length, _whole_number(skipped, -(1 << 40), 1 << 40, "skipped rows")
        task.session.limit_short_way()


def _whole_number(value: object, low: int, high: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise ValueError(f"{name}: expected a whole number between {low} and {high}, got {value!r}")
    return int(value)


def check_trial(trial: Trials, path: str) -> None:
    """Refuse a trial that was read if arrays do not fit each other; compiled code uses their numbers as addresses.

    Raises:
        ValueError: If a shape, a type or a number is not possible.
    """
    total, task = trial.total, trial.env
    if trial.n != 1:
        raise ValueError(f"{path}: expected one trial, got {trial.n}")
    for name, steps in {"length": trial.length, "go": trial.go}.items():
        if steps is not None and (steps.shape != (1,) or steps.dtype.kind not in "iu"):
            raise ValueError(f"{path}.{name}: expected a whole number for one trial, got {steps!r}")
    if not 1 <= trial.length.item(0) <= total:
        raise ValueError(f"{path}: a trial of {trial.length.item(0)} steps in {total} rows")
    actions = (task.session.accepted_actions,)
    shapes = {"ob": tuple(task.observation_space.shape), **dict.fromkeys(EVENT_TABLES, actions)}
    for name, values in trial.fields.items():
        expected = (total, *shapes.get(name, values.shape[1:]))
        if (name != "ob" and values.shape != expected) or values.shape[:1] != (total,):
            raise ValueError(f"{path}.{name}: expected shape {expected}, got {values.shape}")
    event = trial.fields.get("event")
    if event is not None and (event.dtype != np.uint8 or np.any((event & OUTCOME) >= len(OUTCOMES))):
        raise ValueError(f"{path}.event: not what an action can mean")
    if trial.starts.keys() != trial.ends.keys() or trial.go is None:
        raise ValueError(f"{path}: periods or the go cue are missing")
