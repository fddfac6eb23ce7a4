"""A start from a commit is validated (KIP-320)."""

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import LogTruncationError
from kafka.protocol.consumer import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kafka.protocol.metadata import MetadataResponse
from test.mock_broker import MockCluster

Topic = MetadataResponse.MetadataResponseTopic
Group = OffsetFetchResponse.OffsetFetchResponseGroup
GroupTopic = Group.OffsetFetchResponseTopics
EndTopic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
COMMITTED_EPOCH, LEADER_EPOCH = 3, 5
COMMITTED, END_OF_EPOCH = 100, 80


def metadata():
    partition = Topic.MetadataResponsePartition(
        error_code=0,
        partition_index=0,
        leader_id=0,
        leader_epoch=LEADER_EPOCH,
        replica_nodes=[0],
        isr_nodes=[0],
        offline_replicas=[],
    )
    return [Topic(error_code=0, name="orders", is_internal=False, partitions=[partition])]


def committed():
    partition = GroupTopic.OffsetFetchResponsePartitions(
        partition_index=0,
        committed_offset=COMMITTED,
        committed_leader_epoch=COMMITTED_EPOCH,
        metadata="kept by the application",
        error_code=0,
    )
    topic = GroupTopic(name="orders", partitions=[partition])
    group = Group(group_id="group", error_code=0, topics=[topic])
    return OffsetFetchResponse(throttle_time_ms=0, error_code=0, topics=[], groups=[group])


def end_of_epoch():
    partition = EndTopic.EpochEndOffset(
        error_code=0, partition=0, leader_epoch=COMMITTED_EPOCH, end_offset=END_OF_EPOCH
    )
    topic = EndTopic(topic="orders", partitions=[partition])
    return OffsetForLeaderEpochResponse(throttle_time_ms=0, topics=[topic])


def test_start_from_commit_is_validated():
    cluster = MockCluster(num_brokers=1)
    cluster.set_metadata(topics=metadata())
    cluster.set_coordinator("group", 0)
    cluster[0].respond_always(OffsetFetchRequest, committed())
    asked = []

    def answer(_api, version, _correlation, sent):
        request = OffsetForLeaderEpochRequest.decode(sent, version=version, header=True)
        asked.extend(one.leader_epoch for topic in request.topics for one in topic.partitions)
        return end_of_epoch()

    cluster[0].respond_always(OffsetForLeaderEpochRequest, answer)
    consumer = KafkaConsumer(
        kafka_client=cluster.client_factory(),
        bootstrap_servers=cluster.bootstrap_servers(),
        group_id="group",
        auto_offset_reset="none",
        enable_auto_commit=False,
    )
    orders = TopicPartition("orders", 0)
    try:
        consumer.assign([orders])
        assert consumer.position(orders, timeout_ms=5000) == COMMITTED
        assert asked == [COMMITTED_EPOCH]
        with pytest.raises(LogTruncationError):
            consumer.poll(timeout_ms=0)
    finally:
        consumer.close()
