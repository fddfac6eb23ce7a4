//! The guest's protocol (docs/guests.md): one request a line on standard input, one response a line
//! on standard output.

use serde_json::{json, Value};
use std::io::{stdin, stdout, BufRead, Write};
use std::time::Duration;

/// How many records a poll returns at most.
pub const RECORDS_MAX: usize = 1000;

/// An error that the client reported, or the guest by itself.
pub struct Failure {
    pub name: String,
    pub message: String,
    /// Whether a commit surely was not stored.
    pub definite: bool,
}

/// The fields of a response, or an error.
pub type Response = Result<Value, Failure>;

/// One consumer; dropping it closes it.
pub trait Guest: Sized {
    fn open(request: &Value) -> Result<Self, Failure>;
    fn poll(&mut self, timeout: Duration) -> Response;
    fn commit(&mut self) -> Response;
}

/// Respond to requests until close, or until the end of the input.
///
/// The lock is what cargo built this program of: the version that runs is in it.
pub fn serve<G: Guest>(client: &str, lock: &str) {
    let mut guest: Option<G> = None;
    for line in stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.expect("a line")).expect("a request");
        let asked = request["do"].as_str().unwrap_or("");
        let mut response = match (asked, &mut guest) {
            ("open", _) => G::open(&request).map(|opened| {
                guest = Some(opened);
                json!({"client": client, "version": version_of(client, lock)})
            }),
            ("poll", Some(of)) => of.poll(Duration::from_millis(
                request["timeout_ms"].as_u64().expect("a timeout"),
            )),
            ("commit", Some(of)) => of.commit(),
            ("close", _) => {
                guest = None;
                Ok(json!({}))
            }
            _ => Err(Failure {
                name: "NotOpen".to_string(),
                message: asked.to_string(),
                definite: false,
            }),
        }
        .unwrap_or_else(|failure| {
            let mut error = json!({"name": failure.name, "message": failure.message});
            if failure.definite {
                error["definite"] = json!(true);
            }
            json!({"error": error})
        });
        response["id"] = request["id"].clone();
        println!("{response}");
        stdout().flush().expect("a reader");
        if asked == "close" {
            break;
        }
    }
}

fn version_of(name: &str, lock: &str) -> String {
    let named = format!("name = \"{name}\"\nversion = \"");
    let (_, rest) = lock.split_once(&named).expect("a locked client");
    rest.split('"').next().unwrap_or("").to_string()
}
