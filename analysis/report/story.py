"""The story of one finding: all that the tables know about its partition and group, in order."""

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import pandas as pd

from analysis.facts.source import table_of
from contract.run_folder import RunFolder
from contract.tables import TABLES
from contract.verdicts import Finding

Tables = Callable[[str], pd.DataFrame]
"""Returns a table by its name."""


@dataclass(frozen=True, order=True)
class Moment:
    """Something that happened: when (microseconds since 1970), who did it, and what."""

    at_micros: int
    who: str
    what: str


@dataclass(frozen=True)
class Origin:
    """The moment from which times are counted, and its name."""

    at_micros: int
    name: str


def tables_of(folder: RunFolder, unusable: Collection[str] = ()) -> Tables:
    """The tables of a run, each read once; those that are unusable have no rows."""
    return cache(partial(_read, folder, unusable))


def origin(folder: RunFolder, tables: Tables) -> Origin:
    """The injection of the first fault; the start of the run where there is none."""
    injected = tables("faults")["injected_micros"].dropna()
    if injected.empty:
        return Origin(folder.run().started_micros, "the start of the run")
    return Origin(int(injected.min()), "the injection of the first fault")


def story(folder: RunFolder, finding: Finding, tables: Tables | None = None) -> list[Moment]:
    """What happened around a finding, ordered by the times that its sources recorded.

    Records are those of the finding's offsets, leaderships those of its partition, commits and
    deliveries those of its group, or of every group where it names none. Faults are always listed.
    """
    tables = tables or tables_of(folder)
    moments = list(_of_run(tables))
    if finding.topic is not None and finding.partition is not None:
        for part in (_sends, _leaderships, _truncations, _commits, _group_events, _resets, _polls):
            moments += part(tables, finding)
    return sorted(moments)


def ends(folder: RunFolder, finding: Finding, tables: Tables | None = None) -> list[str]:
    """Each replica of the finding's partition as it was at the end of the run."""
    tables = tables or tables_of(folder)
    epochs = _of_partition(tables("epoch_checkpoints"), finding)
    told = []
    for row in _rows(_of_partition(tables("log_starts"), finding).sort_values("broker")):
        own = epochs[epochs["broker"] == row["broker"]].sort_values("leader_epoch")
        starts = ", ".join(
            f"{one['leader_epoch']} from {one['start_offset']}" for one in _rows(own)
        )
        told.append(
            f"broker {row['broker']}: offsets {row['log_start_offset']} to "
            f"{row['log_end_offset']} (exclusive), epochs {starts or 'none'}"
        )
    return told


def _read(folder: RunFolder, unusable: Collection[str], table: str) -> pd.DataFrame:
    file = folder.tables / f"{table}.parquet"
    is_there = os.path.lexists(file) and table not in unusable
    content = table_of(folder, table) if is_there else TABLES[table].empty_table()
    frame: pd.DataFrame = content.to_pandas(integer_object_nulls=True)
    return frame


def _rows(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for row in frame.to_dict("records"):
        yield {str(name): value for name, value in row.items()}


def _of_partition(frame: pd.DataFrame, finding: Finding) -> pd.DataFrame:
    of_partition = (frame["topic"] == finding.topic) & (frame["partition"] == finding.partition)
    if "group" in frame and finding.group is not None:
        of_partition &= frame["group"] == finding.group
    return frame[of_partition]


def _of_offsets(ranges: pd.DataFrame, finding: Finding) -> pd.DataFrame:
    """The parts of a partition's ranges of records that are within the finding's offsets."""
    frame = _of_partition(ranges, finding)
    frame = frame[frame["first_offset"].notna()]
    if finding.offset_first is None:
        return frame.head(0)
    last = finding.offset_first if finding.offset_last is None else finding.offset_last
    frame = frame[(frame["first_offset"] <= last) & (frame["last_offset"] >= finding.offset_first)]
    return frame.assign(
        first_offset=frame["first_offset"].clip(lower=finding.offset_first),
        last_offset=frame["last_offset"].clip(upper=last),
    )


def _count(ranges: pd.DataFrame) -> int:
    return int((ranges["last_offset"] - ranges["first_offset"] + 1).sum())


def _span(ranges: pd.DataFrame) -> str:
    first, last = ranges["first_offset"].min(), ranges["last_offset"].max()
    return f"offset {first}" if first == last else f"offsets {first} to {last}"


@lru_cache(maxsize=1)
def _of_run(tables: Tables) -> tuple[Moment, ...]:
    """What every story of a run has."""
    return (*_phases(tables), *_faults(tables), *_brokers(tables))


def _phases(tables: Tables) -> Iterator[Moment]:
    for row in _rows(tables("phases")):
        yield Moment(row["began_micros"], "run", f"{row['stage']}: {row['doing']}")


def _faults(tables: Tables) -> Iterator[Moment]:
    for row in _rows(tables("faults")):
        name = f"{row['fault']} {row['target']}"
        seen = "its effect was observed" if row["landed"] else "no effect was observed"
        for time, what in (
            ("injected", f"{name} injected"),
            ("proved", f"{name} proved: {seen}"),
            ("heal_began", f"heal of {name} begun"),
            ("healed", f"{name} healed"),
        ):
            if row.get(f"{time}_micros") is not None:
                yield Moment(row[f"{time}_micros"], "fault", what)


def _brokers(tables: Tables) -> Iterator[Moment]:
    last: dict[int, bool] = {}
    for row in _rows(tables("broker_states").sort_values("metadata_offset")):
        broker, is_fenced = row["broker"], row["is_fenced"]
        if last.get(broker) != is_fenced:
            word = "fenced" if is_fenced else "unfenced"
            yield Moment(row["at_micros"], "controller", f"broker {broker} is {word}")
        last[broker] = is_fenced


def _sends(tables: Tables, finding: Finding) -> Iterator[Moment]:
    sends = _of_offsets(tables("sends"), finding)
    for (producer, acks, outcome), some in sends.groupby(["producer", "acks", "outcome"]):
        values = f"{_count(some)} values with acks={acks}"
        if some["intended_micros"].notna().any():
            yield Moment(
                some["intended_micros"].min(), str(producer), f"sends the first of {values}"
            )
        if some["answered_micros"].notna().any():
            what = f"receives the last answer for {values}: {outcome}, {_span(some)}"
            yield Moment(some["answered_micros"].max(), str(producer), what)


def _leaderships(tables: Tables, finding: Finding) -> Iterator[Moment]:
    for row in _rows(_of_partition(tables("leaderships"), finding)):
        leader = "no broker" if row["leader"] < 0 else f"broker {row['leader']}"
        isr, elr = row["isr"].tolist(), row["elr"].tolist()
        eligible = f", ELR {elr}" if elr else ""
        yield Moment(
            row["at_micros"],
            "controller",
            f"epoch {row['leader_epoch']}: {leader} leads, ISR {isr}{eligible}",
        )


def _truncations(tables: Tables, finding: Finding) -> Iterator[Moment]:
    for row in _rows(_of_partition(tables("truncations"), finding)):
        yield Moment(
            row["at_micros"], f"broker {row['broker']}", f"truncates its log to {row['to_offset']}"
        )


def _commits(tables: Tables, finding: Finding) -> Iterator[Moment]:
    """Commits of one epoch that follow each other as one: the first and the last."""
    commits = _of_partition(tables("committed_offsets"), finding).sort_values("offsets_offset")
    for group, of_group in commits[~commits["is_tombstone"].astype(bool)].groupby("group"):
        run = (of_group["committed_epoch"] != of_group["committed_epoch"].shift()).cumsum()
        for _, some in of_group.groupby(run):
            epoch = some["committed_epoch"].iloc[0]
            for which, row in {"first": some.iloc[0], "last": some.iloc[-1]}.items():
                if which == "last" and len(some) == 1:
                    continue
                told = "" if len(some) == 1 else f", the {which} of {len(some)} commits"
                yield Moment(
                    row["committed_micros"],
                    str(group),
                    f"commits offset {row['offset']} with epoch {epoch}{told}",
                )


def _group_events(tables: Tables, finding: Finding) -> Iterator[Moment]:
    for row in _rows(_of_partition(tables("group_events"), finding)):
        position = "" if row["position"] is None else f" at offset {row['position']}"
        raised = f": {row['exception']}: {row['message']}" if row["exception"] else ""
        yield Moment(row["at_micros"], row["member"], f"{row['change']}{position}{raised}")


def _resets(tables: Tables, finding: Finding) -> Iterator[Moment]:
    for row in _rows(_of_partition(tables("resets"), finding)):
        to = "raises" if row["to_offset"] is None else f"to {row['to_offset']}"
        start = "" if row["from_offset"] is None else f" from {row['from_offset']}"
        yield Moment(
            row["at_micros"],
            row["member"],
            f"resets ({row['cause']}){start}, epoch {row['from_epoch']}: {to}"
            f" (policy {row['policy']})",
        )


def _polls(tables: Tables, finding: Finding) -> Iterator[Moment]:
    polls = _of_offsets(tables("polls"), finding)
    for (member, epoch), some in polls.groupby(["member", "leader_epoch"]):
        yield Moment(
            some["polled_micros"].min(),
            str(member),
            f"receives {_count(some)} records of epoch {epoch}, {_span(some)}",
        )
