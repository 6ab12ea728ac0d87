"""Decorators."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from typing import Any

logger = logging.getLogger(__name__)


def suppress_during_pytest(*exceptions: type[BaseException], message: str | None = None) -> Callable:
    """Log and swallow the given exceptions during a test under pytest; raise otherwise.

    Kept for scripts that use it; nothing in this package does.

    Args:
        *exceptions: Types to swallow.
        message: Message to log with the exception.
    """

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except exceptions as error:
                if "PYTEST_CURRENT_TEST" not in os.environ:
                    raise
                logger.warning("%s: %s", message or f"{function.__name__} failed", error)
                return None

        return call

    return decorate
