"""The report as a widget: in a kernel of Jupyter's, and its script in a real browser."""

import json
import sys
from pathlib import Path

import pytest
from browser import By, chromium, needs_browser, until
from searches import search

import fenceline as fl
from fenceline.errors import MissingDependencyError
from fenceline.report import widget as module
from fenceline.report.widget import SCRIPT, report_widget

SPACE = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 1)})])])


def test_without_anywidget_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'fenceline\[notebook\]'"):
        report_widget(search(5))


def test_a_widget_holds_the_page_and_follows_a_run(tmp_path, monkeypatch):
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    monkeypatch.setattr(module, "SECONDS", 0.0)
    monkeypatch.setattr(module, "PAUSES", 0)
    widget = report_widget(tmp_path / "run")
    assert widget.page == ""
    seen = []
    widget.observe(lambda change: seen.append(change["new"]), "page")
    problem = fl.Problem(SPACE, lambda c: {"loss": c["m"].params["x"]}, constraints=["loss <= 0.9"])
    result = fl.minimize(problem, evaluations=4, run_dir=tmp_path / "run", callbacks=[widget])
    assert len(seen) == 4
    assert "The search goes on" in seen[-1]
    widget.show(result)
    assert "The search goes on" not in widget.page
    assert f"{result.best.objective:.4g}" in widget.page


def test_a_notebook_shows_the_widget_in_a_real_kernel(tmp_path):
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    source = f"""
import sys; sys.path[:0] = {[str(Path(__file__).parent), *sys.path]!r}
from searches import search
from fenceline.report.widget import report_widget
report_widget(search(20), title="a notebook's")
"""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    client = nbclient.NotebookClient(
        book, timeout=120, startup_timeout=240, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    [output] = [o for o in book.cells[0].outputs if o.output_type != "stream"]
    view = output["data"]["application/vnd.jupyter.widget-view+json"]
    state = book.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    shown = state[view["model_id"]]["state"]
    assert "<h1>a notebook&#39;s</h1>" in shown["page"]
    assert shown["_esm"] == SCRIPT


@needs_browser
def test_the_widgets_script_shows_the_page_and_its_next_one(tmp_path):
    from fenceline.report.write import report_page

    pages = [report_page(search(count)) for count in (10, 20)]
    host = tmp_path / "host.html"
    host.write_text(
        '<!doctype html><div id="cell"></div><script type="module">'
        + SCRIPT.replace("export default { render };", "")
        + "const listeners = []; const state = { height: '300px', page: "
        + json.dumps(pages[0]).replace("</", "<\\/")
        + "};"
        "window.next = (page) => { state.page = page; listeners.forEach((f) => f()); };"
        "render({ model: { get: (n) => state[n], on: (_, f) => listeners.push(f) },"
        " el: document.getElementById('cell') });</script>",
        encoding="utf-8",
    )
    with chromium(tmp_path / "profile") as browser:
        browser.get(host.as_uri())
        frame = until(lambda: browser.find_elements(By.TAG_NAME, "iframe"))[0]
        assert frame.get_attribute("sandbox") == "allow-scripts allow-downloads"

        def shown():
            browser.switch_to.frame(frame)
            try:
                facts = browser.find_elements(By.CSS_SELECTOR, ".facts")
                tip = browser.find_elements(By.CSS_SELECTOR, ".tip")  # made by the page's script
                return facts and tip and facts[0].text
            finally:
                browser.switch_to.default_content()

        first = until(shown)
        browser.execute_script("next(arguments[0])", pages[1])
        until(lambda: shown() not in (first, None, [], ""))
        assert "20" in shown()
