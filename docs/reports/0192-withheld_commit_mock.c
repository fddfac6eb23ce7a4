#include "test.h"

#include "../src/rdkafka_proto.h"


/**
 * @brief The committed position has a newer leader epoch than the messages
 *        after it, as when its committer used the partition's leader epoch
 *        instead of the message's. The positions of these messages must be
 *        committed all the same: by commit() without offsets or, if
 *        \p auto_commit, by the timer.
 */
static void do_test_commit_behind_newer_epoch(rd_bool_t auto_commit) {
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
        /* Without a leader epoch: unlike a broker, the mock refuses one that
         * is not the partition's. */
        TEST_CALL_ERR__(rd_kafka_mock_set_apiversion(
            mcluster, RD_KAFKAP_OffsetCommit, 0, 5));

        /* Messages 0..99 have leader epoch 0, message 100 has 1. */
        test_produce_msgs_easy_v(topic, testid, 0, 0, 100, 0,
                                 "bootstrap.servers", bootstraps, NULL);
        rd_kafka_mock_partition_set_leader(mcluster, topic, 0, 1);
        test_produce_msgs_easy_v(topic, testid, 0, 100, 1, 0,
                                 "bootstrap.servers", bootstraps, NULL);

        test_conf_init(&conf, NULL, 30);
        test_conf_set(conf, "bootstrap.servers", bootstraps);
        test_conf_set(conf, "enable.auto.commit", RD_STR_ToF(auto_commit));
        test_conf_set(conf, "auto.commit.interval.ms", "100");
        c = test_create_consumer(topic, NULL, conf, NULL);

        /* The mock returns (50, 1): the offset, the partition's epoch. */
        part->offset = 50;
        TEST_CALL_ERR__(rd_kafka_commit(c, parts, rd_false));
        test_consumer_assign_partition("from commit", c, topic, 0,
                                       RD_KAFKA_OFFSET_STORED);
        test_consumer_poll("older epoch", c, testid, -1, 50, 50, NULL);

        if (auto_commit)
                rd_sleep(1);
        else
                TEST_CALL_ERR__(rd_kafka_commit(c, NULL, rd_false));

        TEST_CALL_ERR__(rd_kafka_committed(c, parts, 10 * 1000));
        TEST_ASSERT(part->offset == 100, "expected 100, got %" PRId64,
                    part->offset);

        rd_kafka_topic_partition_list_destroy(parts);
        test_consumer_close(c);
        rd_kafka_destroy(c);
        test_mock_cluster_destroy(mcluster);

        SUB_TEST_PASS();
}

int main_0192_withheld_commit_mock(int argc, char **argv) {
        TEST_SKIP_MOCK_CLUSTER(0);

        do_test_commit_behind_newer_epoch(rd_false);
        do_test_commit_behind_newer_epoch(rd_true);

        return 0;
}
