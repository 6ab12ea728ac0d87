"""Settings of Sphinx. ``make docs`` writes the sources with ``python -m docs.site`` first."""

from __future__ import annotations

import os
from pathlib import Path

import neurogym
from docs.site import kernel

ROOT = Path(__file__).resolve().parents[1]

project = "ngym"
author = copyright = "The ngym maintainers"
version = release = neurogym.VERSION

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
exclude_patterns: list[str] = []

# Tutorials are run when they, or what they were run with, have changed. What fails ends the build.
os.environ.update(kernel.environment(ROOT / "build" / "docs" / "ipython", os.environ["PATH"]))
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "build" / "docs" / "cache")
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 600
nb_merge_streams = True

smartquotes = False  # two dashes before an option are two dashes
autodoc_typehints = "description"
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}
autodoc_member_order = "bysource"
autodoc_default_options = {"show-inheritance": True}
napoleon_google_docstring = True
napoleon_use_ivar = True  # attributes that are annotated, too, are listed once
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = "ngym"
html_favicon = str(ROOT / "docs" / "static" / "icon.svg")
html_static_path = [str(ROOT / "docs" / "static")]
html_css_files = ["site.css"]
html_js_files = ["sort.js"]
html_search_scorer = str(ROOT / "docs" / "static" / "search.js")
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
copybutton_exclude = ".linenos, .gp, .go"
