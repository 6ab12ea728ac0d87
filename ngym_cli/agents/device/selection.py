"""Choice of the device of a run: the one requested, or the faster one where this was measured.

Measurements of `ngym bench` on a machine with a GPU are kept per card, in this package (`crossovers.json`) and for the
user. Whether a GPU pays depends on the cell, the units and the environments: a card is chosen where it was the faster
one for at most as many units and environments, the CPU where it was the faster one for at least as many.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from neurogym.messages.plain_data import plain
from ngym_cli.errors import UserError, option

if TYPE_CHECKING:
    import torch

CROSSOVERS_FILE = Path(__file__).with_name("crossovers.json")
CPU, CUDA = "cpu", "cuda"


@dataclass(frozen=True)
class Crossover:
    """Measured speeds of a configuration on a card and on the CPU of the same machine.

    Attributes:
        card: name of the card, as torch has it.
        network: name of the network.
        units: units per layer.
        n_envs: environments, or sequences of a batch where trials are supervised.
        cpu: steps per second of the CPU, compiled and with all threads.
        gpu: steps per second of the card.
    """

    card: str
    network: str
    units: int
    n_envs: int
    cpu: float
    gpu: float


class DeviceChoice(NamedTuple):
    """Device of a run.

    Attributes:
        device: name of the device in torch.
        reason: explanation of an automatic choice; empty where there was no choice.
    """

    device: str
    reason: str


def choose(requested: str, network: str, units: int, n_envs: int) -> DeviceChoice:
    """Return the device for a requested name; ``auto`` follows measurements, and is the CPU where there are none.

    Args:
        requested: ``auto``, ``cpu``, ``cuda`` or another device of torch.
        network: name of the network.
        units: units per layer.
        n_envs: environments.

    Raises:
        UserError: if the device does not exist on this machine.
    """
    import torch

    if requested != "auto":
        try:
            torch.zeros(1, device=requested)
        except (RuntimeError, AssertionError) as error:
            raise UserError(f"device '{requested}' is not available: {str(error).splitlines()[0]}") from None
        return DeviceChoice(requested, "")
    if not torch.cuda.is_available():
        return DeviceChoice(CPU, "")
    return choose_measured(torch.cuda.get_device_name(), network, units, n_envs, read_crossovers())


def choose_measured(card: str, network: str, units: int, n_envs: int, crossovers: Iterable[Crossover]) -> DeviceChoice:
    """Return the faster device of a machine with a card, by its measurements.

    Args:
        card: name of the card.
        network: name of the network.
        units: units per layer.
        n_envs: environments.
        crossovers: all measurements.
    """
    rows = [row for row in crossovers if row.card == card and row.network == network]
    size = f"{network} of {units:,} units, {n_envs:,} environments"
    for row in rows:
        if row.gpu > row.cpu and row.units <= units and row.n_envs <= n_envs:
            return DeviceChoice(CUDA, f"device cuda ({card}): {size}; {_compared(row)}")
    for row in rows:
        if row.cpu >= row.gpu and row.units >= units and row.n_envs >= n_envs:
            return DeviceChoice(CPU, f"device cpu: {size}; {_compared(row)}")
    hint = f"ngym bench with the same flags measures it, {option('--device cuda')} uses the GPU"
    return DeviceChoice(CPU, f"device cpu: nothing was measured on {card} for {size}; {hint}")


def _compared(row: Crossover) -> str:
    ratio = row.gpu / row.cpu
    return f"the GPU was {ratio:.2g} times as fast with {row.units:,} units and {row.n_envs:,} environments"


def read_crossovers() -> list[Crossover]:
    """Return all measurements, those of this user first; a file that cannot be read counts as empty."""
    return [row for path in (user_file(), CROSSOVERS_FILE) for row in _read(path)]


def _read(path: Path) -> list[Crossover]:
    try:
        rows: Any = json.loads(path.read_text(encoding="utf-8"))["crossovers"]
        return [Crossover(**row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def user_file() -> Path:
    """Return the path of this user's measurements."""
    root = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(root) / "ngym" / CROSSOVERS_FILE.name


def store(measured: Crossover) -> Path:
    """Keep a measurement for this user, in place of an earlier one of the same configuration; return the file."""
    path = user_file()
    rows = [row for row in _read(path) if _configuration(row) != _configuration(measured)]
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"crossovers": plain([*rows, measured])}, indent=1)
    temporary = path.with_suffix(".new")
    temporary.write_text(text + "\n", encoding="utf-8")
    temporary.replace(path)
    return path


def _configuration(row: Crossover) -> tuple[str, str, int, int]:
    return row.card, row.network, row.units, row.n_envs


def describe(device: torch.device) -> str:
    """Name of a device with the precision of its products."""
    import torch

    if device.type != CUDA:
        return str(device)
    recurrent = "TF32" if torch.backends.cudnn.allow_tf32 else "float32"
    products = "TF32" if torch.backends.cuda.matmul.allow_tf32 else "float32"
    name = torch.cuda.get_device_name(device)
    return f"{device} ({name}; {recurrent} in recurrent kernels and convolutions, {products} in other products)"
