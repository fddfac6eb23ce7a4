import java.nio.file.Files;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.cli.ConnectStandalone;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.runtime.Connect;
import org.apache.kafka.connect.runtime.standalone.StandaloneHerder;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.storage.StringConverter;
import org.apache.kafka.connect.util.FutureCallback;

/**
 * A guest around a sink of Kafka Connect (docs/guests.md): a standalone worker with one task.
 *
 * <p>A task that fails stays failed, and each poll reports its error.
 */
public class Guest extends Lines {
    private static final Guest GUEST = new Guest();
    private static final String NAME = "sink";

    private Connect<StandaloneHerder> connect;

    public static void main(String[] arguments) throws Exception {
        GUEST.serve("kafka-connect", "automatic", kafkaVersion());
    }

    @Override
    void open(Opening opening) throws Exception {
        Map<String, String> worker = new HashMap<>();
        worker.put("bootstrap.servers", opening.bootstrap());
        worker.put("key.converter", StringConverter.class.getName());
        worker.put("value.converter", StringConverter.class.getName());
        worker.put("listeners", "http://127.0.0.1:0");
        worker.put("connector.client.config.override.policy", "All");
        worker.put(
                "offset.storage.file.filename",
                Files.createTempDirectory("connect").resolve("offsets").toString());
        Map<String, String> sink = new HashMap<>();
        sink.put("name", NAME);
        sink.put("connector.class", Sink.class.getName());
        sink.put("topics", opening.topic());
        sink.put("tasks.max", "1");
        opening.consumer()
                .forEach((name, value) -> sink.put("consumer.override." + name, value.toString()));
        connect = new ConnectStandalone("worker").startConnect(worker);
        FutureCallback<StandaloneHerder.Created<?>> created = new FutureCallback<>();
        connect.herder()
                .putConnectorConfig(
                        NAME, sink, false, (error, info) -> created.onCompletion(error, info));
        created.get();
    }

    @Override
    void close() {
        connect.stop();
        connect.awaitStop();
    }

    @Override
    Throwable failure() {
        return connect.herder().connectorStatus(NAME).tasks().stream()
                .filter(task -> task.state().equals("FAILED"))
                .map(task -> new ConnectException(task.trace()))
                .findFirst()
                .orElse(null);
    }

    /** The connector of one task, which needs no settings. */
    public static class Sink extends SinkConnector {
        @Override
        public void start(Map<String, String> settings) {}

        @Override
        public Class<? extends Task> taskClass() {
            return Handing.class;
        }

        @Override
        public List<Map<String, String>> taskConfigs(int count) {
            return List.of(Map.of());
        }

        @Override
        public void stop() {}

        @Override
        public ConfigDef config() {
            return new ConfigDef();
        }

        @Override
        public String version() {
            return kafkaVersion();
        }
    }

    /** Hands records over. */
    public static class Handing extends SinkTask {
        @Override
        public void start(Map<String, String> settings) {}

        @Override
        public void put(Collection<SinkRecord> records) {
            GUEST.offer(
                    records.stream()
                            .map(
                                    one ->
                                            record(
                                                    one.kafkaPartition(),
                                                    one.kafkaOffset(),
                                                    String.valueOf(one.value())))
                            .toList());
        }

        @Override
        public void stop() {}

        @Override
        public String version() {
            return kafkaVersion();
        }
    }
}
