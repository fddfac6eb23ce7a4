"""Can kafka-python fetch on, after the validation of an election and after a rebalance?"""

import kafka
from kafka import TopicPartition
from kafka.consumer.subscription_state import SubscriptionState
from kafka.structs import OffsetAndMetadata

ORDERS = TopicPartition("orders", 0)


def assigned():
    state = SubscriptionState()
    state.subscribe(topics=["orders"])
    state.assign_from_subscribed([ORDERS])
    state.seek(ORDERS, OffsetAndMetadata(0, "", 0))
    return state


elected = assigned()
elected.maybe_validate_position_for_current_leader(ORDERS, 1)
elected.complete_validation(ORDERS, OffsetAndMetadata(0, "", 0))
elected.maybe_validate_position_for_current_leader(ORDERS, 1)  # by the next poll()
rebalanced = assigned()
rebalanced.mark_pending_revocation({ORDERS})
rebalanced.assign_from_subscribed([ORDERS])
states = [elected.is_fetchable(ORDERS), rebalanced.is_fetchable(ORDERS)]
print(f"fetchable after an election: {states[0]}, after a rebalance: {states[1]}")
print(f"kafka-python {kafka.__version__}: {states.count(False)} of 2 partitions not fetchable")
