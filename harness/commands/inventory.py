"""What `fencepost list` has besides scenarios: checks, verbs, faults, settings and clients."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_type_hints

import msgspec

from cluster.kafka.settings import Of, setting_types
from contract.packages import folders
from contract.software import INSTALLED, Level
from contract.terms import Check
from harness.faults.language import FAULTS
from harness.story.run import Run

Row = tuple[str, str]
"""What is listed, and what it is in one line."""
_CHECKS = Path(__file__).resolve().parents[2] / "analysis" / "checks"
_WITHOUT_STATEMENT = {
    Check.RESUMPTION: "Where each group resumed, of each commit style and policy.",
    Check.VACUOUS_CHECK: "A check of `must_judge` that had nothing to judge.",
}


class _Header(msgspec.Struct):
    definition: str


def checks() -> Iterator[Row]:
    """What each check finds, as the header of its statement defines it."""
    for check in Check:
        file = _CHECKS / f"{check}.sql"
        if check in _WITHOUT_STATEMENT:
            yield check, _WITHOUT_STATEMENT[check]
            continue
        header = file.read_text().partition("/*")[2].partition("*/")[0]
        definition = msgspec.yaml.decode(header, type=_Header).definition
        yield check, " ".join(definition.split())


def verbs() -> Iterator[Row]:
    """What a story is written in: the methods of a run, and of what it has."""
    story = Run.__module__.rpartition(".")[0]
    parts = {"run": Run} | {
        f"run.{name}": kind
        for name, kind in get_type_hints(Run).items()
        if inspect.isclass(kind) and kind.__module__.startswith(f"{story}.")
    }
    for speaker, kind in parts.items():
        for name, found in vars(kind).items():
            if inspect.isfunction(found) and not name.startswith("_"):
                given = [*inspect.signature(found).parameters][1:]
                yield f"{speaker}.{name}({', '.join(given)})", _summary(found)


def faults() -> Iterator[Row]:
    """The faults by their classes; by hand it is a verb and its target."""
    for fault in FAULTS:
        if inspect.isabstract(fault):
            continue
        given = [*inspect.signature(fault).parameters]
        by_hand = [form.verb for form in vars(fault).get("by_hand", ())]
        hint = f" By hand: {', '.join(by_hand)}." if by_hand else ""
        yield f"{fault.__name__}({', '.join(given)})", f"{_summary(fault)}{hint}"


def settings() -> Iterator[Row]:
    """The settings of Kafka's classes, in any locked version, with their types and bounds."""
    for of in Of:
        for name, kind in sorted(setting_types(of).items()):
            yield f"{of} {name}", kind.lower()


class ClientFeatures(msgspec.Struct, frozen=True):
    """What a features file says that a client does by itself (docs/conformance.md).

    The extra that has the file checks it.
    """

    client: str
    language: str
    level: str
    resets: list[str]
    isolations: list[str]
    by_itself: str
    epochs: str = ""
    stable_offsets: str = ""

    @property
    def commit_epochs(self) -> str:
        """Whose leader epoch its commits have."""
        return _EPOCHS[self.epochs]

    @property
    def asks_stably(self) -> str:
        """When it asks for stable offsets."""
        return self.stable_offsets.replace("read_c", "with read_c") or _NO_COMMITS

    @property
    def shows_positions(self) -> str:
        """Whether it shows them to an application."""
        return "yes" if self.level == Level.POSITIONS else "no"

    @property
    def log(self) -> str:
        """What is read from its log."""
        return "resets" if self.client in INSTALLED else "nothing"


_NO_COMMITS = "commits nothing"
_EPOCHS = {
    "record": "the last record's",
    "fetched": "that of the commit where it began",
    "metadata": "its metadata's",
    "varies": "the last record's, or none",
    "none": "none",
    "": _NO_COMMITS,
}


def client_features() -> list[ClientFeatures]:
    """Read the features files of the clients that are built in, and of guests, by name."""
    places = [path for folder in folders("clients") for path in folder.rglob("*.yml")]
    files = [path for path in places if path.parent.name == "built_in" or path.stem == "features"]
    found = [msgspec.yaml.decode(file.read_bytes(), type=ClientFeatures) for file in files]
    return sorted(found, key=lambda features: (features.client not in INSTALLED, features.client))


def clients() -> Iterator[Row]:
    """What each client does by itself; what stands first is its default."""
    for has in client_features():
        said = (
            f"commits {has.by_itself}",
            f"epoch of a commit: {has.commit_epochs}",
            f"stable offsets: {has.asks_stably}",
            f"positions: {has.shows_positions}",
            f"{has.isolations[0]}, {has.resets[0]}",
            f"read of its log: {has.log}",
        )
        yield has.client, ". ".join(said)


def _summary(described: object) -> str:
    return " ".join((inspect.getdoc(described) or "").partition("\n\n")[0].split())


LISTS: dict[str, Callable[[], Iterator[Row]]] = {
    "checks": checks,
    "verbs": verbs,
    "faults": faults,
    "settings": settings,
    "clients": clients,
}
