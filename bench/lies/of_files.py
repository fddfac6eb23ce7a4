"""Lies about histories, logs, the plan and what is known of the run."""

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from bench.lies.alone import UNCLEAR, Damage, FileLie
from bench.lies.lie import NoPlaceError, Verb
from contract.checks import Check
from contract.run_folder import GENERATED, Plan, RunDescription, RunFolder
from contract.verdicts import CheckVerdict

Lines = list[bytes]
CLIENTS, DRIVER, OBSERVER = "clients", "driver", "observer"
_PERMITTED = (CheckVerdict.PERMITTED,)


def lines_of(worker: str, change: Callable[[Lines, Random], Lines]) -> Damage:
    """Change the lines of a worker's history."""

    def damage(folder: RunFolder, random: Random) -> None:
        path = folder.history / f"{worker}.jsonl"
        path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True), random)))

    return damage


def until(share: float) -> Callable[[Lines, Random], Lines]:
    """Only the first lines."""
    return lambda lines, _: lines[: int(len(lines) * share)]


def without_last(lines: Lines, _: Random) -> Lines:
    """All lines but the last."""
    return lines[:-1]


def torn(lines: Lines, _: Random) -> Lines:
    """The last line without its end."""
    return [*lines[:-1], lines[-1][: len(lines[-1]) // 2]]


def at_one(text: bytes, becomes: Callable[[bytes], Lines]) -> Callable[[Lines, Random], Lines]:
    """Replace one line that has a text by the lines that it becomes."""

    def change(lines: Lines, random: Random) -> Lines:
        index = random.choice(places(lines, text))
        return [*lines[:index], *becomes(lines[index]), *lines[index + 1 :]]

    return change


def without_one(text: bytes) -> Callable[[Lines, Random], Lines]:
    """All lines but one that has a text."""
    return at_one(text, lambda _: [])


def renumbered_without(text: bytes) -> Callable[[Lines, Random], Lines]:
    """All lines but those that have a text, numbered as if these had never been."""

    def change(lines: Lines, _: Random) -> Lines:
        gone = set(places(lines, text))
        kept = [msgspec.json.decode(x) for n, x in enumerate(lines) if n not in gone]
        numbered = [{**event, "seq": number} for number, event in enumerate(kept)]
        return [msgspec.json.encode(event) + b"\n" for event in numbered]

    return change


def altered_one(text: bytes, **values: Any) -> Callable[[Lines, Random], Lines]:
    """One line that has a text, with other values; None leaves a field out."""
    return at_one(text, lambda line: [_with(line, **values)])


def repeated_one(lines: Lines, random: Random) -> Lines:
    """One line twice."""
    index = random.randrange(1, len(lines) - 1)
    return [*lines[: index + 1], *lines[index:]]


def _with(line: bytes, **values: Any) -> bytes:
    event = {**msgspec.json.decode(line), **values}
    return msgspec.json.encode({n: v for n, v in event.items() if v is not None}) + b"\n"


def places(lines: Lines, text: bytes) -> list[int]:
    """Where lines with a text are.

    Raises:
        NoPlaceError: there is none.
    """
    found = [index for index, line in enumerate(lines) if text in line]
    if not found:
        raise NoPlaceError(f"no line with {text.decode()}")
    return found


def remove_history(worker: str) -> Damage:
    """Remove a worker's history."""
    return lambda folder, _: (folder.history / f"{worker}.jsonl").unlink()


def shorten_log(server: int, share: float) -> Damage:
    """Keep the first part of a server's log; none of it: remove the file."""

    def damage(folder: RunFolder, _: Random) -> None:
        path = folder.brokers / str(server) / "server.log"
        content = path.read_bytes()
        if share:
            path.write_bytes(content[: int(len(content) * share)])
        else:
            path.unlink()

    return damage


def plan_with(change: Callable[[Plan], Plan]) -> Damage:
    """Change `plan.json`."""
    return lambda folder, _: folder.write_plan(change(folder.plan()))


def run_with(**values: Any) -> Damage:
    """Change `run.json`."""

    def damage(folder: RunFolder, _: Random) -> None:
        run: RunDescription = folder.run()
        folder.write_run(msgspec.structs.replace(run, **values))

    return damage


def other_client(plan: Plan) -> Plan:
    """A plan whose groups are of a client that left no history."""
    groups = [msgspec.structs.replace(group, client="librdkafka") for group in plan.groups]
    return msgspec.structs.replace(plan, groups=groups)


def clean_topics(plan: Plan) -> Plan:
    """A plan that says that no topic allows unclean elections."""
    topics = [msgspec.structs.replace(topic, unclean_election=False) for topic in plan.topics]
    return msgspec.structs.replace(plan, topics=topics)


def _history(
    worker: str,
    name: str,
    verb: Verb,
    change: Callable[[Lines, Random], Lines],
    *,
    check: Check | None = Check.HISTORY_COMPLETE,
    verdicts: tuple[CheckVerdict, ...] = UNCLEAR,
) -> FileLie:
    return FileLie(
        name=f"the history of the {worker} {name}",
        verb=verb,
        of=f"history/{worker}.jsonl",
        check=check,
        change=lines_of(worker, change),
        decodes=True,
        verdicts=verdicts,
    )


HISTORIES = (
    *(
        lie
        for worker in (CLIENTS, DRIVER, OBSERVER)
        for lie in (
            _history(worker, "ends in the middle", Verb.TRUNCATE, until(0.5)),
            _history(worker, "lacks its last line", Verb.TRUNCATE, without_last),
            _history(worker, "ends within a line", Verb.TRUNCATE, torn),
            _history(worker, "lacks a line", Verb.DROP, without_one(b'"wall_micros"')),
            _history(worker, "has a line twice", Verb.REPEAT, repeated_one, verdicts=_PERMITTED),
            FileLie(
                name=f"the history of the {worker} is missing",
                verb=Verb.REMOVE,
                of=f"history/{worker}.jsonl",
                check=Check.HISTORY_COMPLETE,
                change=remove_history(worker),
                decodes=True,
            ),
        )
    ),
    _history(CLIENTS, "lacks a poll", Verb.DROP, without_one(b"Polled")),
    _history(CLIENTS, "lacks a commit", Verb.DROP, without_one(b"Committed")),
    _history(CLIENTS, "lacks a send", Verb.DROP, without_one(b"Sent")),
    _history(CLIENTS, "has a malformed line", Verb.ALTER,
             at_one(b"Polled", lambda line: [b"{" + line])),
    _history(CLIENTS, "has two lines under one number", Verb.REPEAT,
             at_one(b"Polled", lambda line: [line, _with(line, partition=7)])),
    _history(CLIENTS, "has an unknown field", Verb.ALTER,
             altered_one(b"Polled", colour="red"), verdicts=_PERMITTED),
    _history(CLIENTS, "has a poll without offsets", Verb.ALTER,
             altered_one(b"Polled", offsets=None)),
    _history(CLIENTS, "does not say who wrote it", Verb.DROP, without_one(b"WorkerStarted")),
    _history(DRIVER, "lacks the proof of a fault", Verb.DROP,
             renumbered_without(b'"change":"proved"'), check=Check.FAULT_LANDED),
    _history(DRIVER, "says that a fault had no effect", Verb.ALTER,
             altered_one(b'"change":"proved"', landed=False), check=Check.FAULT_LANDED),
    _history(DRIVER, "names no fault", Verb.DROP, renumbered_without(b"FaultChanged")),
    _history(DRIVER, "lacks a kill of a broker", Verb.DROP, renumbered_without(b'"kill"')),
    _history(CLIENTS, "lacks every commit, and is numbered anew", Verb.DROP,
             renumbered_without(b'"Committed"')),
)  # fmt: skip
LOGS = (
    FileLie(name="the log of a broker is missing", verb=Verb.REMOVE, of="brokers/1/server.log",
            check=Check.HISTORY_COMPLETE, change=shorten_log(1, 0), decodes=True),
    FileLie(name="the log of a broker is empty", verb=Verb.EMPTY, of="brokers/2/server.log",
            check=Check.HISTORY_COMPLETE, change=shorten_log(2, 1e-9), decodes=True),
)  # fmt: skip
DESCRIPTIONS = (
    FileLie(name="the plan names no check", verb=Verb.EMPTY, of="plan.json", check=None,
            change=plan_with(lambda plan: msgspec.structs.replace(plan, must_judge=[]))),
    FileLie(name="the plan's groups are of a client that left no history", verb=Verb.ALTER,
            of="plan.json", check=Check.HISTORY_COMPLETE, change=plan_with(other_client)),
    FileLie(name="the plan denies the unclean elections that it allowed", verb=Verb.ALTER,
            of="plan.json", check=Check.UNCLEAN_ELECTION_UNCONFIGURED,
            change=plan_with(clean_topics), verdicts=(CheckVerdict.VIOLATED,)),
    FileLie(name="the run says that it was generated", verb=Verb.ALTER, of="run.json",
            check=None, change=run_with(cluster=GENERATED)),
    FileLie(name="the run says that its scenario failed", verb=Verb.ALTER, of="run.json",
            check=None, change=run_with(error="TimeoutError: no leader")),
)  # fmt: skip
