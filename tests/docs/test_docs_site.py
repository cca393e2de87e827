"""What the site names exists, docstrings survive Sphinx, and dead links are found."""

import re
import runpy
from pathlib import Path

import pytest
import typer

import bocce
from bocce.cli import app
from bocce.control import registry

DOCS = Path(__file__).parents[2] / "docs"
CONF = runpy.run_path(str(DOCS / "conf.py"))
LINKS = runpy.run_path(str(DOCS / "check_links.py"))


def rendered(text, name="bocce.minimize"):
    lines = text.split("\n")
    CONF["plain_text"](None, "function", name, None, None, lines)
    return "\n".join(lines)


def test_stars_bars_and_underscores_are_escaped_outside_code_only():
    assert rendered("||w - w*|| of x_ and ``a*b`` and `c*d`") == (
        r"\|\|w - w\*\|\| of x\_ and ``a*b`` and `c*d`"
    )
    assert rendered(">>> 2 * 3\n6") == ">>> 2 * 3\n6"


@pytest.mark.parametrize("before", ["The bound", "The bound::"])
def test_an_indented_paragraph_is_a_literal_block(before):
    text = rendered(f"{before}\n\n    E||w||^2 <= c*\n\n    + d*\n\nholds*.")
    assert "    E||w||^2 <= c*\n\n    + d*\n\nholds\\*." in text
    assert text.count("::") == 1


def test_the_paragraphs_of_a_parameter_are_text_and_later_ones_may_be_formulas():
    head = "Parameters\n----------\nw : array, default 0\n    The start w*.\n\n    Or None.\n"
    text = rendered(f"{head}\nNotes\n-----\nThe bound\n\n    E||w|| <= c*\n")
    assert "w : array, default 0\n    The start w\\*.\n\n    Or None.\n" in text
    assert text.count("::") == 1
    assert "    E||w|| <= c*" in text


def site(folder, link):
    folder.mkdir(exist_ok=True)
    (folder / "index.html").write_text(f'<h1 id="top">t</h1><a href="{link}">x</a>')
    (folder / "other page.html").write_text('<p id="here">p</p><a href="https://else.where">x</a>')
    return folder


@pytest.mark.parametrize("link", ["#top", "other%20page.html", "other%20page.html#here", "a:b"])
def test_a_link_that_leads_somewhere_passes(tmp_path, link):
    assert LINKS["broken"](site(tmp_path, link)) == []
    assert LINKS["main"](tmp_path) == 0


@pytest.mark.parametrize(
    ("link", "why"),
    [("gone.html", "file"), ("#gone", "anchor"), ("other%20page.html#top", "anchor")],
)
def test_a_dead_link_is_named(tmp_path, capsys, link, why):
    assert LINKS["main"](site(tmp_path, link)) == 1
    assert f"index.html: {link}: no such {why}" in capsys.readouterr().err


def test_a_folder_without_a_site_is_refused(tmp_path, capsys):
    assert LINKS["main"](tmp_path) == 2
    assert "has no index.html" in capsys.readouterr().err


def test_the_notation_names_what_is_there():
    table = (DOCS / "notation.md").read_text(encoding="utf-8")
    problem = bocce.LeastSquares([[1.0], [2.0]], [1.0, 2.0])
    owners = {"p": problem, "Schedule": bocce.schedules.shb(1, 2.0, 1.0), "theory": bocce.theory}
    owners |= {"exact": bocce.exact, "Constants": problem.constants(), "Noise": problem.noise()}
    owners["Result"] = bocce.minimize(problem, "sgd", T=1)
    names = re.findall(r"`(\w+)\.(\w+)", table)
    assert {owner for owner, _ in names} == set(owners)
    for owner, name in names:
        assert hasattr(owners[owner], name), f"{owner}.{name}"


def test_the_page_of_commands_shows_every_option_and_the_examples_as_code(tmp_path):
    write = CONF["write_commands"]
    write.__globals__["HERE"] = tmp_path
    try:
        write(None)
    finally:
        write.__globals__["HERE"] = DOCS
    text = (tmp_path / "_cli.md").read_text(encoding="utf-8")
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        section = text.split(f"## `bocce {name}`")[1].split("\n## ")[0]
        options = [option for p in command.params for option in p.opts if option.startswith("--")]
        assert [
            option for option in options if f"`{option}" not in section.replace(", ", "`, `")
        ] == []
        assert re.search(r"Examples:\n\n```console\n  bocce ", section)
        assert f"* `{name}`: {command.help.splitlines()[0]}\n" in text
    assert "&lt;" not in re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def test_every_public_name_has_a_place_in_the_api_pages():
    page = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    for name in bocce.__all__:
        assert name == "__version__" or re.search(rf"\b{name}\b", page), name


def test_the_methods_that_are_recommended_exist():
    page = (DOCS / "choosing.md").read_text(encoding="utf-8")
    small = page.split("| method | small batches |")[1].split("\n\n")[0]
    named = re.findall(r"`([a-z0-9-]+)`", small) + re.findall(r'`"([a-z0-9-]+)"`', page)
    assert len(named) > 20
    assert set(named) <= set(registry())
