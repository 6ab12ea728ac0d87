"""Now in `neurogym.sampling.patterns`."""

from neurogym.sampling.patterns import Patterns, Vectors  # noqa: F401
