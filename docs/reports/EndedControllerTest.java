package org.apache.kafka.raft;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.junit.jupiter.api.Test;

public class EndedControllerTest {
    @Test
    void testBeginQuorumEpochResponseOfRemovedVoter() throws Exception {
        ReplicaKey local = ReplicaKey.of(1, Uuid.randomUuid());
        ReplicaKey follower = ReplicaKey.of(2, Uuid.randomUuid());
        ReplicaKey removed = ReplicaKey.of(3, Uuid.randomUuid());
        VoterSet voters = VoterSetTest.voterSet(Stream.of(local, follower, removed));
        var context = new RaftClientTestContext.Builder(1, local.directoryId().get())
            .withKip853Rpc(true)
            .withBootstrapSnapshot(Optional.of(voters))
            .withUnknownLeader(3)
            .build();
        context.unattachedToLeader();
        int epoch = context.currentEpoch();
        long end = context.log.endOffset().offset();
        context.deliverRequest(context.fetchRequest(epoch, follower, end, epoch, 0));
        context.pollUntilResponse();
        context.time.sleep(context.beginQuorumEpochTimeoutMs);
        context.client.poll(); // sends BeginQuorumEpoch again
        RaftRequest.Outbound begin = context.collectBeginEpochRequests(epoch).stream()
            .filter(sent -> sent.destination().id() == removed.id()).findFirst().get();
        context.deliverRequest(context.removeVoterRequest(removed));
        context.client.poll(); // handles it
        context.client.poll(); // appends the voters without the third
        context.deliverResponse(
            begin.correlationId(), begin.destination(), context.beginEpochResponse(epoch, 1));
        context.client.poll(); // throws IllegalArgumentException
        assertTrue(context.client.quorum().isLeader());
    }
}
