"""Image tasks: class names; each lives in the module of the same name in lower case."""

TASKS: tuple[str, ...] = ("RandomDotMotion", "SpatialSuppressMotionImage", "VisualSearch")
