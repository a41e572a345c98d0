//! Mutation tests of the always-on checks. Captures with one injected fault show which faults the checks miss, and
//! legally rewritten captures show false findings.
//!
//! A correct [`capture`] is read ([`reading`]) and changed by an [`operator`], a row of [`operators`]: a target, a
//! [`change`], and the [`evidence`] of the fault in the capture. A [`rewrite`], a row of [`rewrites`], injects no
//! fault: the rewritten capture is as legal as the original. [`bases`] creates the captures, [`trial`] runs the checks
//! on the changed captures, [`table`] shows the results. [`acp`] contains the additions for conversations with agents.
//!
//! Knows: captures, reducers, the judgement of files. Never knows: the implementation of checks, files, the
//! terminal.
//!
//! Start at [`trial`].

pub mod acp;
pub mod bases;
pub mod capture;
pub mod change;
pub mod evidence;
mod moves;
pub mod operator;
pub mod operators;
mod pointer;
pub mod reading;
mod renumber;
pub mod rewrite;
pub mod rewrites;
pub mod table;
pub mod trial;
pub mod value_change;

#[cfg(test)]
mod tests;
