"""Debian's chromium without a window, for the tests of pages."""

import contextlib
import shutil
import time

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402

__all__ = ["By", "chromium", "complaints", "needs_browser", "until"]

OF_THE_TESTS = "Multiple readback operations"
"""A hint to tests that look at what was drawn, which a busy browser gives."""

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not installed"
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def complaints(driver):
    """Return what a page has logged since it was asked last."""
    return [entry for entry in driver.get_log("browser") if OF_THE_TESTS not in entry["message"]]


@contextlib.contextmanager
def chromium(profile):
    """Run a browser with a profile of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def until(true, seconds=60.0):
    """Wait for something to become true, and return it."""
    end = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    return value
