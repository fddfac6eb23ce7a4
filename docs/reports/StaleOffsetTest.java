@Test
public void testReadAfterLoadSeesAllThatWasLoaded() throws Exception {
    // Two records are in the log, and the high watermark that this broker knows is 1.
    MockCoordinatorLoader loader = new MockCoordinatorLoader(
        new CoordinatorLoader.LoadSummary(0, 0, 0, 2, 0), List.of(2L), List.of(1L));
    CoordinatorRuntime<MockCoordinatorShard, String> runtime = builder().withLoader(loader).build();
    runtime.scheduleLoadOperation(TP, 10);
    // The coordinator is active, and responds.
    CompletableFuture<Long> read = runtime.scheduleReadOperation("read", TP, (state, offset) -> offset);
    // Fails: it is read at 1, though a previous coordinator may have acknowledged both records.
    assertEquals(2L, read.get(5, TimeUnit.SECONDS));
}
