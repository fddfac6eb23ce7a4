"""How many kafka-python consumers stop to deliver, after a rebalance that leaves partitions?"""

import time

import kafka
from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer

GROUPS, SECONDS = 3, 5
CLUSTER = {"bootstrap_servers": ["10.88.0.11", "10.88.0.12", "10.88.0.13"]}
producer, run = KafkaProducer(**CLUSTER), int(time.time())


class Listener(ConsumerRebalanceListener):
    on_partitions_revoked = on_partitions_assigned = lambda *_: None


def poll(*members, until):
    deadline, found = time.monotonic() + SECONDS, set()
    while not until(found) and time.monotonic() < deadline:
        for member in members:
            found |= member.poll(100).keys()
    return found


still = 0
for number in range(GROUPS):
    settings = {**CLUSTER, "group_id": f"still-{run}-{number}", "heartbeat_interval_ms": 500}
    stays, leaves = KafkaConsumer(**settings), KafkaConsumer(**settings)
    stays.subscribe(["orders"], listener=Listener())
    poll(stays, until=lambda _: len(stays.assignment()) == 3)
    leaves.subscribe(["orders"])
    poll(stays, leaves, until=lambda _: leaves.assignment() and 0 < len(stays.assignment()) < 3)
    kept = stays.assignment()
    leaves.close()
    poll(stays, until=lambda _: len(stays.assignment()) == 3)
    _ = [producer.send("orders", b"", partition=one.partition).get(SECONDS) for one in kept]
    found = poll(stays, until=lambda found: kept <= found)
    print(f"kept {sorted(one.partition for one in kept)}, delivered {len(found & kept)} of them")
    still += not kept <= found
print(f"kafka-python {kafka.__version__}: {still} of {GROUPS} consumers stood still")
