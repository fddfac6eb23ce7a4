import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerConfig;

/**
 * The guest's protocol (docs/guests.md): a request a line on standard input, a response to each.
 *
 * <p>A framework pushes records from a thread of its own, which waits in {@link #offer} until they
 * were returned and the next request came: an application would have processed them by then. A guest
 * around a consumer has its own {@link #poll} and {@link #commit}.
 */
abstract class Lines {
    static final int RECORDS_MAX = 1000;

    private final BlockingQueue<Offered> offered = new LinkedBlockingQueue<>();
    private Offered returned;
    private volatile boolean isClosing;

    /** Records, or an error; completed with whether they were processed. */
    private record Offered(
            List<Map<String, Object>> records, Throwable error, CompletableFuture<Boolean> done) {}

    /** What a guest is opened with. */
    record Opening(
            String bootstrap,
            String group,
            String member,
            String topic,
            String reset,
            String isolation,
            String commit,
            Map<String, Object> settings) {

        /** Return the settings of a consumer by their names. */
        Map<String, Object> consumer() {
            Map<String, Object> all = new HashMap<>();
            all.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
            all.put(ConsumerConfig.GROUP_ID_CONFIG, group);
            all.put(ConsumerConfig.CLIENT_ID_CONFIG, member);
            all.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, reset);
            all.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, isolation);
            for (String name : settings.keySet()) {
                if (!ConsumerConfig.configNames().contains(name)) throw new UnknownSetting(name);
            }
            all.putAll(settings);
            return all;
        }
    }

    /** A setting that no consumer has. */
    static class UnknownSetting extends RuntimeException {
        UnknownSetting(String name) {
            super(name);
        }
    }

    /** What the framework lacks. */
    static class Unsupported extends RuntimeException {
        Unsupported(String what) {
            super(what);
        }
    }

    /** Offered records were not processed, as the guest is closed. */
    static class Closing extends RuntimeException {}

    /** Start the framework. */
    abstract void open(Opening opening) throws Exception;

    /** Stop it in order. */
    abstract void close() throws Exception;

    /** Return the fields of a poll's response. */
    Map<String, Object> poll(long timeoutMs) throws Throwable {
        return Map.of("records", take(timeoutMs));
    }

    /** Return the fields of a commit's response. */
    Map<String, Object> commit() {
        return Map.of("unsupported", true);
    }

    /** Whether a commit with this error surely was not stored. */
    boolean isDefinite(Throwable error) {
        return false;
    }

    /** Return what the framework shows as having failed, after a poll without records; else null. */
    Throwable failure() throws Exception {
        return null;
    }

    /** Return the version of Kafka's jars, as they report it. */
    static String kafkaVersion() {
        Properties reported = new Properties();
        try (InputStream file =
                Lines.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            reported.load(file);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return reported.getProperty("version");
    }

    static Map<String, Object> record(int partition, long offset, String value) {
        return new HashMap<>(Map.of("partition", partition, "offset", offset, "value", value));
    }

    /** Hand records over, and wait until they were processed. */
    void offer(List<Map<String, Object>> records) {
        for (int first = 0; first < records.size(); first += RECORDS_MAX) {
            int last = Math.min(first + RECORDS_MAX, records.size());
            add(new ArrayList<>(records.subList(first, last)), null);
        }
    }

    /** Report an error with a later poll. */
    void fail(Throwable error) {
        offered.add(new Offered(null, error, new CompletableFuture<>()));
    }

    private void add(List<Map<String, Object>> records, Throwable error) {
        Offered one = new Offered(records, error, new CompletableFuture<>());
        offered.add(one);
        if (isClosing) one.done.complete(false);
        if (!one.done.join()) throw new Closing();
    }

    /** Respond to requests until close, or until the end of the input; `commit`: the only way, if any. */
    void serve(String client, String commit, String version) throws IOException {
        PrintStream responses = System.out;
        System.setOut(System.err);
        ObjectMapper mapper =
                new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
        BufferedReader input =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = input.readLine()) != null) {
            JsonNode request = mapper.readTree(line);
            Map<String, Object> response = new HashMap<>();
            response.put("id", request.get("id"));
            try {
                if (returned != null) returned.done.complete(true);
                returned = null;
                switch (request.get("do").asText()) {
                    case "open" -> {
                        Opening opening = mapper.treeToValue(request, Opening.class);
                        if (!commit.isEmpty() && !opening.commit.equals(commit)) {
                            throw new Unsupported(opening.commit);
                        }
                        open(opening);
                        response.putAll(Map.of("client", client, "version", version));
                    }
                    case "poll" -> response.putAll(poll(request.get("timeout_ms").asLong()));
                    case "commit" -> response.putAll(commit());
                    case "close" -> {
                        isClosing = true;
                        offered.forEach(one -> one.done.complete(false));
                        close();
                    }
                    default -> throw new Unsupported(request.get("do").asText());
                }
            } catch (Throwable error) {
                error.printStackTrace();
                response.put("error", named(error));
            }
            responses.println(mapper.writeValueAsString(response));
            responses.flush();
            if (request.get("do").asText().equals("close")) break;
        }
        System.exit(0);
    }

    private List<Map<String, Object>> take(long timeoutMs) throws Throwable {
        Offered one = offered.poll(timeoutMs, TimeUnit.MILLISECONDS);
        Throwable error = one == null ? failure() : one.error;
        if (error != null) throw error;
        returned = one;
        return one == null ? List.of() : one.records;
    }

    private Map<String, Object> named(Throwable error) {
        Map<String, Object> named = new HashMap<>();
        named.put("name", error.getClass().getSimpleName());
        named.put("message", String.valueOf(error));
        if (isDefinite(error)) named.put("definite", true);
        return named;
    }
}
