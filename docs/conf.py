"""Settings of the documentation site; ``make docs`` builds it."""

import fenceline

project = "Fenceline"
author = "The Fenceline authors"
project_copyright = "The Fenceline authors"
version = release = fenceline.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "figures/README.md"]

html_theme = "furo"
html_title = "Fenceline"
autodoc_typehints = "description"
autodoc_member_order = "bysource"
