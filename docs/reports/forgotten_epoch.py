"""Does kafka-python validate a position that begins from a commit with a leader epoch?"""

from socketserver import StreamRequestHandler, ThreadingTCPServer
from struct import pack
from threading import Thread

from kafka import KafkaConsumer, TopicPartition, __version__

ORDERS, ONCE, asked = b"\0\6orders", b"\0\0\0\1", []


class Broker(StreamRequestHandler):
    def handle(self):
        """Answer as the one broker of Kafka 2.4."""
        while size := self.rfile.read(4):
            request = self.rfile.read(int.from_bytes(size, "big"))
            asked.append(request[1])
            reply = request[4:8] + ANSWERS[request[1]]
            self.wfile.write(pack(">i", len(reply)) + reply)


Thread(target=(server := ThreadingTCPServer(("127.0.0.1", 0), Broker)).serve_forever).start()
PORT = pack(">i", server.server_address[1])
APIS = b"".join(pack(">3hx", *api) for api in [(3, 9, 9), (9, 5, 5), (10, 2, 2), (23, 2, 2)])
NODES = b"\2\0\0\0\0\x0a127.0.0.1" + PORT + bytes(7)
LEADER = bytes(10) + b"\0\0\0\5" + b"\2\0\0\0\0" * 2 + b"\1\0"
ANSWERS = {  # offset 100 was committed in epoch 3, which ended at 80; the leader's epoch is 5
    18: b"\0\0\5" + APIS + bytes(5),  # ApiVersions
    3: bytes(5) + NODES + b"\2\0\0\7orders\0\2" + LEADER + bytes(10),  # Metadata
    10: pack(">ihhih", 0, 0, -1, 0, 9) + b"127.0.0.1" + PORT,  # FindCoordinator
    9: bytes(4) + ONCE + ORDERS + ONCE + pack(">iqihhh", 0, 100, 3, 0, 0, 0),  # OffsetFetch
    23: bytes(4) + ONCE + ORDERS + ONCE + pack(">hiiq", 0, 0, 3, 80),  # OffsetForLeaderEpoch
}
SETTINGS = {"bootstrap_servers": f"127.0.0.1:{server.server_address[1]}", "api_version": (2, 4)}
consumer = KafkaConsumer(group_id="g", auto_offset_reset="none", **SETTINGS)
consumer.assign([TopicPartition("orders", 0)])
consumer.position(TopicPartition("orders", 0))
print(f"kafka-python {__version__}: {23 not in asked:d} of 1 starts not validated")
consumer.close(autocommit=False), server.shutdown()
