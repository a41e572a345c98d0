//! Faults in the `serverSeq` numbers of envelopes.

use std::collections::VecDeque;

use super::FaultPart::Message;
use super::parts::{EnvelopeFault, ResultFault, accepted, number_of};
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput};
use crate::wire::json::{Value, json};

fault_table![
    SequenceRepeats(
        "sequence-repeats",
        "Every fourth accepted envelope repeats the previous number.",
        Message(|| Box::new(EnvelopeFault(|_, envelope| too_low(envelope, 1)))),
    ),
    SequenceGoesBack(
        "sequence-goes-back",
        "Every fourth accepted envelope has a number that is three too low.",
        Message(|| Box::new(EnvelopeFault(|_, envelope| too_low(envelope, 3)))),
    ),
    SeqDiffersPerClient(
        "seq-differs-per-client",
        "The second subscriber of a channel gets other numbers than the first subscriber.",
        Message(|| Box::<DifferentNumbers>::default()),
    ),
    HandshakeSeqZero(
        "handshake-seq-zero",
        "The result of the handshake always has `serverSeq` 0.",
        Message(|| {
            Box::new(ResultFault("initialize", |_, result| result["serverSeq"] = json!(0)))
        }),
    ),
];

/// Lowers every fourth `serverSeq` by the number `by`.
fn too_low(envelope: &mut Value, by: u64) {
    let number = number_of(envelope);
    if number.is_multiple_of(4) {
        envelope["serverSeq"] = json!(number.saturating_sub(by));
    }
}

/// Counts, for each envelope, the subscribers to which it was delivered.
#[derive(Default)]
pub(super) struct DeliveryCount {
    recent: VecDeque<(u64, usize)>,
}

/// The maximum number of envelopes whose deliveries are counted.
const MAX_RECENT: usize = 64;

impl DeliveryCount {
    /// Counts a delivery of the envelope with this `serverSeq`, and returns the number of its earlier deliveries.
    pub(super) fn before(&mut self, number: u64) -> usize {
        if let Some((_, count)) = self.recent.iter_mut().find(|(known, _)| *known == number) {
            *count += 1;
            return *count;
        }
        if self.recent.len() >= MAX_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((number, 0));
        0
    }
}

/// A fault that sends the same envelope with other `serverSeq` numbers to all subscribers except the first.
#[derive(Default)]
struct DifferentNumbers(DeliveryCount);

impl MessageRewriter for DifferentNumbers {
    fn on_host_message(
        &mut self,
        _: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        if let Some(number) = accepted(&message).map(number_of)
            && self.0.before(number) > 0
        {
            message["params"]["serverSeq"] = json!(number + 1_000_000);
        }
        out.send(message);
    }
}
