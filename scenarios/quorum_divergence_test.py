"""Is committed metadata kept, and the rest truncated exactly, when the quorum is divided?

Cluster: 1 broker, 3 or 5 controllers; one topic.
Load:    metadata that is written to single controllers, to the deposed leader among them.
Fault:   the quorum's leader gets entries that no other voter has. It is deposed and comes back.
         isolated      it is partitioned from the other voters in both directions.
         one_way_in    packets from the other voters to it are dropped.
         one_way_out   packets from it to the other voters are dropped.
         paused        the others are paused, so that they don't fetch; then it is paused until
                       one of them leads, and resumed.
         wiped         as isolated; then a follower's disk is wiped, and it starts empty.
         rolling_kill  three times: as isolated, and it is killed before it is connected again.
         voters        as isolated, after one of the controllers was added as a voter; then the
                       deposed leader is removed from the voters (KIP-853).
         rounds        the third voter is paused until its log is the shortest. Requests to the
                       leader and to the other voter are dropped, but not their own: the third one
                       votes for them, and can't fetch. Both lead in turn, each with entries that
                       no other has. The one that led twice is paused until the one in between is
                       connected and has committed.
Expect:  the deposed leader truncates its log to where it departs from its successor's, and no
         entry is lost that was committed. Two epochs that its successor lacks, with one of the
         successor's in between, take two rounds. An epoch has one leader. No sample of a leader's
         view refutes that its high watermark moves only over what a majority of the voters has, an
         entry of its own epoch among it.
Source:  KIP-595, KIP-853.
"""

from dataclasses import replace
from functools import partial

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.protocol import FIRST_WITH_QUORUM
from contract.run_folder import Consequence, Expectation, TopicPlan
from contract.terms import Check, Stage
from harness.faults import Divide, Kill, Links, OtherVoters, Pause, Voter, WipeVoter
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.wire.requests import (
    NOBODY,
    begin_quorum_epoch,
    end_quorum_epoch,
    fetch_metadata,
    vote,
)

RECORDS = 50
KILLS = 3
BEYOND = 1_000_000
"""How far beyond the log end a Fetch of the quorum's leader asks."""
IN_FLIGHT = 2
"""Entries that a Fetch which a paused voter has sent may still take along."""
LINKS = {"isolated": Links.BOTH, "one_way_in": Links.IN, "one_way_out": Links.OUT}


class QuorumDivergenceScenario(Scenario):
    """The leader of the quorum is divided from it with entries of its own."""

    topology = Topology(brokers=1, controllers=5)
    orders = TopicPlan(
        topic="orders", partitions=1, replication=1, min_insync=1, unclean_election=False
    )
    expects = (Expectation(check=Check.METADATA_TRUNCATION, verdict="permitted"),)
    must_judge = (
        Check.METADATA_LOST,
        Check.METADATA_TRUNCATION,
        Check.METADATA_DIVERGENCE,
        Check.EARLY_HIGH_WATERMARK,
        Check.WRONG_QUORUM_RESPONSE,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_none(metadata_lost.rows + metadata_truncation.rows(verdict='violation'), "
        "asked='kept') }}: of {{ metadata_truncation.rows | noun('divergence') }} of metadata "
        "logs, {{ metadata_truncation.rows(verdict='violation') }} were truncated elsewhere than "
        "where the log departs from the quorum's, and committed entries were lost "
        "{{ metadata_lost.rows | noun('time') }}. Of {{ quorum_samples.rows | noun('sample') }} "
        "of leaders, {{ early_high_watermark.rows }} refuted the rule of the high watermark."
    )
    follows = Consequence(
        sentence=(
            "Take a change of metadata as done only once it is confirmed: what a deposed leader "
            "of the quorum had alone was truncated ("
            "{{ metadata_truncation.rows | noun('divergence') }}), and committed entries were "
            "lost {{ metadata_lost.rows | noun('time') }}."
        ),
        document="KIP-595",
    )

    @matrix(recipe=["rounds"], controllers=[3])
    @matrix(
        recipe=[
            "isolated",
            "one_way_in",
            "one_way_out",
            "paused",
            "wiped",
            "rolling_kill",
            "voters",
        ],
        controllers=[3, 5],
    )
    def test_quorum_divergence(self, recipe: str, controllers: int) -> None:
        spares = 1 if recipe == "voters" else 0
        with self.running(
            topics=[self.orders],
            topology=replace(self.topology, controllers=controllers, spares=spares),
            expects=self.expects,
        ) as run:
            run.create(assignment=[1])
            run.watch()
            run.quorum.watch()
            run.produce("orders", count=RECORDS, producer="before")
            match recipe:
                case "paused":
                    self.pause_leader(run)
                case "wiped":
                    self.divide_leader(run, Links.BOTH)
                    self.wipe_follower(run)
                case "rolling_kill":
                    for _ in range(KILLS):
                        self.kill_leader(run)
                case "voters":
                    self.change_voters(run)
                case "rounds":
                    self.take_turns(run)
                case _:
                    self.divide_leader(run, LINKS[recipe])
            run.settle()
            run.produce("orders", count=RECORDS, producer="after")
            self.ask(run)

    def divide_leader(self, run: Run, links: Links) -> int:
        """Partition the leader, let its log diverge, and connect it again; returns its id."""
        deposed = run.quorum.await_leader()
        with run.fault(Divide(Voter(deposed.leader), links)):
            run.quorum.diverge(deposed.leader)
            self.succeed(run, deposed.leader_epoch)
        self.agree(run)
        return deposed.leader

    def change_voters(self, run: Run) -> None:
        """Add the spare controller, divide the leader, and remove it from the voters."""
        run.phases.enter(Stage.STEADY, "a controller becomes a voter")
        run.quorum.add_voter(run.kafka.topology.controller_ids[-1])
        deposed = self.divide_leader(run, Links.BOTH)
        run.phases.enter(Stage.HEALED, "the deposed leader is removed from the voters")
        run.quorum.remove_voter(deposed)
        self.agree(run)

    def pause_leader(self, run: Run) -> None:
        """Pause the followers, let the leader's log diverge, and exchange the pauses."""
        deposed = run.quorum.await_leader()
        followers = run.inject(Pause(OtherVoters(deposed.leader)))
        run.quorum.diverge(deposed.leader)
        leader = run.inject(Pause(Voter(deposed.leader)))
        followers.heal()
        self.succeed(run, deposed.leader_epoch)
        leader.heal()
        self.agree(run)

    def take_turns(self, run: Run) -> None:
        """Let two voters be elected in turn by the third, and the one in between succeed.

        The leader must be one of both, since the other could fetch from the third. The third is
        paused first, so that its log is the shortest: it votes for no shorter one. The one that led
        twice is paused meanwhile, so that its log is copied before it fetches.
        """
        state = run.quorum.await_leader()
        third = self.random.choice([voter for voter in state.log_ends if voter != state.leader])
        paused = run.inject(Pause(Voter(third)))
        state = run.quorum.await_leader()
        run.quorum.await_commit(beyond=state.log_ends[state.leader] + IN_FLIGHT)
        both = [voter for voter in state.log_ends if voter != third]
        faults = [Divide(Voter(voter), Links.IN, is_of_requests=True) for voter in both]
        held = dict(zip(both, run.inject_all(*faults), strict=True))
        paused.heal()
        turns = run.quorum.await_turns(both, above=state.leader_epoch)
        deposed = run.inject(Pause(Voter(turns.twice)))
        held[turns.between].heal()
        self.succeed(run, turns.epoch)
        deposed.heal()
        self.agree(run)
        held[turns.twice].heal()

    def wipe_follower(self, run: Run) -> None:
        """Remove a follower's disk, commit without it, and let it return."""
        state = run.quorum.await_leader()
        follower = self.random.choice([voter for voter in state.log_ends if voter != state.leader])
        with run.fault(WipeVoter(Voter(follower))):
            run.quorum.write(state.leader)
            run.quorum.await_commit(beyond=state.log_ends[follower])
        self.agree(run)

    def kill_leader(self, run: Run) -> None:
        """Partition the leader, let its log diverge, kill it, and start it again."""
        deposed = run.quorum.await_leader()
        cut = run.inject(Divide(Voter(deposed.leader), Links.BOTH))
        run.quorum.diverge(deposed.leader)
        with run.fault(Kill(Voter(deposed.leader))):
            cut.heal()
            self.succeed(run, deposed.leader_epoch)
        self.agree(run)

    def succeed(self, run: Run, epoch: int) -> None:
        """Wait for a leader of a newer epoch, and until it has committed what it was sent."""
        successor = run.quorum.await_leader(above=epoch)
        run.quorum.write(successor.leader)
        run.quorum.await_commit(beyond=successor.high_watermark)

    def agree(self, run: Run) -> None:
        """Wait until all voters have what is committed."""
        run.phases.enter(Stage.HEALED, "all voters fetch what is committed")
        run.quorum.await_agreement()

    def ask(self, run: Run) -> None:
        """Send requests of old and of later epochs, and of other places, to each controller.

        No Vote, BeginQuorumEpoch or EndQuorumEpoch is of a later epoch: it would be followed.
        """
        run.phases.enter(Stage.STEADY, "requests to every controller")
        state = run.quorum.await_agreement()
        epoch, end = state.leader_epoch, state.high_watermark
        for controller in state.log_ends:
            ask = partial(run.quorum.wire.call_each_version, controller)
            fetch = partial(ask, fetch_metadata, since=FIRST_WITH_QUORUM)
            for current in (epoch, epoch - 1, epoch + 1):
                fetch(current_leader_epoch=current, last_fetched_epoch=0, offset=end)
            ask(vote, epoch=epoch - 1, candidate=state.leader)
            ask(begin_quorum_epoch, epoch=epoch - 1, leader=state.leader)
            ask(end_quorum_epoch, epoch=epoch - 1, leader=state.leader)
        fetch = partial(
            run.quorum.wire.call_each_version,
            state.leader,
            fetch_metadata,
            since=FIRST_WITH_QUORUM,
            current_leader_epoch=epoch,
        )
        for last_fetched, offset in ((epoch, end), (epoch, end + BEYOND), (epoch - 1, end)):
            fetch(last_fetched_epoch=last_fetched, offset=offset)
        fetch(last_fetched_epoch=epoch, offset=end, replica=NOBODY)
