"""Checks of blocks of trials read from files: compiled code uses the numbers in these blocks as addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Any

import numpy as np

from neurogym import rules
from neurogym.trials import Trials
from neurogym.trials.events import OUTCOME, TABLES
from neurogym.trials.single import SingleTrial

#: Most trials and rows that an environment has ready.
MOST_READY = 50_000_000


def check_block(block: Trials, known: Mapping[str, np.ndarray], path: str) -> None:
    """Refuse a block with arrays inconsistent with each other or with the task.

    Args:
        block: What was read.
        known: Fields of a block of the same task that was made here, if there is one.
        path: Its name, for messages.

    Raises:
        ValueError: If a shape, a type or a number is not possible.
    """
    n, total = block.n, block.total
    if type(n) is not int or type(total) is not int or not 0 <= n <= MOST_READY or not 0 <= total <= MOST_READY:
        raise ValueError(f"{path}: a block of {n} trials and {total} rows")
    limits = {f"starts[{name}]": start for name, start in block.starts.items()}
    limits |= {f"ends[{name}]": end for name, end in block.ends.items()}
    limits |= {"length": block.length, "offset": block.offset}
    if block.go is not None:
        limits["go"] = block.go
    for name, values in limits.items():
        _require(values, f"{path}.{name}", (n,), np.int64, f"{n} integers")
    if block.starts.keys() != block.ends.keys():
        raise ValueError(f"{path}: periods that start and do not end")
    if n and (block.length.min() < 1 or block.offset.min() < 0 or np.max(block.offset + block.length) > total):
        raise ValueError(f"{path}: trials that lie outside of the {total} rows")
    if np.shape(block.bonus) not in ((), (n,)):
        raise ValueError(f"{path}.bonus: expected a number or {n}, got {_shape(block.bonus)}")
    for name, values in block.info.items():
        _require(values, f"{path}.info[{name}]", (n, ...), None, f"{n} entries")
    _check_fields(block, known, path)


def _check_fields(block: Trials, known: Mapping[str, np.ndarray], path: str) -> None:
    missing = known.keys() - block.fields.keys()
    if missing:
        raise ValueError(f"{path}: {', '.join(sorted(missing))} of the trials is missing")
    actions = block.env.accepted_actions
    expected: dict[str, tuple[tuple[int, ...], np.dtype | None]] = {
        "ob": (tuple(block.env.observation_space.shape), None)
    }
    expected |= {name: ((actions,), None) for name in TABLES if actions}
    expected |= {name: (values.shape[1:], values.dtype) for name, values in known.items()}
    for name, values in block.fields.items():
        shape, dtype = expected.get(name, (None, None))
        rows: tuple[int | EllipsisType, ...] = (block.total, ...) if shape is None else (block.total, *shape)
        _require(values, f"{path}.fields[{name}]", rows, dtype, f"{block.total} rows of {shape or ''} {dtype or ''}")
    events = block.fields.get("event")
    if events is not None and (events.dtype != np.uint8 or np.any((events & OUTCOME) >= len(rules.OUTCOMES))):
        raise ValueError(f"{path}.fields[event]: not what an action can mean")


def check_place(env: Any, path: str) -> None:
    """Refuse a position outside a block.

    Raises:
        ValueError: If the current trial or row is not one of the block's.
    """
    cursor = env.cursor if isinstance(env, SingleTrial) else None
    if cursor is None or not isinstance(cursor.block, Trials):
        return
    block, k, first, row, end = cursor.block, cursor.trial, cursor.first, cursor.row, cursor.end
    if any(type(number) is not int for number in (k, first, row, end)) or not 0 <= k < block.n:
        raise ValueError(f"{path}: trial {k!r} of {block.n}")
    if first != block.offset[k] or not first <= row <= end <= first + block.length[k]:
        raise ValueError(f"{path}: row {row} of a trial from {first} to {end}")
    ahead = env.ahead.block
    if isinstance(ahead, Trials) and not 0 <= env.ahead.next <= ahead.n:
        raise ValueError(f"{path}: trial {env.ahead.next!r} of {ahead.n}")


def check_ready(block: object, known: Mapping[str, np.ndarray]) -> None:
    """Refuse trials from which an environment of a batch cannot continue.

    Args:
        block: Its trials from the current one on.
        known: Fields that there were before.

    Raises:
        ValueError: If a shape, a type or a number is not possible.
    """
    if not isinstance(block, Trials) or block.n < 1:
        raise ValueError("an environment of the batch has no trial")
    if block.go is None:
        raise ValueError("trials of the batch do not say from when reaction times count")
    check_block(block, known, "the batch")


def check_batch(blocks: Sequence[Trials], steps: np.ndarray, sums: Sequence[np.ndarray]) -> None:
    """Refuse a batch whose places are not possible.

    Args:
        blocks: Trials of each environment from the current one on.
        steps: Step of each environment in the first trial of its block.
        sums: What is added up over the trial, an array (environments,) each: performance, reward, aborts.

    Raises:
        ValueError: If a shape, a type or a number is not possible.
    """
    n = len(blocks)
    for values, kind in zip((steps, *sums), (np.integer, np.floating, np.floating, np.integer), strict=True):
        _require(values, "the batch", (n,), kind, f"{n} numbers")
        if not np.isfinite(values).all():
            raise ValueError("the batch: a number is not finite")
    lengths = np.array([block.length[0] for block in blocks])
    if np.any(steps < 0) or np.any(steps >= lengths):
        raise ValueError("the batch: an environment is outside of its trial")


def _require(values: Any, name: str, shape: tuple[Any, ...], dtype: Any, expected: str) -> None:
    """Refuse what is not an array of a shape (... at the end: any further axes) and type (None: any)."""
    fits = isinstance(values, np.ndarray) and (dtype is None or _is_of(values.dtype, dtype))
    if not fits or (values.shape[: len(shape) - 1] != shape[:-1] if shape[-1] is ... else values.shape != shape):
        raise ValueError(f"{name}: expected {expected}, got {_shape(values)}")


def _is_of(dtype: np.dtype, kind: object) -> bool:
    return np.issubdtype(dtype, kind) if isinstance(kind, type) else dtype == kind


def _shape(values: Any) -> str:
    return f"{type(values).__name__} of shape {np.shape(values)} and type {np.asarray(values).dtype}"
