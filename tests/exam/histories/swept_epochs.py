"""Positions, commits and deliveries at each offset and moment around the forks of logs."""

from typing import Any

from tests.exam.history import VIOLATION, History, asks
from tests.exam.logs import END, MICROSECOND, MOMENTS, OFFSETS, TIMES, in_each_log, value_of
from tests.exam.transaction_verbs import producer_id

BRANCHES = "KIP-101, KIP-320: epochs never fall along a log"
STYLES = ("record", "none", "max", "application", None)


def _raised(h: History, at: float, offset: int, epoch: int, position: int, **place: Any) -> None:
    h.changed(
        "failed",
        at=at,
        position=position,
        exception="LogTruncationException",
        message="Detected log truncation with diverging offset",
        divergent_offset=offset,
        divergent_epoch=epoch,
        **place,
    )


def _log_of(place: dict[str, Any]) -> dict[str, Any]:
    return {name: place[name] for name in ("topic", "partition")}


@asks(
    "Exceptions have each divergent offset, around the beginning of newer epochs, with each epoch "
    "of the position.",
    source="KIP-320; LeaderEpochFileCache.endOffsetFor: where the next larger epoch starts, or the "
    "log start if that is higher; the log's end for the newest epoch",
    expects={"divergence_mismatch": f"{VIOLATION}: elsewhere"},
)
def exceptions_at_each_offset_and_moment(h: History) -> None:
    for place, _, at, offset, epoch, answered in in_each_log(
        h, TIMES, OFFSETS, (0, 1, 2, 3), (-1, 0, 0, 1), count=4
    ):
        if MOMENTS[epoch] <= at + 1:
            _raised(h, at, offset, epoch + answered, 13, position_epoch=epoch, **place)


@asks(
    "Positions at each offset are reset, around the beginning of newer epochs, with each epoch.",
    source="KIP-320: a position is validated against the leader's epochs; KAFKA-19902: a reset of "
    "a position within the log",
    expects={"unjustified_reset": f"{VIOLATION}: out_of_range"},
)
def resets_at_each_offset_and_moment(h: History) -> None:
    for place, _, at, offset, epoch, stored in in_each_log(
        h, TIMES, OFFSETS, (-1, 0, 1, 2, 3), (None, -1, 0, 1), count=4
    ):
        if MOMENTS[epoch] <= at + 1:
            h.reset("out_of_range", offset, END, at=at, epoch=epoch, policy="latest", **place)
            h.reset("out_of_range", 10, END, at=at, epoch=1, member="3", **place)
        if stored is not None:
            h.stored(offset, stored, at=at, **place)
            h.stored(offset, 1 - max(stored, 0), at=at - 0.001, **place)
            h.stored(offset, 2, at=at + 1, **place)


@asks(
    "A group commits each pair of epochs, around the beginning of newer ones, also by "
    "transactions.",
    source=BRANCHES,
    expects={"committed_epoch_regressed": f"{VIOLATION}: regressed"},
)
def commits_of_each_two_epochs(h: History) -> None:
    for place, _, at, (offset, later), (epoch, next_epoch), is_transactional in in_each_log(
        h,
        TIMES,
        ((9, 8), (9, 9), (10, 10), (11, 11), (12, 12), (13, 13), (13, 14)),
        ((1, 0), (2, 0), (2, 1), (3, 1), (3, 2), (1, 1), (-1, 0), (1, -1)),
        (False, False, False, True),
        count=6,
        styles=("record", "record", "record", "max", None),
    ):
        h.stored(offset, epoch, at=15.0, **place)
        h.stored(later, next_epoch, at=at, **place)
        if is_transactional:
            for row in h.rows["committed_offsets"][-2:]:
                row.update(producer_id=producer_id(h, 1), producer_epoch=0, marker="commit")


@asks(
    "Members of a group are delivered two records in a row, of each two epochs.",
    source=BRANCHES,
    expects={"record_epoch_regressed": f"{VIOLATION}: within a session"},
)
def deliveries_of_each_two_epochs(h: History) -> None:
    for place, number, at, (offset, later), (epoch, next_epoch), member, before in in_each_log(
        h,
        TIMES,
        ((8, 8), (8, 9), (9, 10), (10, 11), (11, 12), (12, 13), (10, 9)),
        ((1, 0), (2, 0), (2, 1), (3, 1), (3, 2), (0, 1), (1, -1), (1, 1)),
        ("1", "2"),
        (0.0, 0.05, 0.050_001),
        count=10,
    ):
        deliveries = [(offset, at - before, epoch, "1"), (later, at, next_epoch, member)]
        if number % 2:
            deliveries += [(15, 57.0, 3, "8"), (16, 58.0, 2, "8")]
        for first, second, of_epoch, of_member in deliveries:
            sequence = value_of(place, first, of_epoch)
            h.polled(first, at=second, epoch=of_epoch, sequence=sequence, member=of_member, **place)


@asks(
    "Records are acknowledged and delivered at each offset around the end of their epoch.",
    source="AlterPartition needs the controller, so a deposed leader can't commit alone",
    expects={
        "served_under_fenced_epoch": f"{VIOLATION}: accepted_by_zombie",
        "leader_completeness": VIOLATION,
    },
)
def records_of_each_offset_around_the_end_of_their_epoch(h: History) -> None:
    for place, number, at, acks, offset, epoch in in_each_log(
        h, TIMES, ("0", "1", "all"), (7, 8, 9, 11, 13), (0, 1, 2, 3), count=4
    ):
        value = {"producer": f"q{number}", "sequence": value_of(place, offset, epoch)}
        h.sent(offset, at=at, acks=acks, **value, **_log_of(place))
        if MOMENTS[epoch] <= at + 1:
            h.polled(offset, at=at, epoch=epoch, **value, **place)


@asks(
    "Groups read records of epoch 0 that are lost, and go on at each offset of a later epoch; a "
    "member notices a truncation before, meanwhile or after.",
    source=f"{BRANCHES}; OffsetAndMetadata: a commit without an epoch is not validated",
    expects={"truncation_undetected": f"{VIOLATION}: silent"},
)
def groups_go_on_in_each_later_epoch(h: History) -> None:
    notices = (None, None, 17.999, 18.0, 17.999 + MICROSECOND, 31.0, 53.0, 53.0 + MICROSECOND)
    names = ("reset", "", "own", "t-0 ", "named")
    for place, number, first, (epoch, later), notice, name, member, opened in in_each_log(
        h,
        (7, 8, 9),
        ((1, 8), (1, 9), (1, 10), (2, 12), (2, 9), (3, 11), (3, 13)),
        notices,
        names,
        ("1", "2"),
        (None, 18.0, 19.0, 52.0, 53.0),
        count=8,
        styles=("record", "none", None),
    ):
        group, log = place["group"], _log_of(place)
        lost = {"sequence": value_of(place, first, 0), "is_intact": number % 9 > 0}
        h.polled(first, 9, at=18.0, **lost, **place)
        if number % 4 == 0:
            h.polled(first + 1, 9, at=18.5, member="3", **lost, **place)
        if number % 5 == 0:
            sequence = value_of(place, 10, 1)
            h.polled(10, at=18.0 - number % 2, epoch=1, sequence=sequence, member="4", **place)
        if opened is not None:
            h.changed("opened", at=opened, member=member, group=group)
        if notice is not None and name == "reset":
            h.reset("truncation", 10, 8, at=notice, epoch=0, **place)
        elif notice is not None:
            named = log if name == "own" else {"topic": "" if name == "" else "w", "partition": 0}
            text = f"{h.own(log['topic'])}-{log['partition']}" if name == "named" else name
            h.changed(
                "failed",
                at=notice,
                group=group,
                exception="LogTruncationException",
                message=f"Detected truncation of partitions [{text}]",
                **named,
            )
        sequence = value_of(place, later, epoch)
        h.polled(later, at=52.0, epoch=epoch, member=member, sequence=sequence, **place)
        if number % 3 == 0:
            sequence = value_of(place, 14, 3)
            h.polled(14, at=52.000_001, epoch=3, member="5", sequence=sequence, **place)


@asks(
    "A record is delivered, then another one at its offset, and then the first one again, with "
    "each time between.",
    source=f"{BRANCHES}; KIP-966: an unclean election may lose records",
    expects={"resurrected_record": VIOLATION},
)
def records_come_back_at_each_moment(h: History) -> None:
    absent = 55.0
    for place, number, offset, epoch, known, back, position in in_each_log(
        h,
        (8, 9, 10, 11, 12),
        (0, 1, 2, 3),
        (None, absent - 0.05, absent - 0.05 - MICROSECOND, absent - 1),
        (None, absent + 0.05, absent + 0.05 + MICROSECOND, absent + 1),
        (8, 10, 11, 12, 13),
        count=5,
    ):
        other = (epoch + 1) % 4
        for at, of in ((known, epoch), (absent, other), (back, epoch)):
            if at is not None:
                h.polled(offset, at=at, epoch=of, sequence=value_of(place, offset, of), **place)
        if number % 5 == 0:
            for at in (20.05, 30.05, 30.05 + MICROSECOND, 39.95, 40.05, 50.0):
                h.changed("caught_up", at=at, position=position, **place)


@asks(
    "Groups pass records that others wrote where they had read, led by a reset, a commit or a "
    "truncation, or by nothing.",
    source="KIP-320: after several unclean elections the exact offset may not be found; "
    "auto.offset.reset",
    expects={"skipped_record": VIOLATION},
)
def groups_pass_records_of_each_log(h: History) -> None:
    for place, number, last, (start, epoch), led, stored in in_each_log(
        h,
        (7, 8, 9),
        ((10, 1), (12, 2), (13, 3), (9, 1), (14, 3)),
        (None, None, "latest", "truncation", "administrator"),
        (-1, 0, 1, None),
        count=4,
        styles=STYLES,
    ):
        style = STYLES[number % len(STYLES)] or "record"
        h.changed("opened", at=14.0, group=place["group"])
        h.changed("assigned", at=14.5, position=0, **place)
        h.polled(0, last, at=15.0, sequence=value_of(place, 0, 0), **place)
        h.commit(last + 1, 0, at=16.0, style=style, **place)
        if stored is not None:
            h.commit(start, stored, at=17.0, style=style, **place)
        if led == "latest":
            h.reset("out_of_range", last + 1, start, at=53.0, epoch=0, policy="latest", **place)
        if led == "truncation":
            h.reset("truncation", last + 1, start, at=53.0, epoch=0, **place)
        if led == "administrator":
            h.stored(start, -1, at=52.0, **place)
        h.changed("opened", at=52.5, member="2", group=place["group"])
        h.changed("assigned", at=53.5, position=start, member="2", **place)
        sequence = value_of(place, start, epoch)
        h.polled(start, END - 1, at=54.0, epoch=epoch, member="2", sequence=sequence, **place)
        h.changed("caught_up", at=56.0, position=END, member="2", **place)
