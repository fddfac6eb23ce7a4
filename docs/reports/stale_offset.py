"""How many responses of a new coordinator are older than a commit acknowledged before them?"""

import time

from confluent_kafka import Consumer, KafkaException, TopicPartition, libversion
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

OFFSETS, ORDERS = "__consumer_offsets", TopicPartition("orders", 0)
CLUSTER = {"bootstrap.servers": "10.88.0.11,10.88.0.12,10.88.0.13"}


def client(isolation):  # of a group of partition 0 of the three of __consumer_offsets
    return Consumer({**CLUSTER, "group.id": "older", "isolation.level": isolation})


def commit(offset):
    writer.commit(offsets=[TopicPartition("orders", 0, offset)], asynchronous=False)
    return offset


writer, unstable, stable = map(client, ("read_committed", "read_uncommitted", "read_committed"))
acknowledged, insync, admin = commit(1), 0, AdminClient(CLUSTER)
two = ConfigEntry("min.insync.replicas", "2", incremental_operation=AlterConfigOpType.SET)
admin.incremental_alter_configs([ConfigResource("topic", OFFSETS, incremental_configs=[two])])
try:
    while True:
        acknowledged, before = commit(acknowledged + 1), insync
        insync = len(admin.list_topics(OFFSETS, timeout=5).topics[OFFSETS].partitions[0].isrs)
        if insync != before:
            print(f"offset {acknowledged} is committed, {insync} replicas in sync", flush=True)
        time.sleep(0.1)  # less than replica.fetch.wait.max.ms
except KafkaException as error:
    print(f"{acknowledged} was acknowledged, then commit() raised: {error.args[0].str()}")
print(f"read_uncommitted: {unstable.committed([ORDERS], timeout=30)[0].offset}")
older = sum(unstable.committed([ORDERS])[0].offset < acknowledged for _ in range(100))
try:
    print(f"read_committed: {stable.committed([ORDERS], timeout=10)[0].offset}")
except KafkaException as error:
    print(f"read_committed: {error.args[0].str()}")
print(f"librdkafka {libversion()[0]}: {older} of 100 responses older than the acknowledged")
