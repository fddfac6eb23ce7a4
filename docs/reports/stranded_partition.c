/* Does a partition go on whose first OffsetFetch returned NOT_COORDINATOR? */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>

static rd_kafka_t *client(rd_kafka_type_t type, const char *bootstraps) {
    char error[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", bootstraps, error, sizeof(error));
    if (type == RD_KAFKA_CONSUMER)
        rd_kafka_conf_set(conf, "group.id", "stranded", error, sizeof(error));
    return rd_kafka_new(type, conf, error, sizeof(error));
}

int main(void) {
    rd_kafka_mock_cluster_t *mock = rd_kafka_mock_cluster_new(client(RD_KAFKA_PRODUCER, ""), 3);
    const char *bootstraps = rd_kafka_mock_cluster_bootstraps(mock);
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, bootstraps);
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, bootstraps);
    rd_kafka_topic_partition_list_t *orders = rd_kafka_topic_partition_list_new(1);
    rd_kafka_mock_topic_create(mock, "orders", 1, 3);
    for (int message = 0; message < 100; message++)
        rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("orders"), RD_KAFKA_V_END);
    rd_kafka_flush(producer, 10000);
    rd_kafka_topic_partition_list_add(orders, "orders", 0)->offset = 50;
    rd_kafka_commit(consumer, orders, 0); /* and so the coordinator is known */
    rd_kafka_mock_push_request_errors(mock, 9 /* OffsetFetch */, 1,
                                      RD_KAFKA_RESP_ERR_NOT_COORDINATOR);
    orders->elems[0].offset = RD_KAFKA_OFFSET_STORED;
    rd_kafka_assign(consumer, orders);
    int read = 0;
    for (int second = 0; second < 20 && !read; second++) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, 1000);
        read = message && !message->err;
        if (message && message->err)
            printf("%s\n", rd_kafka_message_errstr(message));
    }
    printf("librdkafka %s: %d of 1 consumers that read nothing in 20 s\n", rd_kafka_version_str(), !read);
}
