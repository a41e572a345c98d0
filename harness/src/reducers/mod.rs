//! The harness's reducers as a service, and the comparison of other reducers with the harness's reducers.
//!
//! The service reads one request per line and writes one answer per line ([`serve`], [`mod@line`]). The
//! comparison sends [`vector`] files and generated cases ([`generate`]) to an [`exchange::ReducerSubject`] and
//! compares each answer with the harness's result ([`case`]). Each difference is shrunk ([`shrink`]) and
//! reported once ([`report`]), unless the specification leaves the point [`open`]. [`hold`] runs the whole comparison;
//! a [`baseline`] lists the known differences, [`defects`] describes their causes. The values in a transcript
//! ([`said`]) can be used instead of generated values.
//!
//! Knows: the model, the protocol tables, and the line protocol of `REDUCERS.md`. Never knows: the source of
//! lines, processes, clocks.
//!
//! Start at [`serve`] for the service, at [`hold`] for the comparison.

pub(crate) mod aim;
pub mod baseline;
pub mod case;
pub mod compare;
pub mod defects;
pub mod exchange;
pub mod generate;
pub mod hold;
pub mod line;
pub mod open;
pub mod pointer;
pub mod report;
pub mod said;
pub mod shrink;
pub mod vector;

use std::io::{self, BufRead, Write};

use crate::wire::version::Version;

/// The maximum length of a line, in bytes. The rest of a longer line is skipped.
pub const MAX_LINE: usize = 64 * 1024 * 1024;

/// Answers every line of the input, in order and without delay, until the input ends.
///
/// The answer to an invalid line is an error; a blank line gets no answer.
///
/// # Errors
///
/// Returns an error if reading or writing fails.
pub fn serve(version: Version, input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<()> {
    let mut line = Vec::new();
    while let Some(complete) = read_line(input, MAX_LINE, &mut line)? {
        let mut answer = match complete {
            true if line.trim_ascii().is_empty() => continue,
            true => line::answer(version, &line),
            false => line::too_long(&line, MAX_LINE),
        };
        answer.push('\n');
        output.write_all(answer.as_bytes())?;
        output.flush()?;
    }
    Ok(())
}

/// Reads a line without its line break, at most `limit` bytes, and returns whether the line is complete.
/// Returns `None` at the end of the input.
fn read_line(
    input: &mut dyn BufRead,
    limit: usize,
    line: &mut Vec<u8>,
) -> io::Result<Option<bool>> {
    line.clear();
    let (mut any, mut complete) = (false, true);
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            return Ok(any.then_some(complete));
        }
        any = true;
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        let room = limit.saturating_sub(line.len());
        complete &= part.len() <= room;
        line.extend(part.iter().take(room));
        let read = part.len().saturating_add(usize::from(end.is_some()));
        input.consume(read);
        if end.is_some() {
            return Ok(Some(complete));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn lines_are_bounded_and_the_next_one_is_whole() {
        let mut input = BufReader::with_capacity(3, "one\n\nlonger than\r\nnext".as_bytes());
        let mut read = || {
            let mut line = Vec::new();
            let complete = read_line(&mut input, 4, &mut line).unwrap();
            (String::from_utf8(line).unwrap(), complete)
        };
        assert_eq!(read(), ("one".to_owned(), Some(true)));
        assert_eq!(read(), (String::new(), Some(true)));
        assert_eq!(read(), ("long".to_owned(), Some(false)));
        assert_eq!(read(), ("next".to_owned(), Some(true)));
        assert_eq!(read(), (String::new(), None));
    }

    #[test]
    fn answers_in_order_and_goes_on_after_bad_lines() {
        let input = "{\"id\":1,\"reducer\":\"root\",\"state\":{},\"actions\":[]}\r\n\n  \nnonsense\n\
            {\"id\":2,\"reducer\":\"root\",\"state\":{},\"actions\":[]}";
        let mut output = Vec::new();
        serve(Version::new(1, 0, 0), &mut input.as_bytes(), &mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        let ids: Vec<_> = output
            .lines()
            .map(|line| {
                serde_json::from_str::<crate::wire::json::Value>(line).unwrap()["id"].clone()
            })
            .collect();
        assert_eq!(serde_json::json!(ids), serde_json::json!([1, null, 2]));
    }
}
