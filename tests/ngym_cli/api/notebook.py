"""Results as a notebook shows them."""

from IPython.core.formatters import HTMLFormatter


def html(result):
    """Return the HTML that a notebook shows for a result; None if it shows text."""
    return HTMLFormatter()(result)
