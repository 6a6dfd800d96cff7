"""Settings of the documentation site; ``make docs`` builds it."""

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

import fenceline

project = "Fenceline"
author = "The Fenceline authors"
project_copyright = "The Fenceline authors"
version = release = fenceline.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = [
    "_build",
    "gallery/*.ipynb",
    "gallery/*.py",
]

html_theme = "furo"
html_math_renderer = "mathml"
html_title = "Fenceline"
autodoc_typehints = "description"
autodoc_member_order = "bysource"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",  # every example runs ...
    "run_stale_examples": True,  # ... whether or not it changed since: the library may have,
    "abort_on_example_error": True,  # and one that fails ends the build.
    "within_subsection_order": "ExampleTitleSortKey",
    "download_all_examples": False,
    "capture_repr": (),  # what is printed counts, not what the last line returns
    "write_computation_times": False,
    "remove_config_comments": True,
}


def setup(app: Any) -> None:
    """Render formulas as MathML, which browsers draw without a script from the network."""
    app.add_html_math_renderer("mathml", (_formula, None), (_formula, None))


def _formula(visitor: Any, node: nodes.Element) -> None:
    block = isinstance(node, nodes.math_block)
    visitor.body.append(tex2mathml(node.astext(), as_block=block))
    raise nodes.SkipNode
