"""Now in `neurogym.sampling.generator`."""

from neurogym.sampling.generator import LegacyGenerator, generator_of  # noqa: F401
