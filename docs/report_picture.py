"""Make docs/figures/report.png, the picture of a report: ``python docs/report_picture.py``.

Needs chromium, chromedriver and selenium, and about a minute for a small search on the credit data.
"""

import base64
import shutil
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from fenceline import FencelineClassifier, data, metrics
from fenceline.report import write_report

PICTURE = Path(__file__).parent / "figures" / "report.png"
WIDTH, HEIGHT = 1100, 1515
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def search() -> FencelineClassifier:
    """Search the credit model of the README, with a small budget."""
    table = data.credit()
    status = table.pop("Status")
    model = FencelineClassifier(
        objective="balanced_accuracy",
        constraints=[
            metrics.latency_us(batch=1000) <= 20,
            metrics.score_gap("roc_auc", group="Age", bins=[35]) <= 0.18,
            "false_positive_rate <= 0.35",
        ],
        evaluations=40,
        random_state=0,
        on_infeasible="warn",
    )
    return model.fit(table, status)


def take(page: Path, picture: Path) -> None:
    """Photograph the top of a page in light colours."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={WIDTH},{HEIGHT}"):
            options.add_argument(flag)
        browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            browser.get(page.as_uri())
            # The diagram is tall; the picture is about the fence.
            browser.execute_script("document.querySelector('.diagram').open = false")
            browser.execute_async_script(
                "const done = arguments[0];"
                "requestAnimationFrame(() => requestAnimationFrame(() => done()))"
            )
            clip = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": 1}
            shot = browser.execute_cdp_cmd(
                "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
            )
        finally:
            browser.quit()
    picture.write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        report = write_report(search(), Path(directory) / "report.html", title="Credit scoring")
        take(report, PICTURE)
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")
