"""The harness judged by itself: faults, histories, clocks, phases and missing tables."""

from typing import Any

from contract.faults import FaultTarget, TargetKind
from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, UNDECIDED, History, asks, asks_each
from tests.exam.transaction_verbs import Batch, replicas
from tests.exam.verbs import (
    begun,
    cluster,
    first_start,
    joined,
    left,
    plain,
    quiet,
    reads_to,
    watched,
)

COMPLETE = "decision 11: a gap in a source makes findings undecided, never an accusation of Kafka"
CONSISTENT = (
    "CONTRIBUTING.md, A tampering: damaged evidence is undecided; no check accuses because of it"
)


@asks(
    "A fault was injected, and no evidence shows that it bit.",
    source="docs/faults.md: without evidence a fault is not landed, and the run can't pass",
    expects={"fault_landed": UNDECIDED, "history_complete": NONE},
)
def fault_that_did_not_land(h: History) -> None:
    quiet(h)
    h.fault("pause", h.on_broker(2), injected=20.0, heal_began=30.0, healed=30.5, landed=False)


@asks_each(
    "A fault did not land; the finding names its target.",
    source="contract/faults.py, FaultTarget: its name, and the servers that it named",
    check="fault_landed",
    cases={
        "A partition.": (f"{UNDECIDED}: not landed: .t-1 showed", {"of": TargetKind.PARTITION}),
        "A topic.": (f"{UNDECIDED}: not landed: .t showed", {"of": TargetKind.TOPIC}),
        "A worker.": (f"{UNDECIDED}: not landed: .w showed", {"of": TargetKind.CLIENT}),
        "One broker.": (f"{UNDECIDED}: not landed:  (broker ", {"of": TargetKind.BROKER}),
        "All brokers.": (f"{UNDECIDED}: not landed:  (brokers ", {"of": TargetKind.ALL}),
        "A transactional.id.": (
            f"{UNDECIDED}: not landed: .x showed",
            {"of": TargetKind.TRANSACTIONAL_ID},
        ),
    },
)
def target_of_a_fault_that_did_not_land(h: History, of: TargetKind) -> None:
    target = {
        TargetKind.PARTITION: h.on_partition("t", 1),
        TargetKind.TOPIC: h.on_topic("t"),
        TargetKind.CLIENT: h.on_client("w"),
        TargetKind.BROKER: h.on_broker(1),
        TargetKind.ALL: h.on_brokers(1, 2),
        TargetKind.TRANSACTIONAL_ID: FaultTarget(target_kind=of, transactional_ids=(h.own("x"),)),
    }[of]
    h.fault("pause", target, injected=20.0, landed=False)


@asks(
    "Two faults strike one broker in turn, and only the first one landed.",
    source="docs/faults.md: each fault returns its own evidence",
    expects={"fault_landed": UNDECIDED},
)
def second_fault_did_not_land(h: History) -> None:
    quiet(h)
    h.fault("pause", h.on_broker(2), injected=20.0, heal_began=22.0, healed=22.5)
    h.fault("pause", h.on_broker(2), injected=40.0, heal_began=42.0, healed=42.5, landed=False)


@asks(
    "A fault landed and was not healed within the run.",
    source="contract/tables_of_run.py: healed_micros is null where a fault was not healed",
    expects={"fault_landed": NONE, "history_complete": NONE},
)
def fault_that_lasts(h: History) -> None:
    quiet(h)
    h.fault("cut", h.on_broker(2), injected=80.0, proved=83.0, evidence='{"isr": "shrunk"}')


@asks(
    "A history lacks three sequence numbers.",
    source=COMPLETE,
    expects={
        "history_complete": UNDECIDED,
        "lost_record": NOT_VIOLATION,
        "skipped_record": NOT_VIOLATION,
    },
)
def history_with_a_gap(h: History) -> None:
    quiet(h, skip=True)
    h.worker(missing_seqs=3)


@asks(
    "A history has a line that does not read.",
    source=COMPLETE,
    expects={"history_complete": UNDECIDED},
)
def history_with_a_malformed_line(h: History) -> None:
    quiet(h)
    h.worker(malformed_lines=1)


@asks(
    "A history ends without its last line, and no fault on its worker is reported.",
    source=COMPLETE + "; contract/events.py: WorkerStopped is the last line of a complete history",
    expects={"history_complete": UNDECIDED, "lost_commit": NOT_VIOLATION},
)
def history_that_is_cut_off(h: History) -> None:
    quiet(h)
    h.worker(ended_by_itself=False)


@asks(
    "A history repeats some lines, and has fields that this version does not know.",
    source="contract/tables_of_run.py: repeated lines are counted, and events with unknown "
    "fields count",
    # The contract asks for no verdict on what is counted; a note of it accuses nobody.
    expects={"history_complete": NOT_VIOLATION, "duplicate_delivery": NONE},
)
def history_with_repeated_lines(h: History) -> None:
    quiet(h)
    h.worker(duplicate_lines=4, unknown_fields=2)


@asks(
    "One of two workers' histories is whole, the other one has a gap.",
    source=COMPLETE + "; contract/tables_of_run.py: one row per history",
    expects={"history_complete": UNDECIDED},
)
def one_history_of_two_has_a_gap(h: History) -> None:
    quiet(h)
    h.worker()
    h.worker("w2", missing_seqs=1)


@asks(
    "A member says that it is caught up at 150, while log and deliveries end at 100.",
    source=CONSISTENT,
    expects={
        "history_consistent": f"{UNDECIDED}: beyond the log",
        "skipped_record": NOT_VIOLATION,
        "stuck_consumer": NOT_VIOLATION,
        "lost_record": NONE,
    },
)
def caught_up_beyond_the_log(h: History) -> None:
    quiet(h, caught_up_at=150)


@asks(
    "A member is assigned at 5, where a commit marker stands, is given 6 to 10, and is caught up "
    "at 12, after another marker.",
    source="KIP-98: markers take an offset and are not given out",
    expects={"history_consistent": NONE, "poll_skip": NONE, "skipped_record": NONE},
)
def positions_pass_markers(h: History) -> None:
    h.topic()
    h.group(isolation="read_committed")
    begun(h)
    h.sent(0, 4, at=2.0, transaction=0)
    h.sent(6, 10, at=3.0, sequence=5, transaction=1)
    watched(h, 1, 12)
    replicas(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, control="commit"),
        Batch(6, 10, pid=1, base_sequence=5, sequence=5),
        Batch(11, 11, pid=1, control="commit"),
    )
    reads_to(h, 4)
    h.commit(5, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 5, at=20.0)
    joined(h, 5, at=30.0, member="2", generation=3)
    h.polled(6, 10, at=31.0, member="2", sequence=5)
    left(h, 12, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "A member is assigned a partition on which it has no position yet.",
    source="contract/tables_of_clients.py: position is null without a position",
    expects={"history_consistent": NONE, "start_mismatch": NONE, "double_ownership": NONE},
)
def assigned_without_a_position(h: History) -> None:
    quiet(h, assigned_at=None)


@asks(
    "A phase takes 60 s where 30 are its limit, and a node's clock is 0.4 s ahead.",
    source="contract/stages.py: a longer phase is a property of the machine, not of Kafka; "
    "docs/findings.md: the clock bound is as large as clocks are apart",
    expects={
        "phase_overrun": UNDECIDED,
        # The measured bound is used by all that compare times; no document asks for a verdict.
        "clock_skew": NOT_VIOLATION,
        "lost_record": NONE,
        "never_caught_up": NONE,
    },
    alone=True,
)
def machine_is_slow(h: History) -> None:
    quiet(h)
    _phases(h, limit=30)
    h.clock("a", ahead_micros=1_000, behind_micros=-1_000, at=0.5)
    h.clock("b", ahead_micros=401_000, behind_micros=399_000, at=0.6)


@asks(
    "Each phase takes just its limit, and clocks differ by a millisecond at most.",
    source="contract/stages.py: how long a phase may take; docs/findings.md: the clock bound is "
    "50 ms",
    expects={
        "phase_overrun": NONE,
        "clock_skew": NONE,
        "fault_landed": NONE,
        "history_complete": NONE,
        "history_consistent": NONE,
    },
    alone=True,
)
def machine_is_well(h: History) -> None:
    quiet(h)
    _phases(h, limit=60)
    h.fault("pause", h.on_broker(2), injected=20.0, heal_began=20.4, healed=20.5)
    h.clock("a", ahead_micros=1_000, behind_micros=0, at=0.5)
    h.clock("b", ahead_micros=0, behind_micros=-1_000, at=0.6)


def _phases(h: History, *, limit: int) -> None:
    for stage, began, ended, most in (
        ("starting", 0.0, 1.0, 120),
        ("steady", 1.0, 61.0, limit),
        ("final read", 61.0, 86.0, 120),
        ("collecting", 86.0, 90.0, 300),
    ):
        h.phase(stage, began=began, ended=ended, limit=most)


@asks_each(
    "A member reports that it is assigned its partition, gets records, and is caught up;",
    source=CONSISTENT,
    check="history_consistent",
    cases={
        "its positions are those of its deliveries.": (NONE, {}),
        "it is caught up below them.": (f"{UNDECIDED}: position behind", {"caught_up": 90}),
        "it is caught up above them.": (f"{UNDECIDED}: records between", {"last": 79}),
        "it is assigned above them.": (f"{UNDECIDED}: position ahead", {"assigned": 40}),
        "it is assigned beyond the log.": (f"{UNDECIDED}: beyond the log", {"assigned": 140}),
        "it is assigned where the poll ended that came first.": (
            NONE,
            {"assigned": 100, "read_at": 5.0},
        ),
        "the records before the first one did not come.": (
            f"{UNDECIDED}: records between",
            {"first": 20},
        ),
        "resets led it there.": (NONE, {"first": 20, "reset": 20}),
        "it reports another partition.": (f"{UNDECIDED}: not assigned", {"partition": 1}),
    },
)
def positions_and_deliveries(
    h: History,
    *,
    assigned: int = 0,
    first: int = 0,
    last: int = 99,
    caught_up: int = 100,
    read_at: float = 10,
    reset: int | None = None,
    partition: int = 0,
) -> None:
    h.topic(partitions=2)
    h.group()
    plain(h, 99)
    h.changed("opened", at=4)
    if reset is not None:
        h.reset("out_of_range", assigned, reset, at=7, epoch=0, member="1")
    if read_at < 6:
        h.polled(first, last, at=read_at)
    h.changed("assigned", at=6, position=assigned, partition=partition)
    if read_at > 6:
        h.polled(first, last, at=read_at)
    h.changed("caught_up", at=20, position=caught_up, partition=partition)


@asks_each(
    "What servers logged of a replica contradicts its files.",
    source=CONSISTENT,
    check="history_consistent",
    cases={
        "Its leader logged the start of epoch 1 that its checkpoint has.": (NONE, {"logged": 50}),
        "Its leader logged another start of epoch 1.": (
            f"{UNDECIDED}: epoch starts differ",
            {"logged": 60},
        ),
        "Its leader logged another start, which retention has passed.": (
            NONE,
            {"logged": 40, "start": 50},
        ),
        "It ends before its last batch does.": (f"{UNDECIDED}: log ends differ", {"end": 99}),
        "It ends behind its last batch.": (f"{UNDECIDED}: log ends differ", {"end": 101}),
        "A record that it truncated is there again.": (
            f"{UNDECIDED}: truncated but present",
            {"truncated": 99},
        ),
        "Another record is where it truncated one.": (NONE, {"truncated": 199}),
    },
)
def files_of_a_replica(
    h: History, *, logged: int = 50, start: int = 0, end: int = 100, truncated: int | None = None
) -> None:
    h.topic()
    cluster(h)
    h.led(2, 1, at=10, isr=(1, 2), starts=logged)
    spans = ((50, 99, 1),) if start else ((0, 49, 0), (50, 99, 1))
    h.log(2, *spans, start=start, end=end, high_watermark=100)
    if truncated is not None:
        h.cut(2, 99, 99, 1, at=9, sequence=truncated)


@asks(
    "A killed worker's last commit is stored, and its history ends before it.",
    source=COMPLETE + "; docs/faults.md: a killed process leaves no last line",
    expects={"history_complete": f"{PERMITTED}: last commit of a killed worker"},
)
def killed_worker_left_out_its_last_commit(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    reads_to(h, 99)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.stored(100, 0, at=20.0, brokers=(1, 2))
    h.fault("kill", h.on_client("w"), injected=30.0, proved=30.1)
    h.worker(ended_by_itself=False)


@asks_each(
    "The last line of a history has no end.",
    source=COMPLETE,
    check="history_complete",
    cases={
        "It ended by itself.": (UNDECIDED, {"torn_lines": 1}),
        "It did not.": (UNDECIDED, {"torn_lines": 1, "ended_by_itself": False}),
    },
)
def history_with_a_torn_line(h: History, **columns: Any) -> None:
    quiet(h)
    h.worker(**columns)


@asks(
    "A folder of a server has files that no reader knows.",
    source="contract/tables_of_run.py, servers.ignored_files",
    expects={"history_complete": PERMITTED},
    alone=True,
)
def files_that_no_reader_knows(h: History) -> None:
    quiet(h)
    for broker in (1, 2):
        server = h.broker(broker)
        h.add("servers", name=str(server), server=server, ignored_files=2, log_lines=9, replicas=1)


@asks(
    "A worker is killed; the stored commit that it did not report came before one that it did.",
    source="docs/findings.md, M4: only the last commit of a killed worker may lack its report",
    expects={"history_complete": UNDECIDED},
    alone=True,
)
def killed_worker_left_out_an_earlier_commit(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    first_start(h, 0, at=4.8)
    reads_to(h, 49)
    h.stored(50, 0, at=8.0, brokers=(1, 2))
    h.polled(50, 99, at=10.0)
    h.commit(100, 0, at=20.0, brokers=(1, 2), generation=1)
    h.fault("kill", h.on_client("w"), injected=30.0, proved=30.1)
    h.worker(ended_by_itself=False)
