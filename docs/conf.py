"""The site: `make docs` builds it without a warning and without the network."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import bocce

HERE = Path(__file__).parent

project = "bocce"
author = "the bocce developers"
copyright = "2026, the bocce developers"
version = release = bocce.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas are drawn by files of the site itself
    "sphinx_gallery.gen_gallery",
    "sphinx_design",  # the cards of the first page
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "_cli.md", "auto_examples/**/*.ipynb", "auto_examples/**/*.json"]
templates_path = ["_templates"]
default_role = "code"
smartquotes = False  # an option is written --target
nitpicky = True
# Types of other packages, words that numpydoc takes for types, and classes inside a subpackage that
# no page shows: there is nothing to link to.
nitpick_ignore_regex = [("py:class", r"(?!bocce\.).*"), ("py:class", r"bocce(\.\w+){3,}")]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
maximum_signature_line_length = 110
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (400, 280),
}
# The panel of a page's picture that its thumbnail shows: left, top, right, bottom, in shares.
THUMBNAILS = {
    "plot_0_pictures": (0.0, 0.5, 0.305, 1.0),
    "plot_1_schedules": (0.51, 0.0, 1.0, 0.41),
    "plot_2_acceleration": (0.0, 0.0, 0.49, 1.0),
    "plot_3_noise_floors": (0.685, 0.0, 1.0, 1.0),
    "plot_4_threshold": (0.0, 0.0, 0.525, 1.0),
    "plot_5_auto": (0.0, 0.0, 0.5, 0.93),
    "plot_6_exact_and_runs": (0.0, 0.0, 1.0, 0.705),
    "plot_7_torch": (0.5, 0.0, 1.0, 1.0),
    "plot_8_sklearn": (0.5, 0.0, 1.0, 1.0),
    "plot_9_probe": (0.5, 0.0, 1.0, 1.0),
    "plot_a_best_schedule": (0.0, 0.0, 0.235, 1.0),
}

html_theme = "pydata_sphinx_theme"
html_title = "bocce"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {page: [] for page in ("index", "explorer")}  # no others stand beside them
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_theme_options = {
    "logo": {"text": "bocce"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
}

LITERAL = re.compile(r"(`+.*?`+)")
# Sections whose indented lines describe a name, not a formula.
DESCRIBED = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")


def escape(line):
    """No markup outside backticks: the star of w* and the bars of ||g|| are meant."""
    parts = LITERAL.split(line)
    parts[::2] = [re.sub(r"([*|]|_\b)", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def plain_text(app, what, name, obj, options, lines):
    """Make reStructuredText of our docstrings, which are plain text in numpydoc's sections.

    An indented paragraph is a formula, except in the sections that describe names.
    """
    text, formula, section = [], False, ""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if re.fullmatch("-{3,}", below):
            section = line
        indented = line.startswith("    ") and section not in DESCRIBED
        if indented and text and not text[-1] and not formula:
            formula = True
            text += [] if text[-2].endswith("::") else ["::", ""]
        elif line and not indented:
            formula = False
        code = formula or line.lstrip().startswith((">>>", "..."))
        text.append(line if code else escape(line))
    lines[:] = text


def public_name(app, env, node, content):
    """Signatures name a class by the file it lives in; link to the page that shows it."""
    name = "." + node.get("reftarget", "").rpartition(".")[2]
    python = env.get_domain("py")
    shown = [full for full in python.objects if full.endswith(name) and full.startswith("bocce.")]
    if node.get("reftype") != "class" or not shown:
        return None
    node["reftarget"] = min(shown, key=len)
    return python.resolve_xref(
        env, node["refdoc"], app.builder, "class", node["reftarget"], node, content
    )


def draw_decision(app):
    """The picture of choosing.md; that of the front page takes longer and is kept in the repo."""
    runpy.run_path(str(HERE / "pictures" / "which.py"))["main"](HERE / "_static" / "which.svg")


def cut_thumbnails(app):
    """One panel each: a whole picture of several panels cannot be read at this size."""
    from PIL import Image, ImageOps

    images = HERE / "auto_examples" / "images"
    for name, share in THUMBNAILS.items():
        with Image.open(images / f"sphx_glr_{name}_001.png") as picture:
            width, height = picture.size
            box = [part * size for part, size in zip(share, (width, height) * 2, strict=True)]
            panel = picture.convert("RGB").crop([round(edge) for edge in box])
        thumbnail = ImageOps.pad(panel, sphinx_gallery_conf["thumbnail_size"], color="white")
        thumbnail.save(images / "thumb" / f"sphx_glr_{name}_thumb.png")


def write_explorer(app):
    """The page that explorer.md shows."""
    (HERE / "_static" / "explorer.html").write_text(bocce.explorer.page(), encoding="utf-8")


def write_commands(app):
    """Every command with its options, as the command line itself tells them."""
    from typer.cli import get_docs_for_click
    from typer.main import get_command

    from bocce.cli import app as commands

    command = get_command(commands)
    with command.make_context("bocce", [], resilient_parsing=True) as context:
        text = get_docs_for_click(obj=command, ctx=context, name="bocce")
    text = text.split("\n", 1)[1].replace("\b\n", "")  # what keeps a terminal from rewrapping
    for name, one in command.commands.items():  # whole sentences, which the list cuts off
        text = re.sub(
            rf"^\* `{name}`: .*$", f"* `{name}`: {one.help.split(chr(10))[0]}", text, flags=re.M
        )
    # examples, which stand two columns to the right of the text, are code
    text = re.sub(r"^(\w[\w ]*:)\n((?:  .+\n)+)", r"\1\n\n```console\n\2```\n", text, flags=re.M)
    # what looks like a tag is text, except in code, where it is taken as it stands
    text = re.sub(r"(```.*?```|`[^`\n]*`)|<", lambda m: m[1] or "&lt;", text, flags=re.DOTALL)
    (HERE / "_cli.md").write_text(text, encoding="utf-8")


def setup(app):
    app.connect("builder-inited", write_commands)
    app.connect("builder-inited", draw_decision)
    app.connect("builder-inited", write_explorer)
    app.connect("builder-inited", cut_thumbnails, priority=900)  # after the gallery has run
    app.connect("autodoc-process-docstring", plain_text, priority=100)
    app.connect("missing-reference", public_name)
