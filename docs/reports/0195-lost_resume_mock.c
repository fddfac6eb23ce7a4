#include "test.h"

static RD_TLS rd_bool_t resumes = rd_false;

/** Delays resume() between its new version and its enqueued op. */
static void
log_cb(const rd_kafka_t *rk, int level, const char *fac, const char *buf) {
        if (resumes && strstr(buf, "new version barrier"))
                rd_sleep(1);
}


/**
 * @brief A resume() that is slow while its partition's fetcher starts must
 *        not be discarded as outdated: the partition would stay paused.
 */
static void do_test_resume_during_fetch_start(void) {
        const char *topic = test_mk_topic_name(__FUNCTION__, 1);
        uint64_t testid   = test_id_generate();
        rd_kafka_topic_partition_list_t *parts =
            rd_kafka_topic_partition_list_new(1);
        rd_kafka_mock_cluster_t *mcluster;
        const char *bootstraps;
        rd_kafka_conf_t *conf;
        rd_kafka_t *c;

        SUB_TEST_QUICK();

        mcluster = test_mock_cluster_new(1, &bootstraps);
        rd_kafka_mock_topic_create(mcluster, topic, 1, 1);
        test_produce_msgs_easy_v(topic, testid, 0, 0, 1, 0,
                                 "bootstrap.servers", bootstraps, NULL);

        test_conf_init(&conf, NULL, 60);
        test_conf_set(conf, "bootstrap.servers", bootstraps);
        test_conf_set(conf, "auto.offset.reset", "earliest");
        test_conf_set(conf, "enable.auto.commit", "false");
        test_conf_set(conf, "debug", "topic");
        rd_kafka_conf_set_log_cb(conf, log_cb);
        c = test_create_consumer(topic, NULL, conf, NULL);

        /* The partition is known from here on. */
        rd_kafka_topic_partition_list_add(parts, topic, 0);
        test_consumer_assign("known", c, parts);
        test_consumer_poll("known", c, testid, -1, 0, 1, NULL);
        test_consumer_unassign("known", c);

        /* The committed offset is fetched, and then the fetcher started:
         * after resume() has its version, before it enqueues its op. */
        TEST_CALL_ERR__(rd_kafka_mock_broker_set_rtt(mcluster, 1, 200));
        TEST_CALL_ERR__(rd_kafka_pause_partitions(c, parts));
        test_consumer_assign("again", c, parts);
        resumes = rd_true;
        TEST_CALL_ERR__(rd_kafka_resume_partitions(c, parts));
        resumes = rd_false;
        test_consumer_poll("resumed", c, testid, -1, 0, 1, NULL);

        rd_kafka_topic_partition_list_destroy(parts);
        test_consumer_close(c);
        rd_kafka_destroy(c);
        test_mock_cluster_destroy(mcluster);

        SUB_TEST_PASS();
}

int main_0195_lost_resume_mock(int argc, char **argv) {
        TEST_SKIP_MOCK_CLUSTER(0);

        do_test_resume_during_fetch_start();

        return 0;
}
