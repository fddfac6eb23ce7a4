#include "test.h"

#include "../src/rdkafka_proto.h"


/**
 * @brief The committed offset is out of range and has no leader epoch, as
 *        after a truncation. The offset is reset, and the position of the
 *        messages read since must be committed although it is lower:
 *        by commit() without offsets or, if \p auto_commit, by the timer.
 */
static void do_test_commit_after_reset(rd_bool_t auto_commit) {
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

        SUB_TEST_QUICK("auto_commit=%s", RD_STR_ToF(auto_commit));

        mcluster = test_mock_cluster_new(1, &bootstraps);
        rd_kafka_mock_topic_create(mcluster, topic, 1, 1);
        /* Without a leader epoch, which the mock returns for each commit. */
        TEST_CALL_ERR__(rd_kafka_mock_set_apiversion(
            mcluster, RD_KAFKAP_OffsetFetch, 0, 4));
        test_produce_msgs_easy_v(topic, testid, 0, 0, 150, 0,
                                 "bootstrap.servers", bootstraps, NULL);

        test_conf_init(&conf, NULL, 30);
        test_conf_set(conf, "bootstrap.servers", bootstraps);
        test_conf_set(conf, "auto.offset.reset", "earliest");
        test_conf_set(conf, "enable.auto.commit", RD_STR_ToF(auto_commit));
        test_conf_set(conf, "auto.commit.interval.ms", "100");
        c = test_create_consumer(topic, NULL, conf, NULL);

        part->offset = 200;
        TEST_CALL_ERR__(rd_kafka_commit(c, parts, rd_false));
        test_consumer_assign_partition("from commit", c, topic, 0,
                                       RD_KAFKA_OFFSET_STORED);
        test_consumer_poll("after reset", c, testid, -1, 0, 150, NULL);

        if (auto_commit)
                rd_sleep(1);
        else
                TEST_CALL_ERR__(rd_kafka_commit(c, NULL, rd_false));

        TEST_CALL_ERR__(rd_kafka_committed(c, parts, 10 * 1000));
        TEST_ASSERT(part->offset == 150, "expected 150, got %" PRId64,
                    part->offset);

        rd_kafka_topic_partition_list_destroy(parts);
        test_consumer_close(c);
        rd_kafka_destroy(c);
        test_mock_cluster_destroy(mcluster);

        SUB_TEST_PASS();
}

int main_0193_frozen_commit_mock(int argc, char **argv) {
        TEST_SKIP_MOCK_CLUSTER(0);

        do_test_commit_after_reset(rd_false);
        do_test_commit_after_reset(rd_true);

        return 0;
}
