"""How many groups does librdkafka's commit() store nothing for, behind a newer epoch?"""

import confluent_kafka
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

CLUSTER = {"bootstrap.servers": "10.88.0.11,10.88.0.12,10.88.0.13"}
ORDERS = TopicPartition("orders", 0)
admin, producer, withheld = AdminClient(CLUSTER), Producer(CLUSTER), 0
end = admin.list_offsets({ORDERS: OffsetSpec.latest()})[ORDERS].result()
first, epoch = end.offset, end.leader_epoch
for _ in range(100):
    producer.produce("orders", b"", partition=0)
producer.flush()
admin.elect_leaders(confluent_kafka.ElectionType.PREFERRED, [ORDERS]).result()
print(f"records {first} to {first + 99} have leader epoch {epoch}, the leader has {epoch + 1}")
for number in range(5):
    group = {"group.id": f"withheld-{first}-{number}", "enable.auto.commit": False}
    member = Consumer({**CLUSTER, **group, "debug": "topic"})
    stored = TopicPartition("orders", 0, first + 50, leader_epoch=epoch + 1)
    member.commit(offsets=[stored], asynchronous=False)
    member.assign([ORDERS])
    read = member.consume(50, timeout=20)
    try:
        outcome = f"returned {member.commit(asynchronous=False)[0].offset}"
    except confluent_kafka.KafkaException as error:
        outcome = f"raised {error.args[0].name()}"
    after = member.committed([ORDERS])[0].offset
    print(f"read {read[0].offset()} to {read[-1].offset()}: commit() {outcome}, stored {after}")
    withheld += after == stored.offset
version = confluent_kafka.libversion()[0]
print(f"librdkafka {version}: {withheld} of 5 groups whose commit() stored nothing")
