"""Does kafka-python finish a rejoin whose SyncGroup outlasts a poll()?"""

from socketserver import StreamRequestHandler, ThreadingTCPServer
from struct import pack
from threading import Event, Thread

from kafka import KafkaConsumer, __version__

ORDERS, RANGE, ME, ONCE, count = b"\0\6orders", b"\0\5range", b"\0\2me", b"\0\0\0\1", 2
LED = [pack(">xxi5i", one, 0, 1, 0, 1, 0) for one in range(4)]
COMMITTED = [pack(">iqi", one, 1, 0) for one in range(4)]


class Broker(StreamRequestHandler):
    def handle(self):
        """Answer as the one broker of Kafka 0.9, whose topic has `count` partitions."""
        while size := self.rfile.read(4):
            request = self.rfile.read(int.from_bytes(size, "big"))
            reply = request[4:8] + ANSWERS.get(request[1], ANSWERS[1])(request[11:])
            self.wfile.write(pack(">i", len(reply)) + reply)


Thread(target=(server := ThreadingTCPServer(("127.0.0.1", 0), Broker)).serve_forever).start()
NODE = b"\0\x09127.0.0.1" + pack(">i", server.server_address[1])
TOPIC = ONCE + bytes(4) + NODE + ONCE + bytes(2) + ORDERS
ANSWERS = {  # Fetch, Metadata, OffsetFetch, FindCoordinator, JoinGroup, SyncGroup
    1: lambda _: Event().wait(0.1) or bytes(8),
    3: lambda _: TOPIC + pack(">i", count) + b"".join(LED[:count]),
    9: lambda _: ONCE + ORDERS + pack(">i", count) + b"".join(COMMITTED[:count]),
    10: lambda _: bytes(6) + NODE,
    11: lambda asked: bytes(2) + ONCE + RANGE + ME * 2 + ONCE + ME + asked.split(RANGE)[1][:22],
    14: lambda asked: Event().wait(count - 2) or bytes(2) + asked.split(ME)[-1],
}
SETTINGS = {"bootstrap_servers": f"127.0.0.1:{server.server_address[1]}", "api_version": (0, 9)}
consumer = KafkaConsumer("orders", group_id="g", client_id="c", metadata_max_age_ms=500, **SETTINGS)
for _ in range(80):
    consumer.poll(timeout_ms=100)
    count = 4 if any(map(consumer.position, consumer.assignment())) else 2
print(f"kafka-python {__version__}: {len(consumer.assignment()) < 4:d} of 1 rejoins forgotten")
consumer.close(autocommit=False), server.shutdown()
