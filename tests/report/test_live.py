"""A report that follows a run, over HTTP and in a real browser."""

import http.client

import pytest
from browser import By, chromium, complaints, needs_browser, until
from searches import search

from fenceline.errors import StoreError
from fenceline.report import live as module
from fenceline.report.live import LiveServer
from fenceline.report.write import report_page


class Growing:
    """A run that goes on when it is told to."""

    def __init__(self):
        self.count = 10

    def page(self):
        return report_page(search(self.count), running=self.count < 30, live=True)

    def stamp(self):
        return self.count


@pytest.fixture
def run():
    return Growing()


@pytest.fixture
def server(run, monkeypatch):
    monkeypatch.setattr(module, "PAUSES", 0)  # a busy machine would rest for long
    with LiveServer(run.page, run.stamp, seconds=0.02) as live:
        yield live


def ask(server, path="/", host=None):
    connection = http.client.HTTPConnection(*server.url[7:-1].split(":"), timeout=20)
    connection.request("GET", path, headers={} if host is None else {"Host": host})
    return connection.getresponse()


def test_the_page_is_served_on_this_machine_alone_and_may_ask_its_server_only(server):
    assert server.url.startswith("http://127.0.0.1:")
    answer = ask(server)
    text = answer.read().decode()
    assert answer.status == 200
    assert "The search goes on" in text
    assert "connect-src 'self'" in text
    assert answer.headers["Cache-Control"] == "no-store"
    assert "connect-src" not in report_page(search(10))


@pytest.mark.parametrize(
    ("path", "host", "status"),
    [("/etc/passwd", None, 404), ("/../x", None, 404), ("/", "evil.example:80", 403)],
)
def test_nothing_else_is_answered(server, path, host, status):
    assert ask(server, path, host).status == status


def test_an_event_tells_that_the_run_has_gone_on(server, run):
    ask(server).read()
    stream = ask(server, "/events")
    run.count = 20
    assert stream.readline() == b"event: changed\n"
    stream.close()


def test_a_heartbeat_is_no_event(server, monkeypatch):
    monkeypatch.setattr(module, "HEARTBEAT_SECONDS", 0.05)
    ask(server).read()
    stream = ask(server, "/events")
    assert stream.readline().startswith(b":")
    stream.close()


def test_a_page_that_did_not_change_is_not_drawn_again(run):
    drawn = []
    server = LiveServer(lambda: drawn.append(1) or "page", run.stamp)
    server.page()
    server.page()
    assert drawn == [1]
    run.count = 20
    until(lambda: server.page() and drawn == [1, 1])
    server._server.server_close()


def test_a_run_that_was_moved_away_is_said_and_ends_nothing(run):
    def gone():
        raise StoreError("The run is gone.")

    with LiveServer(gone, run.stamp) as server:
        assert ask(server).status == 503
        assert ask(server).status == 503


def test_a_port_that_is_taken_is_refused(server):
    with pytest.raises(StoreError, match="choose another --port"):
        LiveServer(lambda: "", lambda: 0, port=int(server.url.split(":")[-1].strip("/")))


@needs_browser
def test_an_open_page_follows_the_run_and_keeps_what_the_reader_moved(server, run, tmp_path):
    with chromium(tmp_path) as browser:
        browser.get(server.url)

        def evaluations():
            # In one go, for the page may be drawn anew at any time.
            return browser.execute_script(
                "return [...document.querySelectorAll('.facts div')]"
                ".find((f) => f.querySelector('dt').textContent === 'evaluations')"
                ".querySelector('dd').textContent"
            )

        until(lambda: evaluations() == "10")
        browser.execute_script(
            "window.same = true; const s = document.getElementById('bound-0'); s.value = 900;"
            "s.dispatchEvent(new Event('input'))"
        )
        moved = browser.find_element(By.ID, "what-if-value").text
        run.count = 40
        until(lambda: evaluations() == "40")
        assert browser.execute_script("return window.same")  # not loaded again, but drawn anew
        assert browser.execute_script("return document.getElementById('bound-0').value") == "900"
        assert browser.find_element(By.ID, "what-if-value").text != ""
        assert moved
        assert "Feasible" in browser.find_element(By.ID, "verdict-title").text
        assert (
            browser.execute_script(
                "return JSON.parse(document.getElementById('columns').textContent).values.length"
            )
            == 40
        )
        assert complaints(browser) == []
