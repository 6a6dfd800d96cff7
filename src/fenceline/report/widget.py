"""The report in a notebook, as a widget that follows a run; needs ``pip install 'fenceline[notebook]'``."""

import math
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from fenceline.errors import MissingDependencyError
from fenceline.report.write import report_page
from fenceline.result.result import Result
from fenceline.store.run_directory import JOURNAL
from fenceline.store.stored_run import read

SECONDS = 2.0
"""How often a run draws its report anew, at most ..."""
PAUSES = 5
"""Parts of rest to one part of drawing."""
HEIGHT = "48rem"
SCRIPT = """
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "Fenceline report";
  // Scripts of the page run, and reach nothing outside of it.
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.style.cssText = `width: 100%; height: ${model.get("height")}; border: 1px solid #8885; border-radius: 6px`;
  const show = () => { frame.srcdoc = model.get("page"); };
  model.on("change:page", show);
  show();
  el.append(frame);
}
export default { render };
"""


def report_widget(source: Any, *, title: str | None = None, height: str = HEIGHT) -> Any:
    """Return a widget that shows a report in a notebook, and follows a run as one of its callbacks.

    Parameters
    ----------
    source : FencelineClassifier, FencelineRegressor, Result, str or Path
        What the report is about; of a run directory, what its journal holds so far.
    title : str, optional
        The heading.
    height : str
        Of the widget, in CSS.

    Returns
    -------
    anywidget.AnyWidget
        ``show(model)`` shows something else, ``refresh()`` the same as it is now; called with the
        progress of a run, it refreshes now and then.

    Examples
    --------
    >>> widget = report_widget("credit-run")  # doctest: +SKIP
    >>> model = FencelineClassifier(run_dir="credit-run", callbacks=[widget])  # doctest: +SKIP
    >>> widget  # at the end of a cell, before the fit is called  # doctest: +SKIP
    >>> widget.show(model.fit(X, y))  # doctest: +SKIP
    """
    anywidget, traitlets = _libraries()

    class ReportWidget(anywidget.AnyWidget):  # type: ignore[misc,name-defined] # optional, and untyped
        """A report in a frame of its own."""

        _esm = SCRIPT
        page = traitlets.Unicode("").tag(sync=True)
        height = traitlets.Unicode(HEIGHT).tag(sync=True)

        def show(self, source: Any) -> None:
            """Show the report of something else."""
            self._source = source
            self.refresh()

        def refresh(self) -> None:
            """Draw the report anew."""
            start = time.monotonic()
            self.page = _page(self._source, title)
            now = time.monotonic()
            self._rest_until = now + max(SECONDS, PAUSES * (now - start))

        def __call__(self, progress: object) -> None:
            if time.monotonic() >= self._rest_until:
                self.refresh()

        def __deepcopy__(self, memo: dict[int, Any]) -> Any:
            return self  # estimators copy what they are given, and a reader looks at this one

    widget = ReportWidget(height=height)
    widget._rest_until = -math.inf
    widget._source = source
    if not isinstance(source, str | Path) or (Path(source) / JOURNAL).exists():
        widget.refresh()  # a run that has not begun has nothing to show
    return widget


def _page(source: Any, title: str | None) -> str:
    if not isinstance(source, str | Path):
        return report_page(source, title=title)
    stored = read(source)
    result = Result(stored.problem, tuple(stored.evaluations), "interrupted", 0.0)
    return report_page(result, title=title or Path(source).resolve().name, running=True)


def _libraries() -> tuple[Any, Any]:
    try:
        return import_module("anywidget"), import_module("traitlets")
    except ImportError as problem:
        raise MissingDependencyError(
            "A report as a widget needs anywidget: pip install 'fenceline[notebook]'. write_report makes a "
            "file without it."
        ) from problem
