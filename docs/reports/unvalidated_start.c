/* Is a committed position with a leader epoch validated before the first fetch? */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
static rd_kafka_t *client(rd_kafka_type_t type, const char *bootstraps, const char *group) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", bootstraps, NULL, 0);
    rd_kafka_conf_set(conf, "group.id", group, NULL, 0);
    rd_kafka_conf_set(conf, "auto.offset.reset", "earliest", NULL, 0);
    return rd_kafka_new(type, conf, NULL, 0);
}
static void produce(rd_kafka_t *producer, int messages) {
    while (messages--)
        rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("orders"), RD_KAFKA_V_END);
    rd_kafka_flush(producer, 10000);
}
int main(void) {
    rd_kafka_mock_cluster_t *mock = rd_kafka_mock_cluster_new(client(RD_KAFKA_PRODUCER, "", ""), 1);
    const char *bootstraps = rd_kafka_mock_cluster_bootstraps(mock);
    const char *ways[] = {"assign", "subscribe"};
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, bootstraps, "");
    rd_kafka_topic_partition_list_t *orders = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *order = rd_kafka_topic_partition_list_add(orders, "orders", 0);
    int reset = rd_kafka_mock_topic_create(mock, "orders", 1, 1);
    produce(producer, 150); /* what is left of 200 records after a truncation */
    for (int way = 0; way < 2; way++) {
        rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, bootstraps, ways[way]);
        order->offset = 200;
        rd_kafka_topic_partition_set_leader_epoch(order, 0); /* which ends at 150 now */
        rd_kafka_commit(consumer, orders, 0);
        order->offset = RD_KAFKA_OFFSET_STORED;
        way ? rd_kafka_subscribe(consumer, orders) : rd_kafka_assign(consumer, orders);
        rd_kafka_message_t *read = rd_kafka_consumer_poll(consumer, 10000);
        if (!read) /* it goes on at the end */
            produce(producer, 1), read = rd_kafka_consumer_poll(consumer, 10000);
        printf("%s: the first record read is %ld\n", ways[way], (long)read->offset);
        reset += read->offset == 0;
    }
    printf("librdkafka %s: %d of 2 consumers that were reset\n", rd_kafka_version_str(), reset);
}
