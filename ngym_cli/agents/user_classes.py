"""Users' own networks and algorithms in the registries: options from the signature of a class."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import Field
from pydantic.fields import FieldInfo

from neurogym.messages.plain_data import is_plain
from ngym_cli.config import extensions
from ngym_cli.config.docstrings import sections
from ngym_cli.config.options import TYPES, TypeName, field, field_of, is_optional, type_name
from ngym_cli.config.values import Values
from ngym_cli.errors import UserError

#: Types of options by the type in Python.
TYPE_OF: dict[object, TypeName] = {float: "float", int: "int", bool: "bool", str: "str", list: "list", dict: "dict"}


def signature_options(
    cls: type, parameters: Iterable[inspect.Parameter], declared: Mapping[str, FieldInfo] | None = None
) -> dict[str, FieldInfo]:
    """Return the options defined by the constructor arguments of a class.

    Arguments whose default a configuration cannot hold, such as functions, are left out.

    Args:
        cls: the class, whose docstring describes the arguments.
        parameters: of its constructor.
        declared: options with ranges and descriptions, which are used where the types agree.
    """
    hints, meanings = _hints(cls), _meanings(cls)
    rows = {}
    for parameter in parameters:
        name, required = parameter.name, parameter.default is parameter.empty
        default = None if required else parameter.default
        default = default.item() if isinstance(default, np.generic) else default  # as of g=np.sqrt(2)
        default = list(default) if isinstance(default, tuple) else default
        if default is not None and (type(default) not in TYPE_OF or not is_plain(default)):
            continue
        kind, may_be_none, words = _type(hints.get(name, parameter.annotation), default)
        row: Values = {"type": kind, "optional": may_be_none, "words": words, "description": meanings.get(name, "")}
        usual = (declared or {}).get(name)
        if usual is None or type_name(usual) != kind:
            rows[name] = field(row if required else {**row, "default": default})
            continue
        is_none_allowed = may_be_none or is_optional(usual)
        annotation: Any = Annotated[TYPES[kind] | None if is_none_allowed else TYPES[kind], *usual.metadata]
        text = row["description"] or usual.description
        rows[name] = field_of(annotation, Field(... if required else default, description=text))
    return rows


def _type(annotation: object, default: object) -> tuple[TypeName, bool, tuple[str, ...]]:
    """Return the type of an option, whether None is allowed, and the allowed words."""
    options = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    none = NoneType in options or (default is None and annotation is inspect.Parameter.empty)
    words = next((get_args(option) for option in options if get_origin(option) is Literal), ())
    if words and all(isinstance(word, str) for word in words):
        return "str", none, words
    plain = {TYPE_OF[base] for option in options if (base := _base(option)) in TYPE_OF}
    if plain == {"float", "int"}:
        return "float", none, ()
    if len(plain) == 1:
        return plain.pop(), none, ()
    if not plain and default is not None:
        return TYPE_OF[type(default)], none, ()
    return "any", none or default is None, ()


def _base(annotation: object) -> object:
    origin = get_origin(annotation) or annotation
    name = getattr(origin, "__name__", "")
    return list if name in ("Sequence", "tuple", "Iterable") else dict if name == "Mapping" else origin


def _hints(cls: type) -> dict[str, object]:
    hints: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        if "__init__" in vars(base):
            try:
                hints |= get_type_hints(base.__init__)  # type: ignore[misc]
            except Exception:  # annotations that only a type checker can read: defaults say the type
                continue
    return hints


def _meanings(cls: type) -> dict[str, str]:
    """Return the description of each argument in the docstrings of a class and of the base classes."""
    meanings: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        for text in (base.__doc__, getattr(vars(base).get("__init__"), "__doc__", None)):
            meanings |= sections(text)[1].get("Args", {})
    return {name: meaning.rstrip(".") for name, meaning in meanings.items()}


def summary_of(cls: type, default: str) -> str:
    """Return the first line of a class docstring without the full stop."""
    return (vars(cls).get("__doc__") or "").strip().partition("\n")[0].strip().rstrip(".") or default


def constructor_parameters(
    cls: type, end: tuple[type, ...] = (), without: tuple[str, ...] = ()
) -> tuple[list[inspect.Parameter], bool]:
    """Return the named parameters of a constructor, base classes that receive ``**kwargs`` included.

    Args:
        cls: the class.
        end: bases at which to stop.
        without: names that are left out.

    Returns:
        The parameters, and whether any further keyword reaches the bases in ``end``.
    """
    by_name: dict[str, inspect.Parameter] = {}
    for base in cls.__mro__:
        if base in end:
            return list(by_name.values()), True
        if "__init__" not in vars(base):
            continue
        parameters = list(inspect.signature(base.__init__).parameters.values())[1:]  # type: ignore[misc]
        for parameter in parameters:
            named = parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
            if named and parameter.name not in without:
                by_name.setdefault(parameter.name, parameter)
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            break
    return list(by_name.values()), False


def network_class(name: str) -> type | None:
    """Return the class of a user's own cell, or None if there is none of this name.

    Raises:
        UserError: if the file, module or class does not exist, or is not a cell.
    """
    cls = extensions.find_extension("network", name)
    if cls is None:
        return None
    if not (isinstance(cls, type) and any(base.__module__.startswith("torch.nn") for base in cls.__mro__)):
        base = extensions.EXTENSION_KINDS["network"].base
        raise UserError(f"network {name}: expected {base}, a subclass of ngym_cli.Cell")
    if any(base.__name__ == "RNNBase" and base.__module__.startswith("torch.nn") for base in cls.__mro__):
        cell = f"torch.nn.{cls.__name__}Cell"
        raise UserError(f"network {name}: {cls.__name__} runs over whole sequences; expected {cell}")
    if not callable(getattr(cls, "step", None)) and not _takes_state(cls):
        raise UserError(
            f"network {name}: {cls.__name__} has no step(self, x, state), see ngym_cli.Cell, and no "
            "forward(self, input, state) that returns output and state"
        )
    return cls


def _takes_state(cls: type) -> bool:
    """Return whether a module maps an input and a state."""
    try:
        parameters = list(inspect.signature(cls.forward).parameters.values())  # type: ignore[attr-defined]
    except (AttributeError, TypeError, ValueError):
        return False
    return len([each for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]) == 3


def network_options(cls: type, name: str) -> dict[str, FieldInfo]:
    """Return the options of a user's own cell: all constructor arguments after inputs and units.

    Raises:
        UserError: if the constructor does not take inputs and units.
    """
    parameters, _ = constructor_parameters(cls)
    if len(parameters) < 2:
        raise UserError(f"network {name}: expected __init__(self, inputs, units, ...) that makes the parameters")
    return signature_options(cls, parameters[2:])


#: Arguments of every algorithm that a run sets.
SET_BY_RUNS = (
    *("policy", "env", "policy_kwargs", "seed", "device", "verbose", "tensorboard_log", "_init_setup_model"),
    *("stats_window_size", "monitor_wrapper", "supported_action_spaces", "support_multi_env", "action_noise"),
    *("use_sde", "sde_sample_freq", "use_sde_at_warmup", "rollout_buffer_class", "rollout_buffer_kwargs"),
    *("replay_buffer_class", "replay_buffer_kwargs"),
)
#: Arguments that a constructor must accept, because every run gives them.
REQUIRED_ARGUMENTS = ("policy", "env", "policy_kwargs", "seed", "device", "verbose")


def algorithm_class(name: str) -> type | None:
    """Return the class of a user's own algorithm, or None if there is none of this name.

    Raises:
        UserError: if the file, module or class does not exist, or is not an algorithm that can be used.
    """
    cls = extensions.find_extension("algorithm", name)
    if cls is None:
        return None
    from stable_baselines3.common.base_class import BaseAlgorithm

    if not (isinstance(cls, type) and issubclass(cls, BaseAlgorithm)):
        expected = extensions.EXTENSION_KINDS["algorithm"].base
        raise UserError(f"algorithm {name}: expected {expected} or a subclass of one")
    parameters, _ = constructor_parameters(cls)
    missing = [needed for needed in REQUIRED_ARGUMENTS if needed not in {parameter.name for parameter in parameters}]
    if missing:
        hint = "end the signature with **kwargs and pass kwargs to super().__init__"
        raise UserError(f"algorithm {name}: its constructor does not take {', '.join(missing)}; {hint}")
    return cls


def algorithm_options(
    cls: type, base: type | None, usual: Mapping[str, FieldInfo], declared: Mapping[str, FieldInfo]
) -> dict[str, FieldInfo]:
    """Return the hyperparameters of a user's own algorithm.

    Args:
        cls: the class.
        base: the built-in algorithm that it extends, if any.
        usual: hyperparameters of that algorithm, which are kept unless the class names them itself.
        declared: hyperparameters by name, with ranges and descriptions.
    """
    parameters, open_ = constructor_parameters(cls, () if base is None else (base,), SET_BY_RUNS)
    return {**(usual if open_ else {}), **signature_options(cls, parameters, declared)}
