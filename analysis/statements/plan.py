"""What statements read of a run's plan and description."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import pyarrow as pa

from contract.run_folder import GroupPlan, Plan, ProducerPlan, RunDescription
from contract.software import Client, about, longest_ms, without_version
from contract.terms import Isolation

PLANNED = {
    "planned_topics": pa.schema(
        {
            "topic": pa.string(),
            "min_insync": pa.int32(),
            "unclean_election": pa.bool_(),
            "retention_ms": pa.int64(),
            "deletes": pa.bool_(),
            "subscribed": pa.int32(),
            "request_ms": pa.int64(),
        }
    ),
    "planned_groups": pa.schema(
        {
            **{
                name: pa.string()
                for name in (
                    "group",
                    "client",
                    "commit_epoch",
                    "reset",
                    "isolation",
                    "manner",
                    "level",
                )
            },
            "is_by_client": pa.bool_(),
            "is_static": pa.bool_(),
            "has_one_instance": pa.bool_(),
            "has_rack": pa.bool_(),
            "is_classic": pa.bool_(),
            **{
                name: pa.int64()
                for name in (
                    "request_ms",
                    "session_ms",
                    "poll_interval_ms",
                    "metadata_age_ms",
                    "commit_ms",
                    "round_ms",
                )
            },
            "hidden_reset": pa.string(),
            "hash": pa.int32(),
        }
    ),
    "planned_readers": pa.schema({name: pa.string() for name in ("group", "topic", "isolation")}),
    "planned_members": pa.schema(
        {"group": pa.string(), "number": pa.int32(), "isolation": pa.string()}
    ),
    "run_conditions": pa.schema(
        {
            "release": pa.int32(),
            "metadata_max_bytes": pa.int32(),
            "min_insync": pa.int32(),
            "unclean_election": pa.bool_(),
            "run_ended_micros": pa.int64(),
            "has_failed": pa.bool_(),
        }
    ),
}
"""The schema of each, by its name.

Of `planned_topics`, `subscribed` counts the groups that read the topic. `request_ms`: how long a
producer waits for the response to one request to it, at most; null: not known.

Of `planned_groups`, `client`: without a version; where members have several clients, it is that of
the members in question. `isolation`: read_committed if a member reads committed values only; of
`planned_members` it is that of one member. `is_by_client`: whether the group's client commits by
itself, and reports no commit; or it is a guest that need not show all that it commits. `is_static`:
whether a member that is started again keeps its partitions (KIP-345). `has_one_instance`: whether
all its members have one group.instance.id. `has_rack`: whether it has a `client.rack`, and so may
read from a follower. `is_classic`: whether a member is not known to be of KIP-848. `request_ms`:
how long a member waits for the response to one request, at most; null: not known. `session_ms`,
`poll_interval_ms` and `metadata_age_ms`: by `session.timeout.ms`, `max.poll.interval.ms` and
`metadata.max.age.ms`, the longest of its members. The first two are null where the settings of a
guest do not name them; otherwise Kafka's defaults count. `commit_ms`: by `auto.commit.interval.ms`;
null where no settings name it. `round_ms`: what a rebalance takes by the
settings, three heartbeats and the delay of its assignment. `hidden_reset`: the policy by which a
guest, whose log is not read, may have been reset unseen; null: of any other client. `hash`: modulo
the partitions of `__consumer_offsets`, which of them is its own.

Of `run_conditions`, one row, `metadata_max_bytes`: of a commit, by `offset.metadata.max.bytes`.
`min_insync`, `unclean_election`: of topics that the plan does not have, by `min.insync.replicas`
and `unclean.leader.election.enable`. `run_ended_micros`: when the run began, if it is not known
when it ended. `has_failed`: whether the scenario failed.
"""


_BY_SIZE = "retention.bytes"


def planned_rows(name: str, plan: Plan, run: RunDescription) -> pa.Table:
    """The rows of one of PLANNED."""
    rows: Iterable[Mapping[str, Any]]
    if name == "planned_topics":
        rows = _topics(plan)
    elif name in ("planned_groups", "planned_readers"):
        rows = _groups(plan, run.config.get("settings", {}))
    elif name == "planned_members":
        rows = _members(plan)
    else:
        rows = [_conditions(run)]
    return pa.Table.from_pylist(list(rows), schema=PLANNED[name])


def _topics(plan: Plan) -> Iterable[dict[str, Any]]:
    readers = Counter(group.topic for group in plan.groups)
    for topic in plan.topics:
        yield msgspec.structs.asdict(topic) | {
            "deletes": topic.deletes or _BY_SIZE in topic.settings,
            "subscribed": readers[topic.topic],
            "request_ms": _produce_ms(topic.topic, plan.producers),
        }


def _produce_ms(topic: str, producers: Iterable[ProducerPlan]) -> int | None:
    """Of producers of a topic. The harness opens one that is not planned without settings."""
    planned = [producer for producer in producers if producer.topic == topic]
    not_planned = ProducerPlan(producer="", topic=topic)
    return longest_ms([producer.request_timeout_ms for producer in (not_planned, *planned)])


def _groups(plan: Plan, of_brokers: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for group in plan.groups:
        yield msgspec.structs.asdict(group) | {
            "client": without_version(group.client),
            "isolation": (
                Isolation.READ_COMMITTED
                if Isolation.READ_COMMITTED in _isolations(group)
                else Isolation.READ_UNCOMMITTED
            ),
            "is_by_client": group.commits_by_itself or not group.shows_all,
            "is_static": group.is_static,
            "has_one_instance": group.has_one_instance,
            "has_rack": "client.rack" in group.settings,
            "request_ms": group.request_timeout_ms,
            **_limits(group, of_brokers),
            "hidden_reset": group.hidden_reset,
            "hash": abs_java_hash(group.group),
        }


def _limits(group: GroupPlan, of_brokers: Mapping[str, Any]) -> dict[str, int | None]:
    """The longest of its members' times, by the settings of their clients or of the brokers."""
    members = [group.member(number) for number in range(1, group.members + 1)]

    def given(setting: str, settings: Mapping[str, Any]) -> list[int]:
        texts = [str(settings.get(name)) for name in (setting, setting.replace(".", "_"))]
        return [int(text) for text in texts if text.isdecimal()]

    def longest(setting: str, default: int, settings: Iterable[Mapping[str, Any]]) -> int:
        return max((ms for one in settings for ms in given(setting, one)), default=default)

    own = [member.settings for member in members]
    of_guests = [one.settings for one in members if about(one.client) is Client.GUEST.about]

    def if_known(setting: str, default: int) -> int | None:
        is_known = all(given(setting, settings) for settings in of_guests)
        return longest(setting, default, own) if is_known else None

    commit_ms = [ms for one in own for ms in given("auto.commit.interval.ms", one)]
    is_classic = [about(member.client).is_classic for member in members]
    session_ms = if_known("session.timeout.ms", 45_000)
    if all(is_classic):
        heartbeat_ms = longest("heartbeat.interval.ms", 3_000, own)
        delay_ms = longest("group.initial.rebalance.delay.ms", 3_000, [of_brokers])
    else:
        of_consumers = "group.consumer."
        if not of_guests:
            session_ms = longest(f"{of_consumers}session.timeout.ms", 45_000, [of_brokers])
        heartbeat_ms = longest(f"{of_consumers}heartbeat.interval.ms", 5_000, [of_brokers])
        delay_ms = longest(f"{of_consumers}assignment.interval.ms", 1_000, [of_brokers])
    return {
        "is_classic": any(is_classic),
        "session_ms": session_ms,
        "poll_interval_ms": if_known("max.poll.interval.ms", 300_000),
        "metadata_age_ms": longest("metadata.max.age.ms", 300_000, own),
        "commit_ms": max(commit_ms, default=None),
        "round_ms": 3 * heartbeat_ms + delay_ms,
    }


def _members(plan: Plan) -> Iterable[dict[str, Any]]:
    for group in plan.groups:
        for number, isolation in enumerate(_isolations(group), 1):
            yield {"group": group.group, "number": number, "isolation": isolation}


def _isolations(group: GroupPlan) -> list[str]:
    return [group.member(number).isolation_level for number in range(1, group.members + 1)]


def _conditions(run: RunDescription) -> dict[str, Any]:
    settings = run.config.get("settings", {})
    return {
        "release": run.release,
        "metadata_max_bytes": int(settings.get("offset.metadata.max.bytes", 4096)),
        "min_insync": int(settings.get("min.insync.replicas", 1)),
        "unclean_election": str(settings.get("unclean.leader.election.enable")).lower() == "true",
        "run_ended_micros": run.ended_micros or run.started_micros,
        "has_failed": run.error is not None,
    }


def abs_java_hash(text: str) -> int:
    """The absolute value of Java's `String.hashCode`, as `Utils.abs` of Kafka takes it."""
    hashed = 0
    units = text.encode("utf-16-be")
    for index in range(0, len(units), 2):
        hashed = (31 * hashed + int.from_bytes(units[index : index + 2], "big")) & 0xFFFFFFFF
    signed = hashed - (1 << 32) if hashed >= 1 << 31 else hashed
    return 0 if signed == -(1 << 31) else abs(signed)
