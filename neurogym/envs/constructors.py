"""Former place of :func:`neurogym.envs.task.usual_arguments`."""

from neurogym.envs.task import usual_arguments

__all__ = ["usual_arguments"]
