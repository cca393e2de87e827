"""bocce explore: writes the page, with a data set's own numbers where one is given."""

import json

import pytest

import bocce  # noqa: F401
from bocce import explorer
from cli_helpers import assert_refused, run, write_table


@pytest.fixture
def opened(monkeypatch):
    """The addresses that a browser would have been sent to."""
    asked = []
    monkeypatch.setattr("webbrowser.open", lambda address: asked.append(address) or True)
    return asked


def test_it_writes_the_page_and_opens_it(tmp_path, monkeypatch, opened):
    monkeypatch.chdir(tmp_path)
    assert run("explore").stdout == "wrote explorer.html\n"
    assert (tmp_path / "explorer.html").read_text("utf-8") == explorer.page()
    assert opened == [(tmp_path / "explorer.html").as_uri()]


def test_it_need_not_open_a_browser(tmp_path, opened):
    path = tmp_path / "page.html"
    result = run("explore", "--out", path, "--no-open", "--json")
    assert json.loads(result.stdout) == {"page": str(path), "opened": False}
    assert path.exists()
    assert opened == []


def test_with_data_it_knows_them(tmp_path, opened):
    table, path = write_table(tmp_path / "mine.csv", noise_var=0.1), tmp_path / "page.html"
    assert run("explore", "--data", table, "--l2", 0.1, "--out", path, "--no-open").exit_code == 0
    text = path.read_text("utf-8")
    found = json.loads(text.partition("const DATA = ")[2].partition(", GALLERY = ")[0])
    assert (found["name"], found["n"], len(found["spectrum"])) == ("mine.csv", 60, 3)
    again = explorer.describe(eval(found["source"]), found["name"], found["source"])
    assert found == again  # the page's own line of Python gives the same data


def test_bad_input_is_refused_before_anything_is_written(tmp_path, monkeypatch, opened):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert_refused(
        run("explore", "--l2", 1), before, tmp_path, "--l2 must be left out without --data"
    )
    assert_refused(run("explore", "--data", "absent.csv"), before, tmp_path, "absent.csv")
    assert_refused(run("explore", "--loss", "cubic"), before, tmp_path, "cubic")
    assert_refused(run("explore", "--out", "no/page.html"), before, tmp_path, "no folder")
    assert opened == []
