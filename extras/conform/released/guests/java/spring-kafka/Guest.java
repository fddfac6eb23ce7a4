import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.event.ConsumerStoppedEvent;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;

/**
 * A guest around spring-kafka's listener container (docs/guests.md), with what it has by default:
 * it commits after each batch.
 *
 * <p>The container handles errors of its consumer by itself. An error of the guest is that it stopped.
 */
public class Guest extends Lines {
    private KafkaMessageListenerContainer<String, String> container;

    public static void main(String[] arguments) throws Exception {
        Class<?> named = KafkaMessageListenerContainer.class;
        new Guest().serve("spring-kafka", "automatic", named.getPackage().getImplementationVersion());
    }

    /** The container stopped by itself; the message is its reason. */
    private static class ConsumerStopped extends RuntimeException {
        ConsumerStopped(String reason) {
            super(reason);
        }
    }

    @Override
    void open(Opening opening) {
        ContainerProperties properties = new ContainerProperties(opening.topic());
        properties.setMessageListener((BatchMessageListener<String, String>) this::handOver);
        StringDeserializer deserializer = new StringDeserializer();
        container =
                new KafkaMessageListenerContainer<>(
                        new DefaultKafkaConsumerFactory<>(
                                opening.consumer(), deserializer, deserializer),
                        properties);
        container.setApplicationEventPublisher(
                event -> {
                    if (event instanceof ConsumerStoppedEvent stopped
                            && stopped.getReason() != ConsumerStoppedEvent.Reason.NORMAL) {
                        fail(new ConsumerStopped(stopped.getReason().toString()));
                    }
                });
        container.start();
    }

    @Override
    void close() {
        container.stop();
    }

    private void handOver(List<ConsumerRecord<String, String>> records) {
        offer(records.stream().map(Guest::shown).toList());
    }

    private static Map<String, Object> shown(ConsumerRecord<String, String> one) {
        Map<String, Object> shown = record(one.partition(), one.offset(), one.value());
        one.leaderEpoch().ifPresent(epoch -> shown.put("epoch", epoch));
        return shown;
    }
}
