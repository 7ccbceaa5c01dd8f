"""Settings of the book for Sphinx. `make book` builds it."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

from sphinx.application import Sphinx

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import generate  # noqa: E402 - beside this file

project = "Warploom"
author = "the Warploom authors"
copyright = author
release = version = version_of("warploom")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["README.md"]
html_theme = "furo"
html_title = f"Warploom {release}"
html_copy_source = False
smartquotes = False  # "auto" is what a person types

myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 3

default_role = "literal"  # docstrings write code in single backticks, as Markdown does
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 100


def setup(app: Sphinx) -> None:
    """Write the generated pages before Sphinx lists the pages."""
    app.add_config_value("make_examples", True, "env")
    app.connect("config-inited", lambda app, config: generate.write_pages(config.make_examples))
