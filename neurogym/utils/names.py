"""Now in `neurogym.messages.names`."""

from neurogym.messages.names import closest, nearest, unknown  # noqa: F401
