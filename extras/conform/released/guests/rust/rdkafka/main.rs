//! A guest around BaseConsumer of rdkafka, which is librdkafka in C (docs/guests.md).
//!
//! The client shows no leader epoch, no position until a record comes, and not what a commit stored.

mod lines;

use lines::{Failure, Guest, Response, RECORDS_MAX};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::topic_partition_list::Offset;
use rdkafka::{ClientConfig, ClientContext, Message};
use serde_json::{json, Value};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Errors after which librdkafka tries again, or joins its group again at the next poll.
const HANDLED: [Code; 7] = [
    Code::AllBrokersDown,
    Code::BrokerTransportFailure,
    Code::OperationTimedOut,
    Code::PollExceeded,
    Code::LeaderNotAvailable,
    Code::NotLeaderForPartition,
    Code::UnknownTopicOrPartition,
];
const REFUSALS: [Code; 3] = [
    Code::IllegalGeneration,
    Code::RebalanceInProgress,
    Code::UnknownMemberId,
];

/// Whether partitions were assigned since the last poll; the assignment itself is the client's.
#[derive(Default)]
struct Rebalances(AtomicBool);

impl ClientContext for Rebalances {}

impl ConsumerContext for Rebalances {
    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(given) = rebalance {
            self.0.fetch_or(given.count() > 0, Ordering::Relaxed);
        }
    }
}

struct OfConsumer {
    consumer: BaseConsumer<Rebalances>,
    failure: Option<KafkaError>, // of a poll that had records, too
}

impl Guest for OfConsumer {
    fn open(request: &Value) -> Result<Self, Failure> {
        let text = |name: &str| request[name].as_str().unwrap_or("").to_string();
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", text("bootstrap"))
            .set("group.id", text("group"))
            .set("client.id", text("member"))
            .set("auto.offset.reset", text("reset").replace("none", "error"))
            .set("isolation.level", text("isolation"))
            .set("enable.auto.commit", (text("commit") == "automatic").to_string());
        for (name, value) in request["settings"].as_object().into_iter().flatten() {
            config.set(name, value.as_str().map_or(value.to_string(), str::to_string));
        }
        let consumer: BaseConsumer<Rebalances> =
            config.create_with_context(Rebalances::default()).map_err(named)?;
        consumer.subscribe(&[&text("topic")]).map_err(named)?;
        Ok(OfConsumer { consumer, failure: None })
    }

    fn poll(&mut self, timeout: Duration) -> Response {
        let mut records = Vec::new();
        let mut waits = timeout;
        while self.failure.is_none() && records.len() < RECORDS_MAX {
            match self.consumer.poll(waits) {
                None => break,
                Some(Ok(one)) => {
                    let value = String::from_utf8_lossy(one.payload().unwrap_or_default());
                    let (partition, offset) = (one.partition(), one.offset());
                    let record = json!({"partition": partition, "offset": offset, "value": value});
                    records.push(record);
                    waits = Duration::ZERO; // what else is there already
                }
                Some(Err(error)) => match error.rdkafka_error_code() {
                    Some(code) if HANDLED.contains(&code) => {}
                    _ => self.failure = Some(error),
                },
            }
        }
        if records.is_empty() {
            if let Some(error) = self.failure.take() {
                return Err(named(error));
            }
        }
        let at = self.consumer.position().map_err(named)?;
        let have = at.elements();
        let positions = have.iter().filter_map(|one| match one.offset() {
            Offset::Offset(next) => Some(json!({"partition": one.partition(), "offset": next})),
            _ => None,
        });
        let rebalanced = self.consumer.context().0.swap(false, Ordering::Relaxed);
        Ok(json!({
            "records": records,
            "assigned": have.iter().map(|one| one.partition()).collect::<Vec<_>>(),
            "positions": positions.collect::<Vec<_>>(),
            "rebalanced": rebalanced,
        }))
    }

    fn commit(&mut self) -> Response {
        match self.consumer.commit_consumer_state(CommitMode::Sync) {
            Ok(()) => Ok(json!({})),
            Err(KafkaError::ConsumerCommit(Code::NoOffset)) => Ok(json!({"committed": []})),
            Err(error) => Err(named(error)),
        }
    }
}

/// Give an error the client's name of its code.
fn named(error: KafkaError) -> Failure {
    let code = error.rdkafka_error_code();
    Failure {
        name: code.map_or("KafkaError".to_string(), |code| format!("{code:?}")),
        message: error.to_string(),
        definite: code.is_some_and(|code| REFUSALS.contains(&code)),
    }
}

fn main() {
    lines::serve::<OfConsumer>("rdkafka", include_str!("Cargo.lock"));
}
