"""Now in `neurogym.sampling.generator`."""

from neurogym.sampling.generator import LegacyGenerator  # noqa: F401
