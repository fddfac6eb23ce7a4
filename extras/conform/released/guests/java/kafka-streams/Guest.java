import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/**
 * A guest around Kafka Streams (docs/guests.md): one processor behind the topic.
 *
 * <p>A processor gets one record at a time. An interceptor of the consumer shows which ones are the
 * last of a poll, with which those before are handed over: the thread commits behind them only.
 */
public class Guest extends Lines {
    private static final Guest GUEST = new Guest();

    private final Map<Integer, Long> last = new HashMap<>();
    private final List<Map<String, Object>> processed = new ArrayList<>();
    private KafkaStreams streams;

    public static void main(String[] arguments) throws Exception {
        GUEST.serve("kafka-streams", "automatic", kafkaVersion());
    }

    @Override
    void open(Opening opening) throws Exception {
        // Behind an error the client shuts down, and its members stay in the group.
        if (opening.reset().equals("none")) throw new Unsupported("it does not leave the group then");
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, opening.group());
        settings.put(StreamsConfig.STATE_DIR_CONFIG, Files.createTempDirectory("streams").toString());
        Map<String, Object> consumer = opening.consumer();
        consumer.remove(ConsumerConfig.GROUP_ID_CONFIG); // It is the application's id.
        settings.putAll(consumer);
        settings.put(
                StreamsConfig.mainConsumerPrefix(ConsumerConfig.INTERCEPTOR_CLASSES_CONFIG),
                Ends.class.getName());
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(opening.topic(), Consumed.with(Serdes.ByteArray(), Serdes.String()))
                .process(Handing::new);
        streams = new KafkaStreams(builder.build(), settings);
        streams.setUncaughtExceptionHandler(
                error -> {
                    fail(error);
                    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
                });
        streams.start();
    }

    /** By default a member stays in its group until its session is over. */
    @Override
    void close() {
        streams.close(CloseOptions.groupMembershipOperation(GroupMembershipOperation.LEAVE_GROUP));
    }

    /** Notes the last offset of each partition that a poll of the consumer returned. */
    public static class Ends implements ConsumerInterceptor<byte[], byte[]> {
        @Override
        public ConsumerRecords<byte[], byte[]> onConsume(ConsumerRecords<byte[], byte[]> records) {
            records.forEach(one -> GUEST.last.put(one.partition(), one.offset()));
            return records;
        }

        @Override
        public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {}

        @Override
        public void close() {}

        @Override
        public void configure(Map<String, ?> settings) {}
    }

    private static class Handing extends ContextualProcessor<byte[], String, Void, Void> {
        @Override
        public void process(Record<byte[], String> record) {
            RecordMetadata at = context().recordMetadata().orElseThrow();
            List<Map<String, Object>> processed = GUEST.processed;
            processed.add(record(at.partition(), at.offset(), record.value()));
            boolean isLast = at.offset() == GUEST.last.get(at.partition());
            if (isLast || processed.size() == RECORDS_MAX) {
                GUEST.offer(processed);
                processed.clear();
            }
        }
    }
}
