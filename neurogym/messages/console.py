"""The logger of messages for people at a terminal.

It has a handler of its own on standard error and leaves all others alone.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

ANSI_COLOURS = {"black": 30, "red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36, "white": 37}
STYLES = {"bold": 1, "dim": 2, "italic": 3, "underline": 4}


class ConsoleLogger(logging.Logger):
    """Logger whose methods also take ``color`` and ``style`` for terminals; unknown values have no effect."""

    def _log(self, level: int, msg: object, args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        colour, style = (str(kwargs.pop(key, "")).lower() for key in ("color", "style"))
        codes = [ANSI_COLOURS.get(colour), STYLES.get(style)]
        kwargs["extra"] = {**(kwargs.get("extra") or {}), "codes": [code for code in codes if code is not None]}
        kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1
        super()._log(level, msg, args, **kwargs)


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text, codes = super().format(record), vars(record).get("codes", [])
        if not codes or not sys.stderr.isatty():
            return text
        return f"\033[{';'.join(map(str, codes))}m{text}\033[0m"


def _make_logger() -> logging.Logger:
    """Make the console logger without changing the class of other loggers."""
    usual = logging.getLoggerClass()
    logging.setLoggerClass(ConsoleLogger)
    try:
        return logging.getLogger("neurogym.console")
    finally:
        logging.setLoggerClass(usual)


logger = _make_logger()

if not logger.handlers:
    _handler = logging.StreamHandler()
    _handler.setFormatter(_Formatter("Neurogym | %(asctime)s | %(message)s", "%Y-%m-%d@%H:%M:%S"))
    logger.addHandler(_handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
