"""How many groups of kafka-python have partitions without one owner, after a topic got more?"""

import logging
import time

import kafka
from kafka import KafkaConsumer
from kafka.admin import KafkaAdminClient

GROUPS, SECONDS = 3, 20
CLUSTER = {"bootstrap_servers": ["10.88.0.11", "10.88.0.12", "10.88.0.13"]}
SETTINGS = {**CLUSTER, "metadata_max_age_ms": 1000, "session_timeout_ms": 6000}
logging.basicConfig(format="%(asctime)s %(name)s %(message)s")
admin, run = KafkaAdminClient(**CLUSTER), int(time.time())


def owned(members, count):
    """Poll until each member owns some of `count` partitions, each once; returns what it owns."""
    deadline = time.monotonic() + SECONDS
    while True:
        found = [sorted(one.partition for one in member.assignment()) for member in members]
        is_whole = sorted(sum(found, [])) == list(range(count))
        if (all(found) and is_whole) or time.monotonic() > deadline:
            return found
        for member in members:
            member.poll(100)


still = 0
for number in range(GROUPS):
    topic = f"still-{run}-{number}"
    admin.create_topics({topic: {"num_partitions": 2, "replication_factor": 1}})
    settings = {**SETTINGS, "group_id": topic, "enable_auto_commit": False}
    members = [KafkaConsumer(topic, **settings) for _ in range(2)]
    before = owned(members, 2)
    logging.getLogger("kafka.coordinator").setLevel("DEBUG" if number == 0 else "WARNING")
    admin.create_partitions({topic: 4})
    print(f"owned of 2 partitions: {before}, of 4: {(after := owned(members, 4))}")
    still += sorted(sum(after, [])) != [0, 1, 2, 3]
print(f"kafka-python {kafka.__version__}: {still} of {GROUPS} groups stood still")
