"""Every link inside the built site leads somewhere, anchors included.

python docs/check_links.py docs/_build/html
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors of a page and the addresses that it names."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.addresses: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.anchors.add(value)
            elif value and name in ("href", "src"):
                self.addresses.add(value)


def broken(site: Path) -> list[str]:
    """One line for each address that leads nowhere."""
    site = site.resolve()
    found = (path for path in site.rglob("*.html") if "_static" not in path.relative_to(site).parts)
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in found}
    wrong = []
    for path, page in sorted(pages.items()):
        for address in sorted(page.addresses):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.is_file():
                wrong.append(f"{path.relative_to(site)}: {address}: no such file")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                wrong.append(f"{path.relative_to(site)}: {address}: no such anchor")
    return wrong


def main(site: Path) -> int:
    if not (site / "index.html").is_file():
        print(f"check_links: {site} has no index.html; build the site first.", file=sys.stderr)
        return 2
    wrong = broken(site)
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    print(f"links inside {site}: {len(wrong)} broken")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
