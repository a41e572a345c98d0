//! The agent from the outside: lines in, lines out, in virtual time.
