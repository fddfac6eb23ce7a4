"""How many groups skip records, after librdkafka's commit() stored nothing below a commit?"""

import sys
from contextlib import suppress

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition, libversion
from confluent_kafka.admin import AdminClient, NewTopic

CLUSTER = {"bootstrap.servers": "10.88.0.11,10.88.0.12,10.88.0.13"}
READER = {**CLUSTER, "enable.auto.commit": False, "auto.offset.reset": "earliest", "debug": "topic"}
LAX = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
EPOCHS = {f"no-epoch-{number}": -1 for number in range(5)} | {"epoch-of-the-record": 0}
admin, producer, skipped = AdminClient(CLUSTER), Producer(CLUSTER), 0
if sys.argv[1:] == ["before"]:  # to the log of broker 1 alone
    for topic, epoch in EPOCHS.items():
        new = NewTopic(topic, 1, replica_assignment=[[1, 2, 3]], config=LAX)
        admin.create_topics([new])[topic].result()
        _ = [producer.produce(topic, b"", partition=0) for _ in range(200)]
        producer.flush()
        end = TopicPartition(topic, 0, 200, leader_epoch=epoch)
        Consumer({**CLUSTER, "group.id": topic}).commit(offsets=[end], asynchronous=False)
    sys.exit()
for topic, epoch in EPOCHS.items():
    first = []
    for records in (150, 250):
        _ = [producer.produce(topic, b"", partition=0) for _ in range(records)]
        producer.flush()
        member = Consumer({**READER, "group.id": topic})
        member.assign([TopicPartition(topic, 0)])
        read = member.consume(150, timeout=20)
        first.append(read[0].offset())
        with suppress(KafkaException):  # _NO_OFFSET
            member.commit(asynchronous=False)
        print(f"{topic}: a consumer read {read[0].offset()} to {read[-1].offset()}")
    skipped += epoch < 0 and first == [0, 200]
    admin.delete_topics([topic])[topic].result()  # for the next pass
print(f"librdkafka {libversion()[0]}: {skipped} of 5 groups that skipped records")
