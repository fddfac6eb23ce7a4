"""A run's folder: its paths, and the two descriptions that the harness writes into it."""

import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from contract.errors import RunFolderError, StorageError, UsageError
from contract.events import Int64, WallMicros, as_json
from contract.files import (
    as_word,
    is_below,
    leaving_link,
    read_described,
    replace_file,
    require_replaceable,
)
from contract.software import (
    Build,
    Client,
    Level,
    about,
    is_guest,
    longest_ms,
    produce_timeout_ms,
    request_timeout_ms,
    with_note,
)
from contract.terms import BY_THE_CLIENT, CommitEpoch, Isolation, Manner, ResetPolicy

# What follows from a run for an application or a cluster, and the document that it rests on.


class Consequence(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence of a scenario for its readers; in a verdict, with the figures of the run.

    sentence: with figures as in an answer (`contract.answers`); true whatever a run comes to.
    document: a KIP, a page of Kafka's Javadoc, or a section of its documentation.
    """

    sentence: str
    document: str

    def __str__(self) -> str:
        """The sentence with its document."""
        return f"{self.sentence} ({self.document})"


_T = TypeVar("_T", bound=msgspec.Struct)

Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]

_MICROS = 1_000_000
_TOO_LONG = 1_000_000_000 * _MICROS
PLAN_FILE = "plan.json"
RUN_FILE = "run.json"
RAW_FOLDERS = ("history", "segments", "brokers")
"""The folders of raw sources, which a generated history does not have."""
_DATA_FOLDERS = (*RAW_FOLDERS, "clients", "kept", "tables")
"""All that judging a run reads but its plan and description."""
REMOVED_FILE, EXPECTED_FILE = "removed.json", "expected.json"
STACKS_FOLDER = "stacks"
"""In the folder of a run that hung: the stacks of its processes, a file for each."""
STORE_FOLDER = "judged"
"""In a results folder: all findings and verdicts (`analysis.store`)."""
NODES_FOLDER = ".nodes"
"""The folder of running sessions' nodes, in a folder of results."""
BESIDE = JUDGING, DECODING = (".judging-", ".decoding-")
"""How folders in a run's begin, held by a command: the new report, or the tables that are decoded
again, until all of it is there."""
POOLS = ("embedded", "docker", "loopback")
"""The `cluster` of a run of ours, which has a manifest of what was collected."""
GENERATED = "generated"
"""The `cluster` of a generated history, which has tables but no raw files to decode."""
NO_KAFKA = "none"
"""The `kafka` of such a history."""


class TopicPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A topic under test, with the settings that decide what may be lost.

    `deletes`: the scenario deletes records otherwise than by `retention_ms`: by size, or by
    DeleteRecords.
    `settings` are further ones.
    """

    topic: str
    partitions: Count
    replication: Count
    min_insync: Count
    unclean_election: bool
    retention_ms: Int64 | None = None
    deletes: bool = False
    settings: dict[str, str] = {}


class TransactionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The transactions of a producer in the background, one after the other.

    records: of each transaction.
    aborted: the share that the producer aborts by itself, 0 to 1, spread evenly.
    """

    records: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
    aborted: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0

    def is_aborted(self, number: int) -> bool:
        """Whether the producer aborts the transaction of this number, from 0."""
        return int((number + 1) * self.aborted) > int(number * self.aborted)


class ProducerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A producer under test: the topic that it writes to, its client and its settings.

    records_per_second: in the background; None: as `run.start_load` says for all.
    settings: further ones of the client, by its own names.
    transactions: in the background; None: it has none.
    """

    producer: str
    topic: str
    client: str = Client.JAVA
    acks: str = "all"
    records_per_second: Count | None = None
    settings: dict[str, str | int] = {}
    transactions: TransactionPlan | None = None

    @property
    def request_timeout_ms(self) -> int | None:
        """The longest time that it waits for the response to a request; None: it is not known."""
        return produce_timeout_ms(self.client, self.settings)


class MemberPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A member that differs from the others of its group, as one in another language does.

    commit_epoch, manner: None: those of the group.
    settings: of its own client, instead of the group's.
    """

    client: str
    commit_epoch: CommitEpoch | None = None
    manner: str | None = None
    settings: dict[str, str | int] = {}


_INSTANCE = ("group.instance.id", "group_instance_id")
"""The setting of a static member, as clients call it."""


class GroupPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer group under test: its topic, client, commit style and reset policy.

    `labels` are further properties by which the scenario distinguishes its groups, e.g.
    log_end=above; `isolation` is its `isolation.level`, None: its client's default. Its `members`
    are open at the same time, each in a worker of its own, or they share that number of `workers`.
    `settings` are further ones of the client, by its own names; `{number}` in a value is the number
    of the member. `manner` is how it commits. `others` are members of other clients, by number from
    1: the group is reported by its `client`, that of the members in question. `level` is what its
    guests show.
    """

    group: str
    client: str
    topic: str
    commit_epoch: CommitEpoch
    reset: str
    labels: dict[str, str] = {}
    isolation: str | None = None
    members: Count = 1
    workers: Count | None = None
    settings: dict[str, str | int] = {}
    manner: str = Manner.SYNC
    others: dict[int, MemberPlan] = {}
    level: str = Level.POSITIONS

    @property
    def isolation_level(self) -> str:
        """The `isolation.level` of its client, which is its default unless the plan has another."""
        return self.isolation or about(self.client).isolation

    @property
    def clients(self) -> list[str]:
        """Its clients, in the order of their members."""
        return list(
            dict.fromkeys(self.member(number).client for number in range(1, self.members + 1))
        )

    @property
    def request_timeout_ms(self) -> int | None:
        """The longest time that a member waits for a response; None: that of one is not known."""
        members = [self.member(number) for number in range(1, self.members + 1)]
        return longest_ms(
            [request_timeout_ms(member.client, member.settings) for member in members]
        )

    def member(self, number: int) -> "GroupPlan":
        """Return the plan of one member, as of a group whose members are all like it."""
        other = self.others.get(number)
        alike = msgspec.structs.replace(self, others={})
        if other is None:
            return alike
        return msgspec.structs.replace(
            alike,
            client=other.client,
            commit_epoch=other.commit_epoch or self.commit_epoch,
            manner=other.manner or self.manner,
            settings=other.settings,
        )

    @property
    def unknown(self) -> str:
        """What of it no release has, in words; empty if nothing. It would be judged as another."""
        for value, known in (
            (self.isolation_level, Isolation),
            (self.manner, Manner),
            (self.level, Level),
        ):
            if value not in set(known):
                return f"{value!r} of group {self.group} is none of {', '.join(known)}"
        return ""

    @property
    def is_static(self) -> bool:
        """Whether its members are static (KIP-345): a restarted one keeps its partitions."""
        return any(name in self.settings for name in _INSTANCE)

    @property
    def has_one_instance(self) -> bool:
        """Whether its members are static, and all have one group.instance.id."""
        given = [str(self.settings[name]) for name in _INSTANCE if name in self.settings]
        return bool(given) and "{number}" not in given[0]

    @property
    def shows_all(self) -> bool:
        """Whether its members show their assignments, positions and commits."""
        return self.level == Level.POSITIONS or not any(map(is_guest, self.clients))

    @property
    def hidden_reset(self) -> str | None:
        """The policy by which a guest may be reset unseen, as its log is not read; else None.

        Without one, or with `latest`, the first incarnation still resets to the earliest offset.
        """
        if not any(map(is_guest, self.clients)):
            return None
        return ResetPolicy.EARLIEST if self.reset == ResetPolicy.NONE else self.reset

    @property
    def commits_by_itself(self) -> bool:
        """Whether its clients commit by themselves (`enable.auto.commit`), and report nothing."""
        settings = (
            self.settings.get("enable.auto.commit"),
            self.settings.get("enable_auto_commit"),
        )
        return self.manner in BY_THE_CLIENT or any(
            str(setting).lower() in ("true", "1") for setting in settings
        )


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that the scenario requires: at least one of `check` in each of `groups`.

    Without `in_each` one in any of them suffices; with empty `groups`, one anywhere. A violation
    that no expectation covers fails the run; an expectation that nothing meets leaves it undecided,
    since the hazard was not reached.

    verdict: which findings count, `violation` or `permitted`.
    is_optional: the findings may also be missing, as they depend on what the run does not control:
        a violation is covered, and a run without one is no less decided.
    """

    check: str
    groups: list[str] = []
    verdict: Literal["violation", "permitted"] = "violation"
    in_each: bool = True
    is_optional: bool = False


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a scenario is to do (`plan.json`).

    must_judge: the checks that the question is about. The run is undecided if one of them has no
        case, or if the list is empty. All other checks are judged as well.
    answer: how the question is answered, a template of figures (`contract.answers`); empty: by the
        verdicts of the checks alone.
    follows: what an application or a cluster learns from it, with such figures; None: nothing.
    """

    scenario: str
    question: str
    parameters: dict[str, Any]
    topics: list[TopicPlan]
    groups: list[GroupPlan]
    must_judge: list[str]
    expects: list[Expectation]
    producers: list[ProducerPlan] = []
    answer: str = ""
    follows: Consequence | None = None


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is judged by instead of its plan's (`expected.json`); fields as of `Plan`.

    source: the scenario's file, and when it was read.
    """

    source: str
    question: str
    must_judge: list[str]
    expects: list[Expectation]
    answer: str
    follows: Consequence | None


SEED_BITS = 31


def new_seed() -> int:
    """Draw a seed for a run without one: all its random choices come from one generator of it."""
    return secrets.randbits(SEED_BITS)


class RunDescription(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions of the run (`run.json`).

    clients: the version that the worker of each client reported; empty until it has started.
    jars: the SHA-256 of each jar on the servers' class path, by file name: each was checked when
        its JVM was started.
    build: what servers, Java clients and observer ran on; None in a generated history, and in runs
        of earlier releases.
    file: of the scenario, as commands name it; empty if it is one of ours.
    """

    run_id: str
    scenario: str
    seed: Int64
    kafka: str
    cluster: str
    clients: dict[str, str]
    git_head: str
    versions: dict[str, str]
    config: dict[str, Any]
    command: str
    rerun: str
    started_micros: WallMicros
    ended_micros: WallMicros | None = None
    error: str | None = None
    jars: dict[str, str] = {}
    build: Build | None = None
    file: str = ""

    @property
    def identity(self) -> str:
        """What no other run has: its tables name it, so that no table of another run is taken."""
        return f"{self.run_id}, seed {self.seed}, started at {self.started_micros}"

    @property
    def on(self) -> str:
        """The version of Kafka, and what differs from its release: `4.4.0, Java clients 3.9.2`."""
        return with_note(self.kafka, "" if self.build is None else self.build.note)

    @property
    def release(self) -> int | None:
        """The major release of Kafka; None of a generated history."""
        major = self.kafka.partition(".")[0]
        return int(major) if major.isdecimal() else None

    @property
    def seconds(self) -> float | None:
        """How long the run took; None if it did not end, or if its times are damaged."""
        took = None if self.ended_micros is None else self.ended_micros - self.started_micros
        return took / _MICROS if took is not None and 0 <= took < _TOO_LONG else None


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """When the raw data and tables of a judged run were removed, and how much (`removed.json`)."""

    at_micros: WallMicros
    bytes: int


@dataclass(frozen=True)
class RunFolder:
    """Paths below one run's folder.

    Attributes:
        path: of it.
        report_name: of the folder of its report, which has another name while it is written.
    """

    path: Path
    report_name: str = "report"

    @property
    def history(self) -> Path:
        """One `<worker>.jsonl` a worker, and `driver.jsonl`."""
        return self.path / "history"

    @property
    def brokers(self) -> Path:
        """Broker logs: `<server id>/server.log`."""
        return self.path / "brokers"

    @property
    def clients(self) -> Path:
        """Client logs: `<worker>.log`."""
        return self.path / "clients"

    @property
    def segments(self) -> Path:
        """Raw replica folders: `<broker id>/<topic>-<partition>/`."""
        return self.path / "segments"

    @property
    def kept(self) -> Path:
        """Replica folders copied before a possible truncation: `<micros>/<broker id>/...`."""
        return self.path / "kept"

    @property
    def tables(self) -> Path:
        """The trace tables: `<table>.parquet`."""
        return self.path / "tables"

    @property
    def report(self) -> Path:
        """`verdict.json` and `index.html`."""
        return self.path / self.report_name

    def raw(self) -> list[str]:
        """The folders of raw sources that are there; a generated history has none."""
        return [name for name in RAW_FOLDERS if (self.path / name).exists()]

    def data(self) -> list[Path]:
        """The folders that are there of raw data and tables: all that is large."""
        return [path for name in _DATA_FOLDERS if os.path.lexists(path := self.path / name)]

    @property
    def is_removed(self) -> bool:
        """Whether its raw data and tables were removed, so that it keeps its verdict."""
        return (self.path / REMOVED_FILE).is_file()

    def write_removed(self, removed: Removed) -> None:
        """Write `removed.json`."""
        self._write(REMOVED_FILE, removed)

    def require_own(self) -> None:
        """Check that no link leads out of the run: nothing is read or written through one.

        Raises:
            RunFolderError: one does.
        """
        if (link := leaving_link(self.path)) is not None:
            raise RunFolderError(
                f"{link} is a link to {link.readlink()}, which is outside of the run: put a copy "
                "in its place"
            )

    def write_plan(self, plan: Plan) -> None:
        """Write `plan.json`."""
        self._write(PLAN_FILE, plan)

    def write_run(self, run: RunDescription) -> None:
        """Write `run.json`."""
        self._write(RUN_FILE, run)

    def expected(self) -> Expected | None:
        """Read `expected.json`; None if the run is judged by its plan.

        Raises:
            RunFolderError: it is damaged.
        """
        there = (self.path / EXPECTED_FILE).is_file()
        return self._read(EXPECTED_FILE, Expected) if there else None

    def write_expected(self, expected: Expected | None) -> None:
        """Write `expected.json`, or remove it."""
        if expected is None:
            (self.path / EXPECTED_FILE).unlink(missing_ok=True)
        else:
            self._write(EXPECTED_FILE, expected)

    def plan(self) -> Plan:
        """Read `plan.json`, with what `expected.json` has instead.

        Raises:
            RunFolderError: it is missing or not a plan.
        """
        plan = self._read(PLAN_FILE, Plan)
        if (newer := self.expected()) is not None:
            fields = msgspec.structs.asdict(newer)
            del fields["source"]
            plan = msgspec.structs.replace(plan, **fields)
        if unknown := next((group.unknown for group in plan.groups if group.unknown), ""):
            raise RunFolderError(f"{self.path / PLAN_FILE} is not a valid Plan: {unknown}")
        return plan

    def run(self) -> RunDescription:
        """Read `run.json`.

        Raises:
            RunFolderError: it is missing or not a description of a run.
        """
        return self._read(RUN_FILE, RunDescription)

    def _write(self, name: str, content: msgspec.Struct) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        text = msgspec.json.format(as_json(content), indent=2)
        replace_file(self.path / name, text + b"\n")

    def _read(self, name: str, kind: type[_T]) -> _T:
        file = self.path / name
        try:
            return read_described(file, kind)
        except FileNotFoundError:
            message = (
                f"{file} is missing: is {self.path} the folder of one run (fencepost docs results)?"
            )
            raise RunFolderError(message) from None


def run_above(path: Path) -> Path | None:
    """The folder of the run that a path is in, or names; None if there is none."""
    real = Path(os.path.realpath(path))
    return next((folder for folder in (real, *real.parents) if (folder / PLAN_FILE).exists()), None)


def require_outside(path: Path, *, what: str) -> None:
    """Check that something new is in no run's folder, whose files are its evidence.

    Args:
        path: where it is to be.
        what: it is, in words.

    Raises:
        UsageError: it is in one.
    """
    if (run := run_above(path)) is not None:
        raise UsageError(f"{what} {path} is in the folder of the run {run}: name a place elsewhere")


def require_new_file(file: Path) -> None:
    """Check that a file may be made or replaced: it is no pipe, device, link or evidence.

    Raises:
        UsageError: it may not.
    """
    require_replaceable(file)
    require_outside(Path(os.path.realpath(file.parent), file.name), what="the file")


def report_folder(home: Path) -> Path:
    """The folder `report` of a run, session or night, made if it is missing.

    Raises:
        RunFolderError: it is a link that leads out of there.
        StorageError: the run was removed.
    """
    report = home / "report"
    if not is_below(report, home):
        raise RunFolderError(
            f"{report} is a link to {report.readlink()}: remove it, so that no other report is "
            "replaced"
        )
    try:
        report.mkdir(exist_ok=True)
    except FileNotFoundError:
        raise StorageError(f"{home} was removed before its report was written") from None
    return report


def find_runs(path: Path) -> list[RunFolder]:
    """All runs at or below a folder, by path.

    Raises:
        RunFolderError: there is none, or the path is none.
    """
    try:
        runs = [file.parent for file in files_named(path, PLAN_FILE)]
    except OSError as error:
        raise RunFolderError(f"{str(path)[:200]} is no folder of runs: {error.strerror}") from error
    if not runs:
        raise RunFolderError(f"no run at or below {path}: no folder there holds a {PLAN_FILE}")
    return [RunFolder(run) for run in runs]


def not_judged(runs: Iterable[Path | str]) -> str:
    """Say that runs, at paths or URIs, are kept, and how they are judged."""
    again = " ".join(["fencepost", "analyze", *map(as_word, runs)])
    return f"the runs are kept, and not all are judged; judge them with: {again}"


def has_runs(path: Path) -> bool:
    """Whether there is a run at or below a folder.

    Raises:
        OSError: the path can't be read.
    """
    return bool(files_named(path, PLAN_FILE))


def files_named(path: Path, name: str) -> list[Path]:
    """All files of a name at or below a folder, sorted; those in folders of nodes are left out.

    Other runs may start and end meanwhile: a folder that vanishes is skipped.

    Raises:
        OSError: the path can't be read.
    """
    found: list[Path] = []
    for folder, folders, files in os.walk(path, onerror=_raise_unless_skipped):
        found += [Path(folder, name)] if name in {*folders, *files} else []
        folders[:] = [other for other in folders if other != NODES_FOLDER]
    return sorted(found)


def _raise_unless_skipped(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError):
        raise error
