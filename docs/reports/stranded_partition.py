"""How many librdkafka consumers read nothing after an OffsetFetch met NOT_COORDINATOR?"""

import time

from confluent_kafka import Consumer, ElectionType, Producer, TopicPartition, libversion
from confluent_kafka.admin import AdminClient

SECONDS = 20
CLUSTER = {"bootstrap.servers": "10.88.0.11,10.88.0.12,10.88.0.13"}
GROUP = {**CLUSTER, "group.id": "stranded", "enable.auto.commit": False, "debug": "cgrp"}
ORDERS = TopicPartition("orders", 0)
OFFSETS = [TopicPartition("__consumer_offsets", partition) for partition in range(3)]
admin, producer = AdminClient(CLUSTER), Producer(CLUSTER)
for _ in range(100):
    producer.produce("orders", b"", partition=0)
producer.flush()
members = [Consumer(GROUP) for _ in range(5)]
for member in members:  # finds the coordinator
    end = member.get_watermark_offsets(ORDERS)[1]
    member.commit(offsets=[TopicPartition("orders", 0, end - 50)], asynchronous=False)
admin.elect_leaders(ElectionType.PREFERRED, OFFSETS).result()
time.sleep(1)  # the previous coordinator has resigned
for member in members:
    member.assign([ORDERS])
records, deadline = [0] * 5, time.monotonic() + SECONDS
while time.monotonic() < deadline:
    for number, member in enumerate(members):
        message = member.poll(0.1)
        if message is not None and message.error():
            print(f"consumer {number}: {message.error().str()}")
        elif message is not None:
            records[number] += 1
for number, member in enumerate(members):
    committed = member.committed([ORDERS])[0].offset
    print(f"consumer {number}: {records[number]} of 50 records, committed() returns {committed}")
version, unread = libversion()[0], records.count(0)
print(f"librdkafka {version}: {unread} of 5 consumers that read nothing in {SECONDS} s")
