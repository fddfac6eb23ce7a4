"""Pages of docs/ with a part that a command makes; the text outside of its markers is by hand."""

import re
from dataclasses import dataclass
from pathlib import Path

_DOCS = Path(__file__).resolve().parents[1] / "docs"


@dataclass(frozen=True)
class MadePage:
    """A page with a part that a command makes.

    Attributes:
        name: of the file in docs/.
        command: that makes it, as the markers name it.
    """

    name: str
    command: str

    @property
    def path(self) -> Path:
        """The file."""
        return _DOCS / self.name

    def filled(self, page: str, made: str) -> str:
        """Return a text of the page with its part made again.

        Raises:
            ValueError: the text has no markers.
        """
        begin = f"<!-- made by {self.command} -->"
        end = f"<!-- end of what {self.command} made -->"
        part = re.compile(f"{begin}.*{end}", re.DOTALL)
        if not part.search(page):
            raise ValueError(f"docs/{self.name} needs the lines {begin} and {end}")
        return part.sub(lambda _: f"{begin}\n\n{made}\n\n{end}", page)
