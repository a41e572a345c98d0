//! Conversations with one fault of the host in them, and conversations that are only told in another way: what the
//! always-on checks miss, and whom they accuse wrongly.
//!
//! A [`capture`] in which nothing is wrong is read ([`reading`]) and changed by an [`operator`], a row of
//! [`operators`]: a target, a [`change`] and the [`evidence`] by which anybody could know. A [`rewrite`] is the
//! mirror image, a row of [`rewrites`]: whatever it makes is as legal as before. [`bases`] makes the captures,
//! [`trial`] holds the checks against what became of them, [`table`] shows it. [`acp`] has the rows about agents.
//!
//! Knows: captures, reducers, the judgement of files. Never knows: how a check works; files, the terminal.
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

#[cfg(test)]
mod tests;
