"""scikit-learn's diagram of a pipeline, reduced to what a page without scripts can show."""

from html import escape
from html.parser import HTMLParser
from typing import Any

_ACTIVE = ("href", "src", "srcset", "action", "formaction")
_DROPPED = ("script", "iframe", "object", "embed", "link", "meta", "base")
_STYLE = """
html { color-scheme: light dark }
body { margin: 0; font: 14px system-ui, sans-serif }
.copy-paste-icon, .sk-estimator-doc-link { display: none !important }
/* scikit-learn sets its theme by script; here the reader's choice does. */
body .sk-global {
  --sklearn-color-text-on-default-background: #20261f; --sklearn-color-background: #fcfcfa;
  --sklearn-color-border-box: #9aa59d; --sklearn-color-line: #9aa59d;
  --sklearn-color-fitted-level-0: #eaf1ed; --sklearn-color-fitted-level-1: #dbe8e2;
  --sklearn-color-fitted-level-2: #c6dcd3; --sklearn-color-fitted-level-3: #1f6f5c;
}
@media print { * { scrollbar-width: none } }
@media screen and (prefers-color-scheme: dark) {
  body .sk-global {
    --sklearn-color-text: #e6eae5; --sklearn-color-text-muted: #9ca89f;
    --sklearn-color-text-on-default-background: #e6eae5; --sklearn-color-background: #151917;
    --sklearn-color-border-box: #5d6a62; --sklearn-color-line: #5d6a62;
    --sklearn-color-fitted-level-0: #24302b; --sklearn-color-fitted-level-1: #2d3b35;
    --sklearn-color-fitted-level-2: #38493f; --sklearn-color-fitted-level-3: #6cc7ad;
  }
}
"""
_VOID = ("input", "br", "img", "hr", "embed", "link", "meta", "base")


def diagram(pipeline: Any) -> str:
    """Return a document that draws a fitted pipeline, for a frame that runs no script.

    scikit-learn's own markup copies to the clipboard, links to its site and carries a script;
    none of that belongs into a file that must work alone, so only what is drawn is kept.
    """
    from sklearn.utils import estimator_html_repr

    kept = _Still()
    kept.feed(estimator_html_repr(pipeline))
    kept.close()
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Pipeline</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(kept.pieces)}</body></html>"
    )


class _Still(HTMLParser):
    """Copies markup without scripts, handlers, links and anything that is fetched."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.pieces: list[str] = []
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _DROPPED and tag not in _VOID:
            self._inside.append(tag)
        if self._inside or tag in _DROPPED:
            return
        kept = "".join(
            f' {name}="{escape(value or "")}"'
            for name, value in attrs
            if not name.startswith("on") and name not in _ACTIVE
        )
        self.pieces.append(f"<{tag}{kept}>")

    def handle_endtag(self, tag: str) -> None:
        if self._inside:
            if tag == self._inside[-1]:
                self._inside.pop()
        elif tag not in _VOID:
            self.pieces.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        # In style elements, too, where it is CSS and comes through as it is.
        if not self._inside:
            self.pieces.append(data)

    def handle_entityref(self, name: str) -> None:
        self.handle_data(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.handle_data(f"&#{name};")
