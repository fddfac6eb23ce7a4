"""Plants of truncations and resets (family F, and E9)."""

import numpy as np

from simulator.log import micros
from simulator.plants.tools import (
    PLAIN,
    RESTARTED,
    STEADY,
    UNCLEAN,
    Plant,
    Random,
    any_partition,
    commits_of,
    copy_of,
    deliver_again,
    deliveries,
    drop_commits,
    follows,
    groups,
    stored_row,
)
from simulator.unclean import READS_ON_AT, divergence
from simulator.universe import Place, Universe

_BACK = 3
_BELOW = 3


def _silent(universe: Universe, random: Random, check: str) -> list[Place]:
    """A group continues above a truncation without noticing it."""
    partition = any_partition(universe, random)
    group = groups(universe)[int(random.integers(2))]
    polls, resets = universe.frame("polls"), universe.frame("resets")
    reported = resets.where(partition=partition, group=group, cause="truncation")
    reached = int(resets["from_offset"][reported][0])
    universe.keep("resets", ~reported)
    passed = deliveries(universe, partition, group) & (polls["leader_epoch"] > 0)
    universe.keep("polls", ~(passed & (polls["offset"] < reached)))
    commits = universe.frame("commits")
    below = [
        int(i)
        for i in commits_of(universe, partition, group)
        if commits["committed_epoch"][i] > 0 and commits["offset"][i] <= reached
    ]
    drop_commits(universe, np.array(below, dtype=np.int64))
    others = (
        "skipped_record",
        "poll_skip",
        "silent_revalidation",
        "truncation_undetected",
        "orphan_commit",
    )
    follows(universe, partition, group, *(o for o in others if o != check))
    return [Place(check, "violation", partition, group)]


def truncation_undetected(universe: Universe, random: Random) -> list[Place]:
    """A group read truncated records, and continues without noticing."""
    return _silent(universe, random, "truncation_undetected")


def silent_revalidation(universe: Universe, random: Random) -> list[Place]:
    """A position beyond the log's end became valid again through new appends."""
    (place,) = _silent(universe, random, "silent_revalidation")
    return [Place(place.check, None, place.partition, place.group)]


def truncation_detected(universe: Universe, random: Random) -> list[Place]:
    """No change: the story's groups notice its truncation."""
    partition = any_partition(universe, random)
    return [Place("truncation_detected", None, partition, group) for group in groups(universe)]


def reset(universe: Universe, random: Random) -> list[Place]:
    """No change: the story's groups are reset by its truncation."""
    partition = any_partition(universe, random)
    return [Place("reset", "permitted", partition, group) for group in groups(universe)]


def _intact_reset(universe: Universe, random: Random, check: str, cause: str) -> list[Place]:
    """A group is reset from a position that lies on the surviving branch."""
    partition, group = any_partition(universe, random), groups(universe)[STEADY]
    polls = universe.frame("polls")
    samples = universe.frame("samples")
    leaders = np.flatnonzero(samples.where(partition=partition) & (samples["log_end_offset"] > 0))
    moments = samples["at_micros"][leaders]
    fits = leaders[(moments > universe.at(46)) & (moments < universe.at(75))]
    at = int(samples["at_micros"][random.choice(fits)]) + micros(0.05)
    before = deliveries(universe, partition, group) & (polls["polled_micros"] < at)
    last = int(polls["offset"][before].max())
    epoch = int(polls["leader_epoch"][before & (polls["offset"] == last)][0])
    to = last + 1 - _BACK
    model = universe.frame("resets").where(partition=partition, group=group)
    first = copy_of(universe.frame("resets"), int(np.flatnonzero(model)[0]))
    universe.add(
        first.but(
            cause=cause,
            from_offset=last + 1,
            from_epoch=epoch,
            to_offset=to,
            log_line=f"{cause} of {universe.topic}-{partition}",
            at_micros=at,
        )
    )
    again = np.flatnonzero(before & (polls["offset"] >= to))
    deliver_again(universe, again, at + micros(0.05))
    others = {
        "unjustified_reset",
        "false_truncation",
        "truncation_detected",
        "reset",
        "duplicate_delivery",
        "nonmonotonic_poll",
        "record_epoch_regressed",
        "commit_regressed",
        "committed_epoch_regressed",
    } - {check}
    follows(universe, partition, group, *others)
    return [Place(check, "violation", partition, group)]


def unjustified_reset(universe: Universe, random: Random) -> list[Place]:
    """KAFKA-19902's symptom: out of range, though it is not."""
    return _intact_reset(universe, random, "unjustified_reset", "out_of_range")


def false_truncation(universe: Universe, random: Random) -> list[Place]:
    """A truncation is reported, though the position's branch is intact."""
    return _intact_reset(universe, random, "false_truncation", "truncation")


def over_truncation(universe: Universe, random: Random) -> list[Place]:
    """The returning replica truncates more than what diverges."""
    partition = any_partition(universe, random)
    cuts = universe.frame("truncations")
    to = divergence(universe, partition) - _BELOW
    cuts["to_offset"][cuts["partition"] == partition] = to
    return [Place("over_truncation", None, partition)]


def orphan_commit(universe: Universe, random: Random) -> list[Place]:
    """A group commits on the abandoned branch, although it noticed the truncation."""
    partition = any_partition(universe, random)
    group = groups(universe)[int(random.integers(2))]
    commits, stored = universe.frame("commits"), universe.frame("committed_offsets")
    resets = universe.frame("resets")
    reported = resets.where(partition=partition, group=group, cause="truncation")
    reached = int(resets["from_offset"][reported][0])
    mine = commits_of(universe, partition, group)
    last = int([i for i in mine if commits["committed_epoch"][i] == 0][-1])
    at = universe.at(READS_ON_AT + float(random.uniform(0.1, 0.4)))
    row = stored_row(universe, last)
    universe.add(copy_of(stored, row).but(offset=reached, committed_micros=at // 1000 * 1000))
    universe.add(copy_of(commits, last).but(offset=reached, committed_micros=at))
    follows(
        universe,
        partition,
        group,
        "committed_epoch_behind_leader",
        "commit_regressed",
        "commit_beyond_log",
        "commit_beyond_processed",
    )
    return [Place("orphan_commit", None, partition, group, reached)]


def reprocessing_amplification(universe: Universe, random: Random) -> list[Place]:
    """No change: records are redelivered to the restarted group."""
    del random
    return [Place("reprocessing_amplification", None, None, groups(universe)[RESTARTED])]


def loss_estimate(universe: Universe, random: Random) -> list[Place]:
    """No change: the story's truncation is what there is to estimate."""
    return [Place("loss_estimate", None, any_partition(universe, random))]


def divergence_mismatch(universe: Universe, random: Random) -> list[Place]:
    """A client reports the story's truncation at an offset below the divergence."""
    partition = any_partition(universe, random)
    group = groups(universe)[int(random.integers(2))]
    resets = universe.frame("resets")
    reported = np.flatnonzero(resets.where(partition=partition, group=group, cause="truncation"))
    truncated = resets.row(int(reported[0]))
    named = divergence(universe, partition) - int(random.integers(1, _BELOW + 1))
    universe.write(
        "group_events",
        **{name: truncated[name] for name in ("worker", "group", "member", "topic", "partition")},
        change="failed",
        exception="LogTruncationException",
        message="",
        position=truncated["from_offset"],
        position_epoch=truncated["from_epoch"],
        divergent_offset=named,
        divergent_epoch=truncated["from_epoch"],
        at_micros=truncated["at_micros"] - micros(0.01),
    )
    follows(universe, partition, group, "truncation_detected")
    return [Place("divergence_mismatch", "violation", partition, group, named)]


PLANTS = {
    "truncation_detected": Plant(UNCLEAN, truncation_detected),
    "truncation_undetected": Plant(UNCLEAN, truncation_undetected),
    "false_truncation": Plant(PLAIN, false_truncation),
    "divergence_mismatch": Plant(UNCLEAN, divergence_mismatch),
    "over_truncation": Plant(UNCLEAN, over_truncation),
    "reset": Plant(UNCLEAN, reset),
    "unjustified_reset": Plant(PLAIN, unjustified_reset),
    "silent_revalidation": Plant(UNCLEAN, silent_revalidation),
    "reprocessing_amplification": Plant(PLAIN, reprocessing_amplification),
    "loss_estimate": Plant(UNCLEAN, loss_estimate),
    "orphan_commit": Plant(UNCLEAN, orphan_commit),
}
