"""The logger of messages for people at a terminal.

It has a handler of its own on standard error and leaves all others alone.
"""

from __future__ import annotations

import logging

logger = logging.getLogger("neurogym.console")

if not logger.handlers:
    _handler = logging.StreamHandler()
    _handler.setFormatter(logging.Formatter("Neurogym | %(asctime)s | %(message)s", "%Y-%m-%d@%H:%M:%S"))
    logger.addHandler(_handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
