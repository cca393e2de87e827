"""The explorer in a real browser: its numbers are Python's, and mouse, keys and touch move it.

Needs Debian's chromium and chromium-driver: ``make test-browser``. Screenshots stay in build/.
"""

import io
import json
import math
import time
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import bocce
import explorer_golden as golden
from bocce import exact, explorer

pytestmark = pytest.mark.browser

ARTIFACTS = Path(__file__).parents[2] / "build" / "browser"
COUNT = 1000  # settings at which page and Python are compared
AT_ONCE = 50
MOST_BYTES = 200_000
SCREENS = range(1, 7)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    path.write_text(explorer.page(), "utf-8")
    return path


def settle(browser):
    """Wait until nothing is left to draw."""
    deadline = time.monotonic() + 60
    time.sleep(0.3)
    while not browser.execute_script("return document.body.dataset.drawn"):
        assert time.monotonic() < deadline, "the page is not drawn"
        time.sleep(0.05)
    return browser


@pytest.fixture
def opened(browser, page):
    browser.get("about:blank")
    browser.get(page.as_uri())
    return settle(browser)


@pytest.fixture
def phone(browser, page):
    """The page on a screen that is 400 pixels wide."""
    size = {"width": 400, "height": 850, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get("about:blank")
    browser.get(page.as_uri())
    yield settle(browser)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def state(browser, name):
    return browser.execute_script("return bocce.explorer.page.state[arguments[0]]", name)


def put(browser, **patch):
    browser.execute_script("bocce.explorer.set(arguments[0], false)", patch)
    return settle(browser)


def test_the_page_says_what_python_says(opened):
    """1,000 random settings: thresholds, rates, tables and curves agree to 1e-9."""
    opened.execute_script(
        f"window.answers = {golden.ANSWERS.strip().replace('function answers', 'function')}"
    )
    settings, wrong = golden.settings(COUNT), []
    for first in range(0, COUNT, AT_ONCE):
        some = settings[first : first + AT_ONCE]
        found = opened.execute_script(
            "return JSON.parse(arguments[0]).map(given => window.answers(bocce, given))",
            json.dumps(some),
        )
        for given, text in zip(some, found):
            wrong += golden.disagreement(given, golden.answers(given), text)
    assert not wrong, wrong[:5]


def test_it_is_one_small_file_that_asks_for_nothing(opened, page):
    assert page.stat().st_size <= MOST_BYTES
    assert opened.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert [entry for entry in opened.get_log("browser") if entry["level"] == "SEVERE"] == []
    print(f"\nsize {page.stat().st_size} bytes")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_six_screens_are_drawn(opened, scheme):
    if scheme == "dark":
        opened.find_element("id", "theme").click()
    assert opened.execute_script("return document.documentElement.dataset.theme") == scheme
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    for screen in SCREENS:
        opened.execute_script("bocce.explorer.go(arguments[0])", screen)
        settle(opened)
        curves = opened.execute_script(
            "return [...document.querySelectorAll('#view-curves .curve, #view-batches .curve')]"
            ".map(c => c.getAttribute('d')).filter(d => /NaN|Infinity|undefined/.test(d) || !d)"
        )
        assert curves == []
        words = opened.find_element("id", "words").text
        assert "rows" in words
        assert "NaN" not in words
        opened.save_screenshot(str(ARTIFACTS / f"explorer-{screen}-{scheme}.png"))
    assert [entry for entry in opened.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_nothing_is_cut_on_a_phone(phone):
    for screen in SCREENS:
        phone.execute_script("bocce.explorer.go(arguments[0])", screen)
        settle(phone)
        assert phone.execute_script("return document.documentElement.scrollWidth") <= 400
        cut = phone.execute_script(
            "return [...document.querySelectorAll('.plot text')].map(t => [t.textContent,"
            " t.getBoundingClientRect()]).filter(([, r]) => r.width"
            " && (r.left < 0 || r.right > 400)).map(([text]) => text)"
        )
        assert cut == []
    phone.save_screenshot(str(ARTIFACTS / "explorer-phone.png"))


def test_the_address_holds_the_setting(browser, page):
    browser.get("about:blank")
    browser.get(
        page.as_uri() + "#n=500&kappa=50&b=20&rows=one&T=77&show=sgd,mass-avg&b=900&d=nonsense"
    )
    settle(browser)
    assert state(browser, "n") == 500
    assert state(browser, "b") == 500, "a batch has at most n rows"
    assert state(browser, "d") == 20, "what is no number is not taken"
    put(browser, b=123)
    time.sleep(0.4)
    assert "b=123" in browser.current_url
    assert "T=77" in browser.current_url


def test_handles_move_by_mouse_and_keys(opened):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    for view, names in {
        "batches": ["b"],
        "phases": ["b", "kappa"],
        "plane": ["step", "momentum"],
    }.items():
        put(opened, b=300, kappa=1000, step=0.5, momentum=0.8)
        handle = opened.find_element("css selector", f"#view-{view} .handle")
        opened.execute_script("arguments[0].scrollIntoView({block: 'center'})", handle)
        before = [state(opened, name) for name in names]
        ActionChains(opened).drag_and_drop_by_offset(handle, 40, -30).perform()
        settle(opened)
        assert all(state(opened, name) > old for name, old in zip(names, before)), view
        before = [state(opened, name) for name in names]
        handle.send_keys(Keys.ARROW_LEFT, Keys.ARROW_DOWN)
        settle(opened)
        assert all(state(opened, name) < old for name, old in zip(names, before)), view
        assert handle.get_attribute("aria-valuetext")


def test_pointing_and_arrow_keys_read_values(opened):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    for view in ("curves", "batches"):
        plot = opened.find_element("css selector", f"#view-{view} .plot")
        opened.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
        ActionChains(opened).move_to_element_with_offset(plot, 30, 0).perform()
        readout = opened.find_element("css selector", f"#view-{view} .readout")
        assert "SGD" in readout.text
        before = readout.text
        plot.send_keys(Keys.ARROW_LEFT)
        assert readout.text != before


def test_the_story_tells_the_truth(opened):
    """The numbers in the six texts are those of the page."""
    get = opened.execute_script

    def steps(name):
        return get(
            "const { model, rows } = bocce.explorer.page;"
            "return Math.LN10 / -Math.log(bocce.mean_square_rate("
            "{ ...model, ...rows[arguments[0]] }))",
            name,
        )

    def error(name):
        return get(
            "const p = bocce.explorer.page; return p.curves[arguments[0]].error2[p.model.T]", name
        )

    get("bocce.explorer.go(1)")
    settle(opened)
    kappa = get("return bocce.explorer.page.model.kappa")
    assert steps("sgd") == pytest.approx(kappa * math.log(10), rel=0.01)
    assert steps("shb") == pytest.approx(2 * kappa**0.5 * math.log(10), rel=0.05)
    exactly = error("sgd")
    get("bocce.explorer.go(2)")
    settle(opened)
    assert error("sgd") == pytest.approx(exactly, rel=0.01), "SGD hardly notices"
    assert error("shb") > 1e3, "the same step and momentum diverge"
    get("bocce.explorer.go(4)")
    settle(opened)
    found = get("return bocce.explorer.page.thresholds")
    text = opened.find_element("id", "screen-text").text
    assert "exact limit is 88 rows of 100" in text
    assert "b*, 100 rows here" in text
    assert 87 < found["exact"] < 88
    assert found["certified"] == pytest.approx(found["exact"], rel=1e-9)
    assert found["paper"] > 99
    assert found["exact"] == pytest.approx(bocce.theory.lower_bound_threshold(100, 100.0), rel=1e-9)
    get("bocce.explorer.go(6)")
    settle(opened)
    others = get("return bocce.explorer.page.shown.filter(m => m !== 'mass-avg')")
    assert all(error("mass-avg") < error(name) for name in others)


CURVES = """
    const { page } = bocce.explorer, { state, model, curves, shown } = page;
    return {
      measure: state.measure, T: model.T, b: model.b, n: model.n, noise: model.noise,
      spectrum: [...model.spectrum], start: [...model.start], one: model.L_max !== null,
      curves: Object.fromEntries(shown.map((m) => [m, [...curves[m][state.measure]]])),
      tables: Object.fromEntries(shown.map((m) => {
        const { alpha, beta, theta } = m === "best" || m === "yours"
          ? { alpha: [], beta: [], theta: [] } : bocce.schedule(m, {
            T: model.T, n: model.n, b: model.b, L: 1, mu: model.mu,
            L_max: model.R, kappa_tilde: model.kappa_tilde });
        return [m, [[...alpha], [...beta], [...theta]]];
      })),
      found: page.found, words: document.querySelector("#words").textContent,
    };
"""


def claims(curves):
    """What a headline may say of these curves, computed anew."""
    T = len(next(iter(curves.values()))) - 1
    ends = {m: c[T] / c[0] if c[T] is not None else math.inf for m, c in curves.items()}
    grown = [m for m, end in ends.items() if not end <= 1]
    fell = [m for m in curves if m not in grown]
    found = {"grown": grown, "lowest": min(fell, key=ends.get, default=None)}
    sgd = curves.get("sgd", [None])[-1]
    known = {m: [math.inf if y is None else y for y in c] for m, c in curves.items() if m != "sgd"}
    found["matched"], found["above"] = {}, []
    if sgd is not None:
        below = {m: [k for k, y in enumerate(c) if y <= sgd] for m, c in known.items()}
        found["matched"] = {m: ks[0] for m, ks in below.items() if ks}
        found["above"] = [m for m in known if m in fell and known[m][-1] > sgd]
    return found


@pytest.mark.parametrize("measure", ["error2", "gap", "grad2"])
@pytest.mark.parametrize("screen", SCREENS)
def test_the_headline_is_read_off_the_curves_that_are_shown(opened, screen, measure):
    opened.execute_script("bocce.explorer.go(arguments[0])", screen)
    settle(opened)
    put(opened, measure=measure)
    page = opened.execute_script(CURVES)
    found = claims(page["curves"])
    for name in ("grown", "above"):
        assert sorted(page["found"][name]) == sorted(found[name])
    for name in ("lowest", "matched"):
        assert page["found"][name] == found[name]
    labels = dict(opened.execute_script(
        "return [...document.querySelectorAll('#methods [data-method]')]"
        ".map(e => [e.dataset.method, e.childNodes[1].textContent])"
    ))  # fmt: skip
    first, *rest = page["words"].split("; ")
    assert labels[found["lowest"]] + " ends lowest" in first
    said = " ".join(rest)
    for name, k in found["matched"].items():
        assert f"{labels[name]} after {k:,}" in said.replace("\u202f", ",").replace(" and ", " ")
    assert ("above SGD" in said) == bool(found["above"])
    assert ("above their start" in said or "above its start" in said) == bool(found["grown"])


def test_the_curves_of_the_headline_are_those_of_python(opened):
    opened.execute_script("bocce.explorer.go(6)")
    settle(opened)
    page = opened.execute_script(CURVES)
    model = exact.Gaussian(page["spectrum"], noise=page["noise"], start=page["start"], n=page["n"])
    for name, columns in page["tables"].items():
        if columns[0]:
            ours = exact.expected(model, bocce.Schedule(*map(np.array, columns)), page["b"])
            np.testing.assert_allclose(page["curves"][name], ours.error2, rtol=1e-9)


def test_the_parts_of_the_error_add_up_and_are_pythons(opened):
    """Sampling noise is what remains without noise of the targets; target noise is the rest."""
    opened.execute_script("bocce.explorer.go(5)")
    settle(opened)
    page = opened.execute_script(CURVES)
    parts = opened.execute_script(
        "return Object.fromEntries(Object.entries(bocce.explorer.page.parts).map(([m, p]) =>"
        " [m, [p.bias, p.sampling, p.targets].map((c) => [...c])]))"
    )
    spectrum, start, n, b = (page[name] for name in ("spectrum", "start", "n", "b"))
    for name, (bias, sampling, targets) in parts.items():
        table = bocce.Schedule(*map(np.array, page["tables"][name]))
        whole = np.array(page["curves"][name])
        np.testing.assert_allclose(np.sum([bias, sampling, targets], axis=0), whole, rtol=1e-9)
        quiet = exact.expected(exact.Gaussian(spectrum, start=start, n=n), table, b)
        np.testing.assert_allclose(np.add(bias, sampling), quiet.error2, rtol=1e-9)
        assert targets[-1] > sampling[-1], "at the end the noise of the targets is what is left"


def test_it_can_be_read_aloud(opened):
    """One h1, every control and plot named, the answer in words announced."""
    unnamed = opened.execute_script(
        "return [...document.querySelectorAll('button, select, input, .plot')].filter(e =>"
        " !(e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label')"
        " || (e.labels && e.labels.length))).map(e => e.outerHTML)"
    )
    assert unnamed == []
    assert len(opened.find_elements("tag name", "h1")) == 1
    assert opened.find_element("id", "words").get_attribute("role") == "status"


@pytest.mark.parametrize("spectrum", ["linear", "geometric", "power", "two", "data"])
def test_the_copied_python_prints_the_numbers_of_the_page(opened, spectrum):
    put(opened, spectrum=spectrum, n=2000, b=300, d=7, kappa=30, T=60, noise=0.01,
        show="sgd,shb,2p-shb,nesterov,best,mass-avg,yours", step=0.7, momentum=0.6)  # fmt: skip
    command, text = opened.execute_script("return bocce.explorer.texts()")
    assert command.startswith("bocce theory -n ")
    said = io.StringIO()
    with redirect_stdout(said):
        exec(text, {})
    printed = {
        line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
        for line in said.getvalue().splitlines()
    }
    page = opened.execute_script(
        "const p = bocce.explorer.page; return {'gain of momentum': p.best.gain,"
        " 'critical batch': p.thresholds.exact, certified: p.thresholds.certified,"
        ' "paper\'s b*": p.thresholds.paper,'
        " ...Object.fromEntries(p.shown.map(m => [m, p.curves[m].error2[p.model.T]]))}"
    )
    assert printed == pytest.approx(page, rel=1e-5)  # the page writes six digits of kappa


def test_a_redraw_is_quick(opened):
    """A figure, not a promise: the milliseconds of a redraw while a slider is dragged."""
    put(opened, d=50, T=2000, noise=0.01, show="sgd,shb,nesterov,best,mass-avg", b=300)
    found = {}
    for name, low, high in (("b", 100, 900), ("kappa", 300, 3000)):
        times = opened.execute_script(
            """
            const times = [], [name, low, high] = arguments, { page, redraw } = bocce.explorer;
            for (let i = 0; i < 20; i++) {
              page.state[name] = Math.round(low + (high - low) * i / 20);
              redraw(true);
              times.push(page.redraw_ms);
            }
            return times.sort((a, b) => a - b);
            """,
            name,
            low,
            high,
        )
        found[name] = f"{times[0]:.0f} to {times[len(times) // 2]:.0f} ms"
    print(f"\nredraw, least to median, d = 50, T = 2,000: {found}")
    first = opened.execute_script(
        "return performance.getEntriesByType('paint').map(p => p.startTime)"
    )
    print(f"first paint after {max(first, default=0):.0f} ms")
    assert found


def test_the_gallery_data_are_its_data(opened):
    """What the page knows of digits is what Python says of them."""
    import runpy

    made = runpy.run_path(str(Path(__file__).parents[2] / "docs/pictures/explorer_data.py"))
    ours, kept = made["described"](), json.loads((explorer.HERE / "gallery.json").read_text())
    for name in ("n", "noise", "R", "kappa_tilde"):
        assert kept[name] == pytest.approx(ours[name], rel=1e-6)
    assert kept["spectrum"] == pytest.approx(ours["spectrum"], rel=1e-6)


def test_a_data_set_of_ones_own(browser, tmp_path):
    X, y, _ = bocce.data.regression(400, 6, 50.0, noise_var=0.1)
    name = "</script><b>mine"
    text = explorer.page(explorer.describe(bocce.LeastSquares(X, y), name))
    (tmp_path / "mine.html").write_text(text, "utf-8")
    browser.get((tmp_path / "mine.html").as_uri())
    settle(browser)
    assert state(browser, "spectrum") == "data"
    assert browser.execute_script("return bocce.explorer.page.model.kappa") == pytest.approx(50.0)
    assert name in browser.find_element("id", "preset").text


def test_every_method_has_a_colour(opened):
    missing = opened.execute_script(
        "const style = getComputedStyle(document.documentElement);"
        "return [...document.querySelectorAll('#methods [data-method]')]"
        ".map((e) => e.dataset.method).filter((m) => !style.getPropertyValue('--' + m).trim())"
    )
    assert missing == []
