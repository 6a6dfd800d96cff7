"""The report in a real browser: Debian's chromium, without a window."""

import pytest
from browser import By, chromium, complaints, needs_browser, until
from searches import EVIL, curved, evil, fitted, inspection, regression, search
from selenium.webdriver import ActionChains, Keys

from fenceline.report import write_report

pytestmark = needs_browser
CURVED = curved(60)
DRAWN = """
return [...document.querySelectorAll("canvas")].map((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const colours = new Set();
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255)
    colours.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
  return [...colours];
});
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    directory = tmp_path_factory.mktemp("reports")
    return {
        "usual": write_report(search(200), directory / "usual.html"),
        "small": write_report(search(5), directory / "small.html"),
        "large": write_report(search(20_000), directory / "large.html"),
        "evil": write_report(evil(), directory / "evil.html", title=EVIL),
        "curved": write_report(CURVED, directory / "curved.html"),
        "model": write_report(
            fitted(CURVED, inspection()), directory / "model.html", title="credit: Status"
        ),
        "numbers": write_report(fitted(CURVED, regression()), directory / "numbers.html"),
    }


@pytest.fixture
def show(browser, reports):
    """Open a report in a window of a given width, in light or dark."""

    def opened(name, width=1200, scheme="light"):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        # Without motion, for a page that glides moves away from under a click.
        wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get_log("browser")
        browser.get(reports[name].as_uri())
        until(lambda: all(browser.execute_script(DRAWN)))
        return browser

    return opened


def tip(browser):
    shown = browser.find_elements(By.CSS_SELECTOR, ".tip:not([hidden])")
    return shown[0].text if shown else ""


def rows(browser):
    return browser.execute_script(
        "return [...document.querySelectorAll('#leaders tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))"
    )


@pytest.mark.parametrize("name", ["small", "usual"])
def test_a_report_opens_without_a_complaint_and_draws_every_plot(show, name):
    browser = show(name)
    assert complaints(browser) == []
    drawn = browser.execute_script(DRAWN)
    # Two trade-offs, the best so far, and multipliers and residuals where there was an iteration.
    assert len(drawn) == (5 if name == "usual" else 3)
    assert all("31,111,92" in colours for colours in drawn)  # the accent, so more than the axes


def test_nothing_is_fetched(show):
    fetched = show("usual").execute_script("return performance.getEntriesByType('resource').length")
    assert fetched == 0


def test_pointing_at_a_point_shows_its_pipeline(show):
    browser = show("usual")
    canvas = browser.find_element(By.CSS_SELECTOR, "[data-chart=trade-off] canvas")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    for step in range(-8, 9):
        ActionChains(browser, 0).move_to_element_with_offset(canvas, 25 * step, 40).perform()
        if tip(browser):
            break
    text = tip(browser)
    assert "knn(k=" in text or "boosting(rate0=" in text
    assert "latency_us = " in text
    ActionChains(browser, 0).move_to_element(browser.find_element(By.TAG_NAME, "h1")).perform()
    assert tip(browser) == ""


def test_sorting_reorders_all_feasible_pipelines_and_more_can_be_shown(show):
    browser = show("usual")
    best = rows(browser)
    assert [row[0] for row in best] == sorted(row[0] for row in best)
    latency = browser.find_element(By.CSS_SELECTOR, "[data-metric=latency_us]")
    latency.click()
    fastest = [float(row[1]) for row in rows(browser)]
    latency.click()
    slowest = [float(row[1]) for row in rows(browser)]
    assert fastest == sorted(fastest)
    assert slowest == sorted(slowest, reverse=True)
    assert fastest[-1] < slowest[-1] <= 10
    heading = latency.find_element(By.XPATH, "./..")
    assert heading.get_attribute("aria-sort") == "descending"
    browser.find_element(By.ID, "leaders-more").click()
    assert len(rows(browser)) > len(best)


def test_rows_drawn_by_the_page_equal_those_written_into_it(show):
    browser = show("usual")
    written = rows(browser)
    button = browser.find_element(By.CSS_SELECTOR, "[data-key=objective]")
    button.click()  # descending, for ascending is where it starts
    button.click()
    assert rows(browser) == written


def test_the_report_can_be_used_without_a_mouse(show):
    browser = show("usual")

    def press(key):
        ActionChains(browser, 0).send_keys(key).perform()

    press(Keys.TAB)
    assert browser.switch_to.active_element.text == "Skip to the verdict"
    for _ in range(40):
        press(Keys.TAB)
        if browser.switch_to.active_element.tag_name == "canvas":
            break
    first = tip(browser)
    press(Keys.ARROW_RIGHT)
    assert "evaluation " in first
    assert tip(browser) != first
    press(Keys.HOME)
    assert tip(browser) == first
    press(Keys.ESCAPE)
    assert tip(browser) == ""
    browser.execute_script("document.querySelector('[data-key=seconds]').focus()")
    press(Keys.ENTER)
    sorted_by = browser.find_element(By.CSS_SELECTOR, "th[aria-sort]")
    assert sorted_by.text.startswith("seconds")


def test_hostile_names_are_shown_and_never_run(show):
    browser = show("evil")
    assert browser.execute_script("return window.pwned") is None
    assert complaints(browser) == []
    assert browser.find_element(By.TAG_NAME, "h1").text == EVIL
    assert EVIL in browser.find_element(By.ID, "leaders").text
    browser.find_element(By.CSS_SELECTOR, "[data-key=pipeline]").click()
    canvas = browser.find_element(By.TAG_NAME, "canvas")
    browser.execute_script("arguments[0].focus()", canvas)
    canvas.send_keys(Keys.ARROW_RIGHT)
    assert EVIL in tip(browser)
    assert browser.execute_script("return window.pwned") is None
    assert browser.find_elements(By.TAG_NAME, "img") == []


def test_twenty_thousand_evaluations_fit_and_open_quickly(show, reports):
    assert reports["large"].stat().st_size < 4_000_000
    browser = show("small")
    # Processor time of the page, 0.2 s, so that a busy machine does not fail it.
    browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    show("large")
    found = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    browser.execute_cdp_cmd("Performance.disable", {})
    [seconds] = [metric["value"] for metric in found if metric["name"] == "TaskDuration"]
    assert 0 < seconds < 1
    assert complaints(browser) == []
    browser.find_element(By.CSS_SELECTOR, "[data-key=seconds]").click()
    assert len(rows(browser)) == 10


@pytest.mark.parametrize("name", ["usual", "evil"])
def test_a_phone_need_not_scroll_sideways(show, name):
    browser = show(name, width=360)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 360


def test_dark_readers_get_a_dark_page_and_dark_plots(show):
    look = "return getComputedStyle(document.body).backgroundColor"
    browser = show("usual")
    light, light_plots = browser.execute_script(look), browser.execute_script(DRAWN)
    browser = show("usual", scheme="dark")
    dark, dark_plots = browser.execute_script(look), browser.execute_script(DRAWN)
    assert (light, dark) == ("rgb(252, 252, 250)", "rgb(21, 25, 23)")
    for before, after in zip(light_plots, dark_plots, strict=True):
        assert "108,199,173" in after
        assert "108,199,173" not in before


def test_dark_readers_print_on_white(show):
    browser = show("usual", scheme="dark")
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    look = "return getComputedStyle(document.body).backgroundColor"
    assert browser.execute_script(look) == "rgb(255, 255, 255)"
    assert all("31,111,92" in colours for colours in browser.execute_script(DRAWN))
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(look) == "rgb(21, 25, 23)"


def test_before_printing_plots_are_drawn_for_paper_and_what_is_folded_opens(show):
    browser = show("model")
    browser.execute_script(
        "const d = document.createElement('details'); d.id = 'fold'; document.body.append(d)"
    )
    look = (
        "return [[...document.querySelectorAll('canvas')].map((c) =>"
        "[c.getBoundingClientRect().width, c.width]), document.getElementById('fold').open]"
    )
    screen, folded = browser.execute_script(look)
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    paper, unfolded = browser.execute_script(look)
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert (folded, unfolded) == (False, True)
    assert len(paper) > 5
    for shown, pixels in paper:
        assert shown <= 719  # 190 mm
        assert pixels == pytest.approx(3 * shown, abs=2)
    until(lambda: browser.execute_script(look) == [screen, False])


def test_the_model_card_holds_what_the_reader_wrote(show):
    browser = show("usual")
    browser.execute_script(
        "const make = URL.createObjectURL; URL.createObjectURL = (blob) => {"
        "blob.text().then((text) => { window.saved = text; }); return make(blob); };"
    )
    browser.find_element(By.ID, "card-use").send_keys("Loans under 10,000")
    browser.find_element(By.ID, "card-save").click()
    text = until(lambda: browser.execute_script("return window.saved"))
    assert "## Intended use\n\nLoans under 10,000\n" in text
    assert "## Not intended for\n\nNot stated.\n" in text
    assert "## Constraints\n\nlatency_us <= 10: feasible; auc >= 0.6: feasible\n" in text


def focused(browser, chart):
    """Give a chart the focus, as a reader without a mouse would, and return what it says."""
    canvas = browser.find_element(By.CSS_SELECTOR, f"[data-chart={chart}] canvas")
    browser.execute_script("arguments[0].focus({focusVisible: true})", canvas)
    canvas.send_keys(Keys.HOME)
    return tip(browser).split("\n")


def test_the_charts_of_a_model_say_what_its_record_says(show):
    browser = show("model")
    assert complaints(browser) == []
    found = inspection()
    (tn, fp), (fn, tp) = found["confusion"]
    assert focused(browser, "roc") == [
        "where the model decides",
        f"false-positive rate = {fp / (tn + fp):.4g}",
        f"true-positive rate = {tp / (fn + tp):.4g}",
    ]
    assert focused(browser, "precision-recall")[1:] == [
        f"recall = {tp / (fn + tp):.4g}",
        f"precision = {tp / (fp + tp):.4g}",
    ]
    first = found["calibration"]["bins"][0]
    assert focused(browser, "calibration") == [
        f"predicted {first['predicted']}, came true {first['observed']['value']}",
        "0.13 to 0.38, 12 of 50 rows",
    ]
    # At the model's threshold: the objective in its own direction, every bound, and whether all hold.
    assert focused(browser, "thresholds") == [
        "threshold 0.6543: 50 % predicted positive",
        "precision = 0.8",
        "false_positive_rate = 0.15, holds",
        "inside the fence",
    ]
    assert browser.find_element(By.TAG_NAME, "h1").text == "credit: Status"
    assert browser.find_element(By.ID, "headline").text.split("\n") == [
        "precision on 100 unseen rows",
        "0.7843",
        "0.647 to 0.887",
    ]


def test_predicted_numbers_are_drawn_against_true_ones(show):
    browser = show("numbers")
    assert complaints(browser) == []
    assert focused(browser, "predicted-true") == ["true 1, predicted 1.5", "residual -0.5"]


ASKED = """
const form = document.getElementById("what-if-form");
let found = null;
form.addEventListener("answered", (event) => { found = event.detail; }, { once: true });
const slider = form.querySelectorAll("input")[arguments[0]];
slider.value = arguments[1];
slider.dispatchEvent(new Event("input"));
return found;
"""


@pytest.mark.parametrize("slider", [0, 1])
@pytest.mark.parametrize("step", [0, 150, 400, 700, 1000])
def test_moved_bounds_give_the_answer_of_the_python_function(show, slider, step):
    browser = show("curved")
    answer = browser.execute_script(ASKED, slider, step)
    texts = [str(c) for c in CURVED.problem.constraints]
    expected = CURVED.what_if(dict(zip(texts, answer["bounds"], strict=True)))
    shown = browser.find_element(By.ID, "what-if-value").text
    if expected.evaluation is None:
        assert (answer["best"], shown) == (-1, "nothing inside")
        return
    assert answer["value"] == pytest.approx(1 - expected.objective, abs=1e-6)
    assert float(shown) == pytest.approx(1 - expected.objective, abs=1e-4)
    costs = [cost if cost is not None else float("inf") for cost in answer["costs"]]
    assert costs == pytest.approx(list(expected.costs.values()), abs=2e-6)
    told = browser.find_element(By.ID, "what-if-presses").text
    pressing = expected.pressing
    assert told.startswith("nothing" if pressing is None else pressing.split()[0])
    values = browser.find_element(By.ID, "what-if-metrics").text.split("\n")
    assert values == [f"{name} = {value:.4g}" for name, value in expected.metrics.items()]


def test_without_a_move_the_best_of_the_search_is_shown_and_a_reset_returns_to_it(show):
    browser = show("curved")
    best = f"{1 - CURVED.best.objective:.4g}"
    value = browser.find_element(By.ID, "what-if-value")
    assert value.text == best
    browser.execute_script(ASKED, 0, 0)
    assert value.text != best
    browser.find_element(By.CSS_SELECTOR, "#what-if-form [type=reset]").click()
    until(lambda: value.text == best)
    assert browser.find_element(By.ID, "bound-0-shown").text == "0.2"


def test_on_a_phone_every_number_of_constraints_and_groups_is_on_the_screen(show):
    browser = show("model", width=390)
    cells = browser.execute_script(
        "return [...document.querySelectorAll('#fence td, .by-group td')].map((cell) => {"
        "const box = cell.getBoundingClientRect();"
        "return [getComputedStyle(cell, '::before').content, box.left, box.right];})"
    )
    labels = {label.strip('"') for label, *_ in cells}
    assert {"Verdict", "In the search", "Error", "Bound", "Margin", "Price"} <= labels
    assert {"Rows", "precision", "predicted positive", "true-positive rate"} <= labels
    assert all(left >= 0 and right <= 390 for _, left, right in cells)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390


def test_feasible_is_amber_and_certified_green(show):
    browser = show("usual")
    colour = "return getComputedStyle(document.getElementById('verdict-title')).color"
    assert browser.execute_script(colour) == "rgb(138, 90, 0)"
