"""The pages of the documentation site that are made from code, help texts and records.

    python -m docs.site FOLDER                     # all pages, as Markdown and pictures
    python -m docs.site FOLDER --only GoNogo-v0    # those of some names

`make docs` does that and lets Sphinx make HTML of them. Only the examples of figures are trained for it, once;
nothing stands here that the code, its docstrings or the records say.
"""
