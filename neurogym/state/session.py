"""Sessions of whole stacks: attributes of each layer, the current trial, and the trials made ahead."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.parameters.changes import TABLES, names_of
from neurogym.rules import OUTCOMES
from neurogym.state.plain import PARAMETER_TYPES, CannotSave, Data, Decoder, Encoder, declared_state, state_of
from neurogym.trials import Trials
from neurogym.trials.cursor import MOST_BLOCK_ROWS, has_trials
from neurogym.trials.events import EVENT_TABLES, OUTCOME

#: Attributes that Gymnasium keeps; those that every wrapper or task has, or that are saved in another form.
_KEPT = frozenset(gym.Env.__annotations__) | frozenset(vars(gym.wrappers.OrderEnforcing(gym.Env())))
_KEPT |= {"hooks", "task", "_shown_by", "rule", "session", "_arguments", "_is_made"}
#: Reports of trials, on which no trial that is made ahead can depend.
_REPORTS = frozenset(("last", "trial", "_spans_of_trial"))
#: Most trials that are made again for a saved session, so that no file can ask for all memory.
MOST_AGAIN = 1 << 17


def state_of_layer(layer: Any) -> Data:
    """Attributes of a wrapper or task that are its state; those of a task include its parameters and its session's."""
    state = state_of(layer, _KEPT)
    if isinstance(layer, gym.Wrapper) or not has_trials(layer):
        return state
    own, session = vars(layer), vars(layer.session)
    if declared_state(type(layer)) is not None:
        parameters = [name for name in (*TABLES, *names_of(layer)) if name in own]
        state |= {name: own[name] for name in parameters if isinstance(own[name], PARAMETER_TYPES)}
    return state | {name: session[name] for name in layer.session.STATE if name in session}


def _layers(env: gym.Env) -> list[gym.Env]:
    """Wrappers and task, outermost first."""
    return [env, *_layers(env.env)] if isinstance(env, gym.Wrapper) else [env]


def unlisted(env: gym.Env) -> dict[tuple[int, str], Any]:
    """Plain attributes of the layers of a stack that are not their state, by layer and name: ``Class.attribute``."""
    return {
        (i, f"{type(layer).__name__}.{name}"): value
        for i, layer in enumerate(_layers(env))
        for name, value in vars(layer).items()
        if name not in state_of_layer(layer) and name not in _KEPT and isinstance(value, PARAMETER_TYPES)
    }


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
        left_out = () if self._trial else _REPORTS
        attributes = {name: value for name, value in state_of_layer(layer).items() if name not in left_out}
        return {**data, "attributes": self._encoder.attributes(attributes, cls.__name__)}

    def _trials(self, task: Any, path: str) -> Data:
        """Trials made ahead, as what they are made from, and the position in the current trial."""
        ahead, cursor = task.session.ahead, task.session.cursor
        data: Data = {"sizes": (ahead.size, ahead.most)}
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
        name, listed = type(layer).__name__, declared_state(type(layer))
        if "generator" in data:
            layer.np_random = self._decoder.decode(data["generator"], None, f"{name}.np_random")
        session = layer.session if not isinstance(layer, gym.Wrapper) and has_trials(layer) else None
        names = data["attributes"].keys() - _KEPT if listed is None else {*listed, *state_of_layer(layer)}
        for key, item in data["attributes"].items():  # in the order in which they were saved: they refer to each other
            if session and key in session.STATE:
                self._decoder.fill(session, {key: item}, name)
            elif key in names:
                self._decoder.fill(layer, {key: item}, name)
            else:  # earlier versions saved every attribute
                self._decoder.skip(item)

    def _trials(self, task: Any, data: Data, path: str) -> None:
        ahead, cursor = task.session.ahead, task.session.cursor
        ahead.size, ahead.most = (_whole_number(size, 0, MOST_BLOCK_ROWS, "size of a block") for size in data["sizes"])
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
            check_trial(task, arrays, f"{path}.trial")
            alone = Trials.from_arrays(task, arrays)
            if trial >= 0:
                at = block.span(_whole_number(trial, 0, block.n - 1, "current trial"))
                for name, values in alone.fields.items():
                    block.fields[name][at] = values[: alone.length.item(0)]
            else:
                block, trial = alone, 0
        if block is None:
            raise ValueError(f"{path}: the current trial is missing")
        trial = _whole_number(trial, 0, block.n - 1, "current trial")
        length = _whole_number(length, 1, block.length.item(trial), "length of the trial")
        cursor.enter(block, trial, _whole_number(step, 0, length - 1, "step"), length)
        cursor.skipped = _whole_number(skipped, -(1 << 40), 1 << 40, "skipped rows")


def _whole_number(value: object, low: int, high: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise ValueError(f"{name}: expected a whole number between {low} and {high}, got {value!r}")
    return int(value)


def check_trial(task: Any, trial: Data, path: str) -> None:
    """Refuse a trial that was read if its parts do not fit each other, before memory is allocated for its steps.

    Compiled code uses their numbers as addresses.

    Args:
        task: The task that it is of.
        trial: Its parts, by the names in `neurogym.trials.block.CONTENTS`.
        path: Where it was read.

    Raises:
        ValueError: If a shape, a type or a number is not possible.
    """
    total, length, fields = trial["total"], trial["length"], trial["fields"]
    for name, steps in {"length": length, "go": trial["go"]}.items():
        if steps is not None and (steps.shape != (1,) or steps.dtype.kind not in "iu"):
            raise ValueError(f"{path}.{name}: expected a whole number for one trial, got {steps!r}")
    if not 1 <= length.item(0) <= total:
        raise ValueError(f"{path}: a trial of {length.item(0)} steps in {total} rows")
    actions = (task.session.accepted_actions,)
    shapes = {"ob": tuple(task.observation_space.shape), **dict.fromkeys(EVENT_TABLES, actions)}
    for name, values in fields.items():
        expected = (total, *shapes.get(name, values.shape[1:]))
        if (name != "ob" and values.shape != expected) or values.shape[:1] != (total,):
            raise ValueError(f"{path}.{name}: expected shape {expected}, got {values.shape}")
    event = fields.get("event")
    if event is not None and (event.dtype != np.uint8 or np.any((event & OUTCOME) >= len(OUTCOMES))):
        raise ValueError(f"{path}.event: not what an action can mean")
    if trial["starts"].keys() != trial["ends"].keys() or trial["go"] is None:
        raise ValueError(f"{path}: periods or the go cue are missing")
