/* Does a partition go on whose resume() is delayed while its assignment starts? */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static _Thread_local int resumes;
static void delay(const rd_kafka_t *rk, int level, const char *facility, const char *line) {
    resumes && strstr(line, "new version barrier") && sleep(1); /* then the operation is enqueued */
}
static rd_kafka_t *client(rd_kafka_type_t type, const char *bootstraps) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    const char *settings[] = {"bootstrap.servers", bootstraps, "auto.offset.reset", "earliest",
                              "enable.auto.commit", "false", "debug", "topic", "group.id", "a"};
    for (int each = 0; each < 10; each += 2)
        rd_kafka_conf_set(conf, settings[each], settings[each + 1], NULL, 0);
    rd_kafka_conf_set_log_cb(conf, delay);
    return rd_kafka_new(type, conf, NULL, 0);
}
int main(void) {
    rd_kafka_mock_cluster_t *mock = rd_kafka_mock_cluster_new(client(RD_KAFKA_PRODUCER, ""), 1);
    const char *bootstraps = rd_kafka_mock_cluster_bootstraps(mock);
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, bootstraps);
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, bootstraps);
    rd_kafka_topic_partition_list_t *orders = rd_kafka_topic_partition_list_new(1);
    int stuck = rd_kafka_mock_topic_create(mock, "orders", 1, 1);
    rd_kafka_topic_partition_list_add(orders, "orders", 0);
    rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("orders"), RD_KAFKA_V_END);
    rd_kafka_flush(producer, 10000);
    rd_kafka_assign(consumer, orders);
    rd_kafka_consumer_poll(consumer, 10000); /* the partition is known */
    rd_kafka_assign(consumer, NULL);
    rd_kafka_pause_partitions(consumer, orders);
    rd_kafka_mock_broker_set_rtt(mock, 1, 200), rd_kafka_assign(consumer, orders); /* 200 ms */
    resumes = 1, rd_kafka_resume_partitions(consumer, orders), resumes = 0;
    stuck = !rd_kafka_consumer_poll(consumer, 5000);
    rd_kafka_resume_partitions(consumer, orders);
    printf("a second resume: %d\n", stuck && rd_kafka_consumer_poll(consumer, 10000));
    printf("librdkafka %s: %d of 1 partitions that stay paused\n", rd_kafka_version_str(), stuck);
}
