"""Settings of a Monitor, from arguments, environment variables or a TOML file; ``config`` has the defaults.

What is given as an argument wins over environment variables (``NGYM_MONITOR__INTERVAL=99``), these over the file, and
the file over the defaults. Unknown names and a missing file are warned of and have no effect.

Belongs here: these settings. May use: `compat`, `messages`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from neurogym.compat.leniency import warn_once
from neurogym.messages.names import unknown

PREFIX = "NGYM_"
PACKAGE = Path(__file__).resolve().parents[1]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", validate_assignment=True)


class Amount(_Section):
    """A number of trials or steps."""

    unit: Literal["trial", "step"] = "trial"
    value: PositiveInt = 100


class AgentConfig(_Section):
    """Duration of training and testing; read by user code only."""

    training: Amount = Field(default_factory=Amount)
    inference: Amount = Field(default_factory=lambda: Amount(unit="step", value=10_000))


class EnvConfig(_Section):
    """Name and time step (ms) of the environment; the step is read by user code only."""

    name: str = ""
    dt: PositiveInt = 10


class PlotConfig(_Section):
    """Figures during training: on or off, extent, title (default: the environment) and format.

    A figure shows ``step`` steps, or else ``value`` steps or trials (``trigger``).
    """

    create: bool = True
    step: PositiveInt = 10
    trigger: Literal["trial", "step"] = "step"
    value: PositiveInt | None = None
    title: str = ""
    ext: str = "png"


class MonitorConfig(_Section):
    """Contents and times of a Monitor's output."""

    name: str = ""
    trigger: Literal["trial", "step"] = "trial"
    interval: PositiveInt = 1000
    verbose: bool = True
    plot: PlotConfig = Field(default_factory=PlotConfig)


class Config(_Section):
    """All settings.

    Args:
        config_file: TOML file to read.
        **fields: ``local_dir``, ``agent``, ``env``, ``monitor``; sections as dictionaries or objects.

    Raises:
        ValueError: If a value does not fit.

    Example:
        >>> Config(monitor={"interval": 10}).monitor.interval
        10
    """

    config_file: Path | None = None
    root_dir: Path = Field(default=PACKAGE.parent, frozen=True)
    pkg_dir: Path = Field(default=PACKAGE, frozen=True)
    config_dir: Path = Field(default=PACKAGE / "config", frozen=True)
    local_dir: Path = Field(default_factory=lambda: Path.cwd() / "runs")
    agent: AgentConfig = Field(default_factory=AgentConfig)
    env: EnvConfig = Field(default_factory=EnvConfig)
    monitor: MonitorConfig = Field(default_factory=MonitorConfig)

    def __init__(self, config_file: str | Path | None = None, **fields: object):
        from_file = _read(Path(config_file)) if config_file is not None else {}
        merged = _accepted(_merged(_merged(from_file, _from_environment()), fields), type(self))
        super().__init__(**{**merged, "config_file": config_file})

    def model_post_init(self, context: object) -> None:
        """Use the environment's name as title of figures by default."""
        if not self.monitor.plot.title:
            self.monitor.plot.title = self.env.name


def _read(path: Path) -> dict[str, object]:
    path = path.expanduser()
    if not path.is_file():
        warn_once(f"no such configuration file: {path}", "defaults are used", FileNotFoundError)
        return {}
    with path.open("rb") as file:
        return _expanded(tomllib.load(file))


def _accepted(settings: Mapping[str, object], section: type[BaseModel], within: str = "") -> dict[str, object]:
    """Keep the existing settings; warn about each unknown setting with the nearest valid name."""
    accepted = {}
    for name, value in settings.items():
        field = section.model_fields.get(name)
        if field is None:
            valid = [f"{within}{field}" for field in section.model_fields]
            warn_once(unknown("setting", f"{within}{name}", valid), "it is not used")
            continue
        inner = field.annotation
        nested = isinstance(value, Mapping) and isinstance(inner, type) and issubclass(inner, BaseModel)
        accepted[name] = _accepted(value, inner, f"{within}{name}.") if nested else value  # type: ignore[arg-type]
    return accepted


def _expanded(value: object) -> Any:
    """The value with ``$NAME`` and ``${NAME}`` replaced by environment variables."""
    if isinstance(value, str):
        return os.path.expandvars(value)
    if isinstance(value, list):
        return [_expanded(item) for item in value]
    return {name: _expanded(item) for name, item in value.items()} if isinstance(value, dict) else value


def _from_environment() -> dict[str, object]:
    """Settings in variables such as ``NGYM_MONITOR__PLOT__EXT``; other variables with the prefix are left alone."""
    settings: dict[str, Any] = {}
    for variable, text in os.environ.items():
        if not variable.upper().startswith(PREFIX):
            continue
        *sections, last = variable[len(PREFIX) :].lower().split("__")
        if (sections or [last])[0] not in ("local_dir", "agent", "env", "monitor"):
            continue
        table = settings
        for section in sections:
            table = table.setdefault(section, {})
        table[last] = _expanded(text)
    return settings


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, object]:
    """Merge nested settings; values of ``above`` take precedence."""
    merged = dict(below)
    for name, value in above.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = _merged(merged[name], value) if both else value
    return merged


def settings_of(
    config: Config | Mapping[str, Any] | str | Path | None, arguments: Mapping[str, object], task: str
) -> Config:
    """Settings of a Monitor: from ``config`` if given, else from arguments; missing names are filled in."""
    if config is None:
        config = {"env": {"name": task}, "monitor": arguments}
    if isinstance(config, Mapping):
        config = Config(**config)
    elif isinstance(config, (str, Path)):
        config = Config(config)
    config.env.name = config.env.name or task
    config.monitor.name = config.monitor.name or "Monitor"
    config.monitor.plot.title = config.monitor.plot.title or config.env.name
    return config


def __getattr__(name: str) -> Any:
    """Make ``config``, the shared default settings, when first used."""
    if name != "config":
        raise AttributeError(f"module 'neurogym.config' has no attribute {name!r}")
    globals()["config"] = Config()
    return globals()["config"]
