"""A rejoin that outlasts a poll is finished by a later one (KAFKA-9815)."""

import time

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.protocol.consumer import SyncGroupRequest
from kafka.protocol.metadata import MetadataResponse
from test.mock_broker import MockCluster

Topic = MetadataResponse.MetadataResponseTopic
SHORT_MS, LONG_MS = 100, 5000


def topic(name, partitions):
    ones = [
        Topic.MetadataResponsePartition(
            error_code=0,
            partition_index=one,
            leader_id=0,
            leader_epoch=0,
            replica_nodes=[0],
            isr_nodes=[0],
            offline_replicas=[],
        )
        for one in range(partitions)
    ]
    return Topic(error_code=0, name=name, is_internal=False, partitions=ones)


def new_partitions(cluster, _consumer):
    cluster.set_metadata(topics=[topic("orders", 2), topic("bills", 1)])
    return {"orders": {0, 1}}


def new_subscription(_cluster, consumer):
    consumer.subscribe(["orders", "bills"])
    return {"orders": {0}, "bills": {0}}


@pytest.mark.parametrize("busy_ms", [0, 5 * SHORT_MS])
@pytest.mark.parametrize("change", [new_partitions, new_subscription])
def test_rejoin_outlasts_poll(change, busy_ms):
    cluster = MockCluster(num_brokers=1)
    cluster.set_metadata(topics=[topic("orders", 1), topic("bills", 1)])
    group = cluster.add_group("group")
    consumer = KafkaConsumer(
        "orders",
        kafka_client=cluster.client_factory(),
        bootstrap_servers=cluster.bootstrap_servers(),
        group_id="group",
        enable_auto_commit=False,
    )
    coordinator, net = consumer._coordinator, consumer._client._net
    try:
        assert coordinator.ensure_active_group(timeout_ms=LONG_MS)
        assert consumer.assignment() == {TopicPartition("orders", 0)}
        wanted = change(cluster, consumer)
        while coordinator._metadata_snapshot != wanted:
            consumer._client.cluster.request_update()
            time.sleep(0.02)

        async def slow(*request):
            await net.sleep(3 * SHORT_MS / 1000)
            return group._on_sync(*request)

        cluster[0].respond_fn(SyncGroupRequest, slow)
        assert not coordinator.poll(timeout_ms=SHORT_MS)
        assert coordinator.need_rejoin()
        time.sleep(busy_ms / 1000)
        assert coordinator.poll(timeout_ms=LONG_MS)
        assert consumer.assignment() == {
            TopicPartition(name, one) for name, ones in wanted.items() for one in ones
        }
        assert not coordinator.need_rejoin()
        assert group.generation == 2
    finally:
        consumer.close(timeout_ms=0)
