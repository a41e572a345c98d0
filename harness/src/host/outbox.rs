//! The outputs of the host that wait to be polled, in their order.
//!
//! Owns: the outputs, and the frames that follow the response to the current request. Knows: nothing else. Never
//! knows: connections, states.
//!
//! Start at [`HostOutbox`].

use std::collections::VecDeque;

use super::HostOutput;
use crate::transcript::ConnId;
use crate::wire::frame::Frame;

/// The outputs of the host that wait to be polled.
#[derive(Debug, Default)]
pub(super) struct HostOutbox {
    outputs: VecDeque<HostOutput>,
    /// The frames to send after the response to the current request.
    late: Vec<(ConnId, Frame)>,
}

impl HostOutbox {
    pub(super) fn push(&mut self, output: HostOutput) {
        self.outputs.push_back(output);
    }

    pub(super) fn pop(&mut self) -> Option<HostOutput> {
        self.outputs.pop_front()
    }

    /// Returns the number of outputs, as a mark for [`put_off`](Self::put_off).
    pub(super) fn mark(&self) -> usize {
        self.outputs.len()
    }

    /// Adds a frame that is sent after the response to the current request.
    pub(super) fn push_late(&mut self, conn: ConnId, frame: Frame) {
        self.late.push((conn, frame));
    }

    /// Sends the frames to a connection that were added since the mark after the response to the current request.
    pub(super) fn put_off(&mut self, mark: usize, conn: ConnId) {
        for output in self.outputs.split_off(mark.min(self.outputs.len())) {
            match output {
                HostOutput::Send { conn: to, frame } if to == conn => self.late.push((to, frame)),
                other => self.outputs.push_back(other),
            }
        }
    }

    /// Returns the frames that are due after the response to the current request.
    pub(super) fn take_late(&mut self) -> Vec<(ConnId, Frame)> {
        std::mem::take(&mut self.late)
    }

    /// Drops everything that was not polled.
    pub(super) fn clear(&mut self) {
        self.outputs.clear();
        self.late.clear();
    }
}
