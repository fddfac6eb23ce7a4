/* Does rd_kafka_commit(rk, NULL, 0) store a position below a commit without an epoch? */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>

static rd_kafka_t *client(rd_kafka_type_t type, const char *bootstraps) {
    char error[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", bootstraps, error, sizeof(error));
    if (type == RD_KAFKA_CONSUMER) {
        rd_kafka_conf_set(conf, "group.id", "frozen", error, sizeof(error));
        rd_kafka_conf_set(conf, "auto.offset.reset", "earliest", error, sizeof(error));
    }
    return rd_kafka_new(type, conf, error, sizeof(error));
}

static void produce(rd_kafka_t *producer, int messages) {
    while (messages--)
        rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("orders"), RD_KAFKA_V_END);
    rd_kafka_flush(producer, 10000);
}

int main(void) {
    rd_kafka_mock_cluster_t *mock = rd_kafka_mock_cluster_new(client(RD_KAFKA_PRODUCER, ""), 3);
    const char *bootstraps = rd_kafka_mock_cluster_bootstraps(mock);
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, bootstraps);
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, bootstraps);
    rd_kafka_topic_partition_list_t *orders = rd_kafka_topic_partition_list_new(1);
    rd_kafka_mock_topic_create(mock, "orders", 1, 3);
    rd_kafka_mock_set_apiversion(mock, 9 /* OffsetFetch */, 0, 4); /* without a leader epoch */
    produce(producer, 150); /* what is left of 200 records after a truncation */
    rd_kafka_topic_partition_list_add(orders, "orders", 0)->offset = 200;
    rd_kafka_commit(consumer, orders, 0);
    orders->elems[0].offset = RD_KAFKA_OFFSET_STORED; /* out of range, so it begins at 0 */
    rd_kafka_assign(consumer, orders);
    for (int message = 0; message < 150; message++)
        rd_kafka_message_destroy(rd_kafka_consumer_poll(consumer, 10000));
    printf("librdkafka %s: %d of 1 commits that stored nothing\n", rd_kafka_version_str(),
           rd_kafka_commit(consumer, NULL, 0) == RD_KAFKA_RESP_ERR__NO_OFFSET);
}
