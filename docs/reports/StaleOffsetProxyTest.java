// In KafkaProtocolFaultProxy, whose ERROR_SETTERS have none of this API:
ERROR_SETTERS.put(ApiKeys.OFFSET_FETCH, (response, error) ->
    ((OffsetFetchResponse) response).data().groups().forEach(group -> group.setErrorCode(error.code())));

@Test
public void shouldAskAgainWhileTheCoordinatorIsBehind() {
    consumer.commitSync(Map.of(ORDERS, new OffsetAndMetadata(100)));
    FaultRule behind = proxy.injectError(ApiKeys.OFFSET_FETCH, Errors.COORDINATOR_LOAD_IN_PROGRESS).times(3);
    assertEquals(100, consumer.committed(Set.of(ORDERS)).get(ORDERS).offset());
    assertEquals(3, behind.timesTriggered());
}
