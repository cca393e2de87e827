"""Find riddles and long sentences in the docs and docstrings: part of ``make lint``.

python docs/check_style.py [FILE ...]
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_WORDS = 35
RIDDLES = re.compile(
    r"\b(at hand|hoped for|told by|of itself|that which|those of which|belong together|as always|"
    r"without further words|there are no others|put to sleep|said so far|of which nothing)\b",
    re.IGNORECASE,
)
CODE = re.compile(r"```.*?```|\$\$.*?\$\$|`[^`]*`|\$[^$]*\$", re.DOTALL)
END = re.compile(r"[.!?:;][)*\"]*\s+|\n\s*\n|\n\s*[-*|#>]|\n\d+\. ")


def sentences(text: str) -> list[str]:
    """Prose without code, formulas, tables and links' addresses."""
    text = CODE.sub("x", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"^( {4}|\t|\||:| *bocce [a-z]+ ).*$", "", text, flags=re.MULTILINE)
    return [" ".join(part.split()) for part in END.split(text) if part and part.strip()]


def faults(name: str, text: str) -> list[str]:
    """What to change in a text, a line each."""
    found = [f"{name}: riddle {m[0]!r}" for m in RIDDLES.finditer(text)]
    for sentence in sentences(text):
        count = len(sentence.split())
        if count > MOST_WORDS:
            found.append(f"{name}: {count} words: {sentence}")
    return found


def docstrings(path: Path) -> str:
    """All docstrings of the public names of a module, up to their first section."""
    texts = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
            if getattr(node, "name", "module").startswith("_"):
                continue
            text = ast.get_docstring(node) or ""
            texts.append(re.split(r"\n\w[\w ]*\n-{3,}", text)[0])
    return "\n\n".join(texts)


def main(names: list[str]) -> int:
    pages = [Path(name) for name in names] or [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted(ROOT.glob("docs/*.md")),
        *sorted(ROOT.glob("docs/cookbook/*.md")),
        *sorted(ROOT.glob("docs/extend/*.md")),
        *sorted(ROOT.glob("docs/theory/*.md")),
        *sorted(ROOT.glob("src/bocce/**/*.py")),
        *sorted(ROOT.glob("paper/src/bocce_paper/**/*.py")),
    ]
    found = []
    for page in pages:
        name = page.resolve().relative_to(ROOT).as_posix()
        if page.name.startswith("_"):
            continue
        text = page.read_text(encoding="utf-8")
        found += faults(name, docstrings(page) if page.suffix == ".py" else text)
    print("\n".join(found) or f"{len(pages)} files: plain, no sentence over {MOST_WORDS} words")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
