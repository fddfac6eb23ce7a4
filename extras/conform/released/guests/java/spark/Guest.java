import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.DataStreamWriter;
import org.apache.spark.sql.streaming.StreamingQuery;

/**
 * A guest around the Kafka source of Spark's Structured Streaming (docs/guests.md).
 *
 * <p>Its place is in the checkpoint of the query, a folder that members of a group have in common as
 * long as the process that starts them runs. A query that failed is started again by the next poll.
 */
public class Guest extends Lines {
    private static final int CHECK_MS = 10;

    private SparkSession spark;
    private DataStreamWriter<Row> writer;
    private StreamingQuery query;
    private volatile long handed = -1;

    public static void main(String[] arguments) throws Exception {
        new Guest().serve("spark", "explicit", org.apache.spark.package$.MODULE$.SPARK_VERSION());
    }

    @Override
    void open(Opening opening) throws Exception {
        if (opening.reset().equals("none")) throw new Unsupported("it begins at one of both ends");
        Map<String, Object> settings = opening.consumer();
        Path temporary = Path.of(System.getProperty("java.io.tmpdir"));
        Path own = Files.createTempDirectory("spark");
        long parent = ProcessHandle.current().parent().orElseThrow().pid();
        spark =
                SparkSession.builder()
                        .master("local[1]")
                        .config("spark.ui.enabled", false)
                        .config("spark.driver.host", "127.0.0.1")
                        .config("spark.driver.bindAddress", "127.0.0.1")
                        .config("spark.local.dir", own.toString())
                        .config("spark.sql.warehouse.dir", own.toString())
                        .getOrCreate();
        var reader =
                spark.readStream()
                        .format("kafka")
                        .option("kafka.bootstrap.servers", opening.bootstrap())
                        .option("kafka.isolation.level", opening.isolation())
                        .option("subscribe", opening.topic())
                        .option("startingOffsets", opening.reset());
        for (String name : opening.settings().keySet()) {
            reader = reader.option("kafka." + name, settings.get(name).toString());
        }
        writer =
                reader.load()
                        .selectExpr("partition", "offset", "CAST(value AS STRING)")
                        .writeStream()
                        .option(
                                "checkpointLocation",
                                temporary.resolve(parent + "-" + opening.group()).toString())
                        .foreachBatch(this::handOver);
        query = writer.start();
    }

    @Override
    Throwable failure() throws Exception {
        if (query.isActive()) return null;
        Throwable error = query.exception().get();
        query = writer.start();
        return error;
    }

    /** What was processed is in the checkpoint before the query is stopped. */
    @Override
    void close() throws Exception {
        while (handed >= 0
                && query.isActive()
                && (query.lastProgress() == null || query.lastProgress().batchId() < handed)) {
            Thread.sleep(CHECK_MS);
        }
        query.stop();
        spark.stop();
    }

    private void handOver(Dataset<Row> batch, long number) {
        List<Map<String, Object>> records = new ArrayList<>();
        for (Row row : batch.collectAsList()) {
            records.add(record(row.getInt(0), row.getLong(1), row.getString(2)));
        }
        handed = number;
        offer(records);
    }
}
