"""Configurations from files; code and files that a configuration file names are used only with the user's consent."""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Required

from typing_extensions import TypedDict

from ngym_cli.config.extensions import file_of, is_reference
from ngym_cli.config.model import RunConfig, from_dict
from ngym_cli.config.values import merge, write_value
from ngym_cli.errors import UserError, option
from ngym_cli.files import reading
from ngym_cli.files.reading import digest, read_json


class Code(TypedDict, total=False):
    """Signed digests of a user's own code in a run."""

    files: Required[dict[str, str]]
    signature: str | None


#: Configuration and record in a run folder.
CONFIG, MANIFEST = "config.toml", "manifest.json"

#: Wrappers that read or write files of their own.
FILE_WRAPPERS = ("monitor", "Monitor")

#: Beginning of the reference to such a wrapper; its arguments follow.
_WRAPPER = "wrapper "


def references(config: RunConfig) -> list[str]:
    """Return references of a configuration to code outside this package, and wrappers that touch files."""
    names = [text for k in range(len(config.stages)) for text in references(config.in_stage(k))]
    named = [config.task, config.network, config.alg, *config.callbacks, *(entry.name for entry in config.wrappers)]
    names += [name for name in named if name is not None and is_reference(name)]
    names += [text for text in _texts(config.task_args) if _is_reference(text)]
    for entry in config.wrappers:
        names += [text for text in _texts(entry.args) if _is_reference(text)]
        if entry.name in FILE_WRAPPERS:
            words = (f"{name}={write_value(value)}" for name, value in sorted(entry.args.items()))
            names.append(" ".join([f"{_WRAPPER}{entry.name}", *words]))
    return names


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _is_reference(text: str) -> bool:
    """Return whether a text may name a module, a file or a class, unlike ``uniform:200:600`` and ``block:100``."""
    from neurogym.sampling.distributions import KINDS

    name, _, rest = text.partition(":")
    if name in KINDS or (name in ("block", "sequential_block") and rest.isdecimal()):  # a duration or a schedule
        return False
    return ":" in text or "/" in text or "\\" in text or text.endswith(".py")


def require(config: RunConfig, source: str, requested: RunConfig | None = None) -> None:
    """Refuse a configuration with code or files that the command line does not name.

    Runs that this user made in the current folder or below, from files that have not changed, are accepted.

    Args:
        config: configuration from the file, overridden by the command line.
        source: path of the file.
        requested: configuration of the command line alone.

    Raises:
        UserError: names the first reference that is not trusted and says how to allow it.
    """
    allowed = references(requested) if requested is not None else []
    for name in references(config):
        if name in allowed:
            continue
        _refuse_missing(name, source)
        if name not in _made_here(Path(source)):
            raise UserError(
                f"{source} names {name}, code or files that were not used here before; "
                f"pass {option('--trust')} if you trust its author, or name it on the command line"
            )


def require_names(names: Iterable[str], code: object, trusted: bool, source: str) -> None:
    """Refuse references to code that a record names and that was not run here in this form.

    Args:
        names: names, some of which may be references.
        code: entry ``code`` of the record, see `signed`.
        trusted: whether the user passed ``--trust``.
        source: of the names, for the message.

    Raises:
        UserError: names the first reference that is not trusted or whose file is missing.
    """
    for name in names:
        if not is_reference(name) or "=" in name:
            continue
        _refuse_missing(name, source)
        if not trusted and name not in unchanged_references(code):
            raise UserError(
                f"{source} names {name}, which is code that was not run here before in this form; "
                f"pass {option('--trust')} if you trust its author"
            )


def _refuse_missing(name: str, source: str) -> None:
    """Refuse a reference to a Python file that does not exist."""
    if ".py:" in name and not file_of(name).is_file():
        raise UserError(f"{source} needs {name}: copy the file {file_of(name)} here")


def record(config: RunConfig) -> Code | None:
    """Return the signed digests of a user's own code for the record of a new run, or None without such code.

    Returns:
        ``files`` (reference to the digest of its file) and ``signature``, made with a key that only this user's account
        has, so that a record from elsewhere cannot claim to have been made here.
    """
    return signed(references(config))


def signed(names: Iterable[str]) -> Code | None:
    """Return signed digests of references, or None if no file lies below this folder and no wrapper touches files."""
    digests = files(names)
    return {"files": digests, "signature": _signature(digests)} if digests else None


def files(names: Iterable[str]) -> dict[str, str]:
    """Return references to files below this folder with the digests of the files, and wrappers that touch files."""
    return {name: digest_of_file for name in names if (digest_of_file := _digest_of(name)) is not None}


def _digest_of(reference: str) -> str | None:
    """Return the digest of a referenced file, or None if no such file lies below this folder.

    The digest of a wrapper that touches files is empty: the reference itself names all arguments.
    """
    if reference.startswith(_WRAPPER) and not is_reference(reference):
        return ""
    path = file_of(reference)
    try:
        below = path.resolve().is_relative_to(Path.cwd().resolve())
        return digest(path) if below and path.is_file() else None
    except (OSError, ValueError):
        return None


def _signature(files: Mapping[str, str]) -> str | None:
    """Return the signature of digests with this user's key, or None where no key can be stored."""
    text = json.dumps(dict(files), sort_keys=True).encode()
    return None if (key := _key()) is None else hmac.new(key, text, "sha256").hexdigest()


def _key() -> bytes | None:
    """Return the key of this user's account, made on first use."""
    root = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(root) / "ngym" / "key"
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):  # another process may have written the record first
                descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(secrets.token_bytes(32))
        key = path.read_bytes()
        return key if len(key) == 32 else None
    except (OSError, RuntimeError):
        return None


def _made_here(source: Path) -> tuple[str, ...]:
    """Return references of a run made here by this user whose files have not changed."""
    manifest = source.parent / MANIFEST
    if source.name != CONFIG or not manifest.is_file() or not source.resolve().is_relative_to(Path.cwd().resolve()):
        return ()
    with contextlib.suppress(UserError):
        manifest_data = read_json(manifest)
        return unchanged_references(manifest_data.get("code") if isinstance(manifest_data, dict) else None)
    return ()


def unchanged_references(code: object) -> tuple[str, ...]:
    """Return references of a record made by ``signed`` whose files have not changed.

    Args:
        code: record as read; without a valid signature the result is empty.
    """
    recorded = code.get("files") if isinstance(code, dict) else None
    if isinstance(code, dict) and isinstance(recorded, dict) and all(isinstance(v, str) for v in recorded.values()):
        expected, signature = _signature(recorded), code.get("signature")
        if expected and isinstance(signature, str) and hmac.compare_digest(expected, signature):
            return tuple(name for name, recorded_digest in recorded.items() if _digest_of(name) == recorded_digest)
    return ()


def read_toml(path: Path, largest: int = reading.LARGEST_TOML) -> dict[str, Any]:
    """Read a TOML file.

    Args:
        path: the file.
        largest: largest size in bytes.

    Raises:
        UserError: if the file is missing, unreadable or not TOML.
    """
    try:
        return reading.parse_toml(reading.read_text(path, largest), path)
    except FileNotFoundError:
        raise UserError(f"no such configuration file: {path}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


def load(path: Path | None, settings: Mapping[str, object], trust: bool = False) -> RunConfig:
    """Return the configuration of a file, overridden by settings.

    Args:
        path: the file, or None.
        settings: settings of the shell or of Python.
        trust: accept code that the file names and the settings do not.

    Raises:
        UserError: see ``read_toml`` and ``from_dict``; or if an untrusted file names code or files.
    """
    if path is None:
        return from_dict(settings, typed=True)
    data = read_toml(path)
    from_dict(data, source=str(path))
    evaluation, in_file = settings.get("evaluation"), data.get("evaluation")
    if isinstance(evaluation, Mapping) and "trials" in evaluation and isinstance(in_file, Mapping):
        data["evaluation"] = {name: value for name, value in in_file.items() if name not in ("half_width", "exact")}
    config = from_dict(merge(data, settings), typed=True)
    if not trust:
        require(config, str(path), from_dict(settings))
    return config
