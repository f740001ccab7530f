//! The viewer without a terminal.
