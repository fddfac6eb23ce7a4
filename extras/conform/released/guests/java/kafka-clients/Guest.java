import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A guest around Java's KafkaConsumer in a release of its own (docs/guests.md). Its position is shown
 * without a leader epoch.
 */
public class Guest extends Lines implements ConsumerRebalanceListener {
    private static final Duration POSITION = Duration.ofMillis(100);
    private KafkaConsumer<String, String> consumer;
    private final TreeSet<Integer> rebalanced = new TreeSet<>();

    public static void main(String[] arguments) throws Exception {
        new Guest().serve("kafka-clients", "", kafkaVersion());
    }

    @Override
    void open(Opening opening) {
        Map<String, Object> settings = opening.consumer();
        settings.put(
                ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, opening.commit().equals("automatic"));
        StringDeserializer text = new StringDeserializer();
        consumer = new KafkaConsumer<>(settings, text, text);
        consumer.subscribe(List.of(opening.topic()), this);
    }

    @Override
    Map<String, Object> poll(long timeoutMs) {
        ConsumerRecords<String, String> polled = consumer.poll(Duration.ofMillis(timeoutMs));
        List<Map<String, Object>> records = new ArrayList<>();
        polled.forEach(one -> records.add(shown(one)));
        TreeSet<Integer> assigned = new TreeSet<>();
        List<Map<String, Object>> positions = new ArrayList<>();
        for (TopicPartition of : consumer.assignment()) {
            assigned.add(of.partition());
            try {
                long next = consumer.position(of, POSITION);
                positions.add(Map.of("partition", of.partition(), "offset", next));
            } catch (TimeoutException error) {
                // it has none yet
            }
        }
        Map<String, Object> response = new HashMap<>();
        response.put("records", records);
        response.put("assigned", assigned);
        response.put("positions", positions);
        response.put("rebalanced", List.copyOf(rebalanced));
        rebalanced.clear();
        return response;
    }

    @Override
    Map<String, Object> commit() {
        consumer.commitSync();
        return Map.of();
    }

    @Override
    void close() {
        consumer.close();
    }

    @Override
    boolean isDefinite(Throwable error) {
        return error instanceof CommitFailedException
                || error instanceof FencedInstanceIdException
                || error instanceof RebalanceInProgressException;
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        partitions.forEach(of -> rebalanced.add(of.partition()));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}

    private static Map<String, Object> shown(ConsumerRecord<String, String> one) {
        Map<String, Object> shown = record(one.partition(), one.offset(), one.value());
        one.leaderEpoch().ifPresent(epoch -> shown.put("epoch", epoch));
        return shown;
    }
}
