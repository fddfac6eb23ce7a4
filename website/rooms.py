"""The rooms of the repository that may be taken away, with their tests: `lab`, each extra."""

from pathlib import Path, PurePath

ROOT = Path(__file__).resolve().parents[1]


def is_taken_away(path: PurePath) -> bool:
    """Whether a path of the repository is in a room that is not there."""
    match path.parts:
        case ("lab", *_):
            return not (ROOT / "lab").exists()
        case ("extras", extra, *_):
            return not (ROOT / "extras" / extra).exists()
        case ("tests", kind, room, _, *_):
            return not (ROOT / "tests" / kind / room).exists()
        case _:
            return False
