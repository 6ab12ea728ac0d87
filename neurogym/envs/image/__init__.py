"""Image tasks: class of each task to the path of the module."""

TASKS = {
    name: f"{__name__}.{name.lower()}" for name in ("RandomDotMotion", "SpatialSuppressMotionImage", "VisualSearch")
}
