package org.apache.kafka.coordinator.common.runtime;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.mockito.Mockito.mock;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.server.util.timer.MockTimer;
import org.junit.jupiter.api.Test;

public class StaleOffsetTest {
    @Test
    void testReadBeforeTheHighWatermarkPassesWhatWasLoaded() {
        MockTimer timer = new MockTimer();
        TopicPartition offsets = new TopicPartition("__consumer_offsets", 0);
        // Two commits are in the log, and this broker knows of one that it is committed
        var loader = new MockCoordinatorLoader(
            new CoordinatorLoader.LoadSummary(0, 0, 0, 2, 0), List.of(1L, 2L), List.of(1L));
        var runtime = new CoordinatorRuntime.Builder<MockCoordinatorShard, String>()
            .withTime(timer.time())
            .withTimer(timer)
            .withWriteTimeout(Duration.ofMillis(5))
            .withLoader(loader)
            .withEventProcessor(new DirectEventProcessor())
            .withPartitionWriter(new MockPartitionWriter())
            .withCoordinatorShardBuilderSupplier(new MockCoordinatorShardBuilderSupplier())
            .withCoordinatorRuntimeMetrics(mock(CoordinatorRuntimeMetrics.class))
            .withCoordinatorMetrics(mock(CoordinatorMetrics.class))
            .withSerializer(new StringSerializer())
            .withExecutorService(mock(ExecutorService.class))
            .withCachedBufferMaxBytesSupplier(() -> 1024)
            .build();
        runtime.scheduleLoadOperation(offsets, 10);
        var read = runtime.scheduleReadOperation("read", offsets, (state, offset) -> offset);
        // Fails: it is read at 1, and both may have been acknowledged by the coordinator before
        assertFalse(read.isDone() && !read.isCompletedExceptionally() && read.join() < 2);
    }
}
