#include "test.h"


/**
 * @brief The committed position has a leader epoch and is above the end of
 *        that epoch, as after a truncation. A consumer that subscribes must
 *        validate it and go on at the end of the epoch, instead of being
 *        reset to the beginning by an out of range error.
 */
static void do_test_committed_position_is_validated(void) {
        const char *topic = test_mk_topic_name(__FUNCTION__, 1);
        uint64_t testid   = test_id_generate();
        rd_kafka_topic_partition_list_t *parts =
            rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_t *part =
            rd_kafka_topic_partition_list_add(parts, topic, 0);
        rd_kafka_mock_cluster_t *mcluster;
        const char *bootstraps;
        rd_kafka_conf_t *conf;
        rd_kafka_t *c;

        SUB_TEST_QUICK();

        mcluster = test_mock_cluster_new(1, &bootstraps);
        rd_kafka_mock_topic_create(mcluster, topic, 1, 1);
        test_produce_msgs_easy_v(topic, testid, 0, 0, 150, 0,
                                 "bootstrap.servers", bootstraps, NULL);

        test_conf_init(&conf, NULL, 30);
        test_conf_set(conf, "bootstrap.servers", bootstraps);
        test_conf_set(conf, "auto.offset.reset", "earliest");
        c = test_create_consumer(topic, NULL, conf, NULL);

        part->offset = 200;
        rd_kafka_topic_partition_set_leader_epoch(part, 0);
        TEST_CALL_ERR__(rd_kafka_commit(c, parts, rd_false));

        test_consumer_subscribe(c, topic);
        test_consumer_poll_no_msgs("until assigned", c, testid, 6000);
        test_produce_msgs_easy_v(topic, testid, 0, 150, 10, 0,
                                 "bootstrap.servers", bootstraps, NULL);
        test_consumer_poll("after the epoch's end", c, testid, -1, 150, 10,
                           NULL);

        rd_kafka_topic_partition_list_destroy(parts);
        test_consumer_close(c);
        rd_kafka_destroy(c);
        test_mock_cluster_destroy(mcluster);

        SUB_TEST_PASS();
}

int main_0194_unvalidated_start_mock(int argc, char **argv) {
        TEST_SKIP_MOCK_CLUSTER(0);

        do_test_committed_position_is_validated();

        return 0;
}
