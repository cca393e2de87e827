"""The report in a real browser: drawn, quiet, and usable with mouse and keyboard.

Needs Debian's chromium and chromium-driver: ``make test-browser``. The screenshots stay in build/.
"""

import time
from itertools import pairwise
from pathlib import Path

import pytest

from bocce_paper import report, runner
from bocce_paper.exhibits import chosen
from bocce_paper.specs import PROFILES, SETTINGS, Profile

pytestmark = pytest.mark.browser

TINY = Profile("paper", rows=60, columns=20, share=0.01, seeds=2, passes=1.0)
NAMES = ["fig1", "fig2", "fig5", "fig6", "fig7", "table1", "misestimation", "bounds"]
ARTIFACTS = Path(__file__).parents[2] / "build" / "browser"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The report of a few figures at tiny T."""
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROFILES, "paper", TINY)
        results = runner.reproduce(runner.plan(folder, chosen(NAMES), TINY, SETTINGS))
        return report.Page(folder, results).publish()


def show(browser, page):
    """Open the page and wait until every figure that is shown is drawn."""
    browser.get(page.as_uri())
    deadline = time.monotonic() + 120
    script = (
        "return [...document.querySelectorAll('.chart:not([data-drawn])')]"
        ".filter(c => c.offsetParent).length"
    )
    while browser.execute_script(script):
        assert time.monotonic() < deadline, "not every figure was drawn"
        time.sleep(0.1)
    return browser


@pytest.fixture
def opened(browser, page):
    return show(browser, page)


@pytest.fixture
def phone(browser, page):
    """The page on a screen that is 375 pixels wide."""
    size = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    yield show(browser, page)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def traces(browser, name):
    return browser.execute_script(
        "return document.getElementById(arguments[0])._fullData.map(t => [t.name, t.visible])", name
    )


def test_every_figure_is_drawn_and_nothing_complains(opened):
    charts = opened.execute_script(
        "return [...document.querySelectorAll('.chart')].filter(c => c.offsetParent)"
        ".map(c => [c.id, "
        "c.querySelectorAll('.main-svg').length, c.querySelectorAll('.trace, canvas').length])"
    )
    assert len(charts) == 7  # one setting of each figure, and a card
    assert all(svgs > 0 and drawn > 0 for _, svgs, drawn in charts), charts
    assert [entry for entry in opened.get_log("browser") if entry["level"] == "SEVERE"] == []
    fetched = opened.execute_script("return performance.getEntriesByType('resource').length")
    assert fetched == 0, "the page works without a network"
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    opened.save_screenshot(str(ARTIFACTS / "top.png"))
    opened.execute_script("document.getElementById('lower_bound_2').scrollIntoView()")
    opened.save_screenshot(str(ARTIFACTS / "lower_bound_2.png"))


def test_nothing_is_cut_on_a_phone(phone):
    """The page does not scroll sideways; panels stand below one another, inside the screen."""
    assert phone.execute_script("return document.documentElement.scrollWidth") <= 375
    cut = phone.execute_script(
        "return [...document.querySelectorAll('.chart .xtitle, .chart .g-gtitle, .chart .legend')]"
        ".filter(e => { const r = e.getBoundingClientRect();"
        " return r.width > 0 && (r.left < 0 || r.right > 375); }).length"
    )
    assert cut == 0
    domains = phone.execute_script(
        "const l = document.getElementById('chart-misestimation')._fullLayout;"
        "return [l.xaxis.domain, l.xaxis2.domain]"
    )
    assert domains == [[0, 1], [0, 1]]
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    phone.save_screenshot(str(ARTIFACTS / "phone.png"))


def test_what_stands_comes_first(opened):
    order = opened.execute_script(
        "return [...document.querySelectorAll('h2')].map(h => h.textContent)"
    )
    assert order[0] == "What stands"
    assert order[1].startswith("Figure 1: ")
    assert order[-2:] == ["All claims", "Provenance"]
    assert len(opened.find_elements("css selector", ".card")) == 5


def test_a_button_shows_another_setting(opened):
    def shown():
        return opened.execute_script(
            "return [...document.querySelectorAll('div[data-figure=panetal_multistage]')]"
            ".filter(part => part.offsetParent).map(part => part.dataset.setting)"
        )

    assert shown() == ["paper"]
    opened.execute_script(
        "document.querySelector('button[data-figure=panetal_multistage][data-setting=authors]').click()"
    )
    assert shown() == ["authors"]
    chart = "document.getElementById('chart-panetal_multistage-authors')"
    deadline = time.monotonic() + 20
    while not opened.execute_script(f"return {chart}.querySelector('.trace') !== null"):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_claims_can_be_filtered(opened):
    def rows():
        return opened.execute_script(
            "return [...document.querySelectorAll('.claims tbody tr')].filter(r => !r.hidden)"
            ".map(r => [r.dataset.kind, r.textContent])"
        )

    everything = rows()
    opened.execute_script(
        "document.querySelector('button[data-filter=kind][data-value=Ours]').click()"
    )
    assert 0 < len(rows()) < len(everything)
    assert {kind for kind, _ in rows()} == {"Ours"}
    opened.execute_script(
        "const find = document.getElementById('find'); find.value = 'nothing has these words';"
        "find.dispatchEvent(new Event('input'))"
    )
    assert rows() == []


def test_the_legend_hides_and_shows_a_method(opened):
    chart = "chart-misestimation"
    entry, name = opened.execute_script(
        "const c = document.getElementById(arguments[0]); c.scrollIntoView();"
        "const entry = c.querySelector('.legendtoggle');"
        "return [entry, entry.parentNode.querySelector('.legendtext').dataset.unformatted]",
        chart,
    )
    assert name in {n for n, _ in traces(opened, chart)}
    for wanted in ("legendonly", True):
        opened.execute_script(
            "for (const kind of ['mousedown', 'mouseup'])"
            " arguments[0].dispatchEvent(new MouseEvent(kind, {bubbles: true}))",
            entry,
        )
        deadline = time.monotonic() + 10
        while {v for n, v in traces(opened, chart) if n == name} != {wanted}:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_a_button_switches_the_axes_by_keyboard(opened):
    from selenium.webdriver.common.keys import Keys

    def kinds():
        return opened.execute_script(
            "const l = document.getElementById('chart-misestimation')._fullLayout;"
            "return [l.yaxis.type, l.yaxis2.type]"
        )

    assert kinds() == ["log", "log"]
    button = opened.find_element("css selector", "button[data-for='misestimation'][data-axis='y']")
    button.send_keys(Keys.ENTER)
    deadline = time.monotonic() + 10
    while kinds() != ["linear", "linear"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_it_can_be_read_in_order(opened):
    """One h1, no level skipped, every chart and table named, and Tab first leads to what stands."""
    levels = opened.execute_script(
        "return [...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])"
    )
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    unnamed = opened.execute_script(
        "return [...document.querySelectorAll('[role=img],[role=region]')]"
        ".filter(e => !e.getAttribute('aria-label')).length"
    )
    assert unnamed == 0
    from selenium.webdriver.common.keys import Keys

    opened.find_element("tag name", "body").send_keys(Keys.TAB)
    assert opened.switch_to.active_element.text == "Skip to what stands"
