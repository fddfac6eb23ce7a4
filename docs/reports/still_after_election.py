"""How many kafka-python consumers stop to deliver, after an election of a leader?"""

import logging
import time

import kafka
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient

CONSUMERS, RECORDS, SECONDS = 3, 2000, 5
CLUSTER = {"bootstrap_servers": ["10.88.0.11", "10.88.0.12", "10.88.0.13"]}
ORDERS = TopicPartition("orders", 0)
logging.basicConfig(format="%(asctime)s %(name)s %(message)s")
producer = KafkaProducer(**CLUSTER)
sent = [producer.send("orders", b"", partition=0) for _ in range(RECORDS)]
first = sent[0].get(SECONDS).offset
producer.flush()
KafkaAdminClient(**CLUSTER).elect_leaders(0, {"orders": [0]}, raise_errors=False)
still = 0
for number in range(CONSUMERS):
    if number == 0:  # the log of the first consumer
        logging.getLogger("kafka.consumer").setLevel(logging.DEBUG)
    member = KafkaConsumer(**CLUSTER, max_poll_records=500)
    member.assign([ORDERS])
    member.seek(ORDERS, first)
    delivered, deadline = 0, time.monotonic() + SECONDS
    while delivered < RECORDS and time.monotonic() < deadline:
        delivered += len(member.poll(100).get(ORDERS, []))
    print(f"{delivered} of {RECORDS} records delivered, position {member.position(ORDERS) - first}")
    still += delivered < RECORDS
    member.close()
    logging.getLogger("kafka.consumer").setLevel(logging.WARNING)
print(f"kafka-python {kafka.__version__}: {still} of {CONSUMERS} consumers stood still")
