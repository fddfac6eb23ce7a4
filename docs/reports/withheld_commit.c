/* Do commit() and auto-commit store a position behind a commit with a newer leader epoch? */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <unistd.h>
static rd_kafka_t *client(rd_kafka_type_t type, const char *bootstraps, const char *automatic) {
    const char *settings[] = {"bootstrap.servers",  bootstraps, "auto.commit.interval.ms", "100",
                              "enable.auto.commit", automatic,  "group.id", automatic};
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    for (int each = 0; each < (type == RD_KAFKA_CONSUMER ? 8 : 2); each += 2)
        rd_kafka_conf_set(conf, settings[each], settings[each + 1], NULL, 0);
    return rd_kafka_new(type, conf, NULL, 0);
}
int main(void) {
    rd_kafka_mock_cluster_t *mock = rd_kafka_mock_cluster_new(client(RD_KAFKA_PRODUCER, "", ""), 3);
    const char *bootstraps = rd_kafka_mock_cluster_bootstraps(mock), *is_set[] = {"false", "true"};
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, bootstraps, "");
    rd_kafka_topic_partition_list_t *orders = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *order = rd_kafka_topic_partition_list_add(orders, "orders", 0);
    int withheld = rd_kafka_mock_topic_create(mock, "orders", 1, 3);
    rd_kafka_mock_set_apiversion(mock, 8 /* OffsetCommit */, 0, 5); /* has no epoch to be refused */
    for (int record = 1; record <= 101; record++) { /* the last one has a newer epoch */
        rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("orders"), RD_KAFKA_V_END);
        if (!rd_kafka_flush(producer, 10000) && record == 100)
            rd_kafka_mock_partition_set_leader(mock, "orders", 0, 2);
    }
    for (int automatic = 0; automatic < 2; automatic++) {
        rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, bootstraps, is_set[automatic]);
        order->offset = 50;
        rd_kafka_commit(consumer, orders, 0); /* which the mock cluster returns with that epoch */
        order->offset = RD_KAFKA_OFFSET_STORED;
        rd_kafka_assign(consumer, orders);
        for (int record = 51; record <= 100; record++)
            rd_kafka_message_destroy(rd_kafka_consumer_poll(consumer, 10000));
        automatic ? sleep(1) : rd_kafka_commit(consumer, NULL, 0);
        rd_kafka_committed(consumer, orders, 10000);
        withheld += order->offset == 50;
    }
    printf("librdkafka %s: %d of 2 ways that stored nothing\n", rd_kafka_version_str(), withheld);
}
