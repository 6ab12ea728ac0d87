"""Attribute access of old scripts: attributes that a wrapper lacks are looked up in the wrapped environment."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium as gym

from neurogym import scores
from neurogym.ceilings.effects import Effect, unknown
from neurogym.metadata import describe
from neurogym.scores import Score


def layers(env: gym.Env) -> list[gym.Env]:
    """The wrappers of a stack, innermost first, without the task."""
    return [*layers(env.env), env] if isinstance(env, gym.Wrapper) else []


class Forwarding:
    """Public names that a wrapper lacks are looked up inside, as scripts for older Gymnasium expect.

    Attributes:
        ceiling_effect: What the wrapper does to the best possible score, whatever its arguments; None: not known.
    """

    ceiling_effect: ClassVar[Effect | None] = None

    def __init_subclass__(cls, **kwargs: object):
        """Add the description to the metadata."""
        super().__init_subclass__(**kwargs)
        describe(cls)

    def __getattr__(self, name: str) -> Any:
        """The attribute of the wrapped environment."""
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return self.env.get_wrapper_attr(name)

    def get_wrapper_attr(self, name: str) -> Any:
        """The attribute of this wrapper, or of the wrapped environment."""
        return getattr(self, name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Set an attribute on the outermost layer that defines the attribute.

        Args:
            name: Name of the attribute.
            value: The new value.
            force: Set the attribute on this wrapper if no layer defines the attribute.

        Returns:
            Whether the attribute was set.
        """
        defined = name in vars(self) or hasattr(type(self), name)
        if not defined and self.env.set_wrapper_attr(name, value, force=False):
            return True
        if defined or force:
            setattr(self, name, value)
        return defined or force

    def ceiling(self) -> Score | None:
        """Score of the ideal observer of this stack, if known; see :func:`neurogym.ceilings.ceiling`."""
        return scores.score("ceiling of a stack", self)

    def effect_on_ceiling(self) -> Effect:
        """Effect of the wrapper on the best possible score; unknown unless the wrapper declares an effect."""
        return self.ceiling_effect or unknown("it does not say what it does to the ceiling")
