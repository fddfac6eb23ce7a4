"""The pages of the site: Markdown of the repository, with its made parts and its links resolved.

A page of docs/ is written by hand. Where it has a part that is made, the file holds a sentence for
its readers on GitHub between two comments, `<!-- made: NAME -->` and `<!-- end -->`; the site has
there what the template NAME makes.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from os.path import relpath
from pathlib import Path, PurePosixPath
from shutil import copyfile

from contract.errors import UsageError
from contract.program import anchor
from website.rooms import ROOT, is_taken_away

_DOCS = PurePosixPath("docs")
_AT_THE_TOP = {
    "README.md": "start.md",
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
}
"""Pages outside of docs/, and their names on the site."""
_DECISIONS = PurePosixPath("docs/decisions")
_OPENING = PurePosixPath("docs/what-was-found.md")
"""The site opens with it."""
_IMAGES = (".png", ".svg")
_MADE = re.compile(r"<!-- made: ([a-z_]+) -->\n.*?<!-- end -->", re.DOTALL)
_FENCED = r"^```.*?^```$"
_LINK = re.compile(
    _FENCED + r"|`[^`\n]+`|(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)",
    re.DOTALL | re.MULTILINE,
)
"""Code, or a link: its mark if it is an image, its text and its target."""
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
Part = Callable[[], str]


@dataclass(frozen=True)
class Page:
    """A page of the site.

    Attributes:
        source: its file in the repository.
        place: its file on the site.
        text: Markdown, with its made parts; links are as in the source.
    """

    source: PurePosixPath
    place: PurePosixPath
    text: str

    @property
    def anchors(self) -> set[str]:
        """What a link to a heading of the page ends with, as on GitHub."""
        return {anchor(heading) for heading in _HEADING.findall(_without_code(self.text))}


@dataclass
class Site:
    """All pages.

    Attributes:
        pages: by the file that they are made from.
        repository: the address at which files of the repository are shown; empty if there is none,
            then links to files are text.
        broken: links that lead nowhere, each with its page.
    """

    pages: Mapping[PurePosixPath, Page]
    repository: str = ""
    broken: list[str] = field(default_factory=list)

    def link_pages(self, page: Page) -> str:
        """Return the text of a page with links that fit the site."""
        return _LINK.sub(
            lambda found: self._link(page, *found.groups()) if found[3] else found[0], page.text
        )

    def _link(self, page: Page, image: str, text: str, target: str) -> str:
        if re.match(r"[a-z]+:", target):
            return f"{image}[{text}]({target})"
        path, _, fragment = target.partition("#")
        source = _normal(page.source.parent / path) if path else page.source
        found = self.pages.get(source) or self.pages.get(source / "index.md")
        after = f"#{fragment}" if fragment else ""
        if found is not None:
            if fragment and fragment not in found.anchors:
                self.broken.append(f"{page.source}: {found.source} has no heading #{fragment}")
            return f"[{text}]({relpath(found.place, page.place.parent)}{after})"
        if not (ROOT / source).exists() and not is_taken_away(source):
            self.broken.append(f"{page.source}: there is no {source}")
        if image:
            return f"![{text}]({relpath(_on_site(source), page.place.parent)})"
        return f"[{text}]({self.repository}/{source}{after})" if self.repository else text


def read(parts: Mapping[str, Part]) -> dict[PurePosixPath, Page]:
    """Read all pages, and make their parts.

    Args:
        parts: what makes each part, by its name.

    Raises:
        UsageError: a page has a part that nothing makes, or a part has no page.
    """
    sources = [ROOT / name for name in _AT_THE_TOP]
    sources += sorted((ROOT / _DOCS).rglob("*.md"))
    placed: set[str] = set()

    def make_part(found: re.Match[str]) -> str:
        placed.add(found[1])
        if found[1] not in parts:
            raise UsageError(f"nothing makes the part {found[1]} of a page of docs/")
        return parts[found[1]]()

    pages = [_page(file, _MADE.sub(make_part, file.read_text())) for file in sources]
    if missing := set(parts) - placed:
        raise UsageError(f"no page of docs/ has a place for: {', '.join(sorted(missing))}")
    pages.append(_list_of_decisions(pages))
    return {page.source: page for page in pages}


def write(folder: Path, pages: Mapping[PurePosixPath, Page], *, repository: str = "") -> None:
    """Write the pages and their images into a folder.

    Raises:
        UsageError: a link leads nowhere.
    """
    site = Site(pages, repository.rstrip("/"))
    for page in pages.values():
        file = folder / page.place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(site.link_pages(page))
    for image in (path for path in (ROOT / _DOCS).rglob("*") if path.suffix in _IMAGES):
        place = folder / _on_site(PurePosixPath(image.relative_to(ROOT)))
        place.parent.mkdir(parents=True, exist_ok=True)
        copyfile(image, place)
    if site.broken:
        raise UsageError("links that lead nowhere:\n" + "\n".join(site.broken))


def decisions(pages: Mapping[PurePosixPath, Page]) -> Iterator[Page]:
    """Yield the decisions, in their order."""
    for source in sorted(pages):
        if source.parent == _DECISIONS and source.name[0].isdigit():
            yield pages[source]


def title(page: Page) -> str:
    """Return the title of a page."""
    return page.text.partition("\n")[0].removeprefix("# ")


def _page(file: Path, text: str) -> Page:
    source = PurePosixPath(file.relative_to(ROOT).as_posix())
    return Page(source, _on_site(source), text)


def _on_site(source: PurePosixPath) -> PurePosixPath:
    if source == _OPENING:
        return PurePosixPath("index.md")
    if source.is_relative_to(_DOCS):
        return source.relative_to(_DOCS)
    return PurePosixPath(_AT_THE_TOP[str(source)])


def _list_of_decisions(pages: list[Page]) -> Page:
    source = _DECISIONS / "index.md"
    found = decisions({page.source: page for page in pages})
    lines = [f"- [{title(page)}]({page.source.name})" for page in found]
    return Page(source, _on_site(source), "# Decisions\n\n" + "\n".join(lines) + "\n")


def _normal(path: PurePosixPath) -> PurePosixPath:
    return PurePosixPath(relpath(ROOT / path, ROOT))


def _without_code(text: str) -> str:
    return re.sub(_FENCED, "", text, flags=re.DOTALL | re.MULTILINE)
