//! What the model reads when a call was not answered by its tool.
//!
//! Every text is a past-tense fact about one named call and what a correct one needs (TOOL-4). None repeats an argument's
//! value (TOOL-5), and none says that something does not exist when it was merely filtered: an emptied list is left out.

use std::fmt::Write as _;

use super::validate::ArgIssue;

/// Arguments that do not fit the schema (TOOL-17).
pub(crate) fn invalid_args(tool: &str, issues: &[ArgIssue]) -> String {
    let mut out = format!("`{tool}` was not executed, its arguments do not fit:");
    for issue in issues {
        let place =
            if issue.path.is_empty() { "the arguments".to_owned() } else { format!("`{}`", issue.path) };
        let _ = match (&*issue.expected, issue.got) {
            (_, "missing") => write!(out, "\n- {place}: required, and missing"),
            ("no additional properties", _) => write!(out, "\n- {place}: the schema has no such property"),
            (expected, got) => write!(out, "\n- {place}: expected {expected}, got {got}"),
        };
    }
    let _ = write!(out, "\nCorrect these and call `{tool}` again.");
    out
}

/// Arguments that could not be read from the model's own answer (LLM-16).
pub(crate) fn unreadable_args(tool: &str, parser: &str) -> String {
    format!(
        "The call to `{tool}` was not executed: its arguments could not be read ({parser}). Send them again as one JSON \
         object."
    )
}

/// An artifact a call wanted and did not get (TOOL-28).
pub(crate) struct WantRefused {
    pub(crate) argument: footprint::value::Str,
    pub(crate) kind: footprint::value::Str,
    pub(crate) what: String,
}

/// Arguments that should have been references. An emptied list of live references is left out.
pub(crate) fn wants_refused(
    tool: &str,
    refused: &[WantRefused],
    live: impl Fn(&str) -> Vec<String>,
) -> String {
    let mut out = format!("`{tool}` was not executed:");
    for one in refused {
        let _ = write!(
            out,
            "\n- `{}` takes the reference of an artifact of kind `{}`; {}.",
            one.argument, one.kind, one.what
        );
        let live = live(&one.kind);
        if !live.is_empty() {
            let _ = write!(out, " References of that kind now: {}.", live.join(", "));
        }
    }
    let _ = write!(
        out,
        "\nCorrect these and call `{tool}` again; pass a reference as it is, without its content."
    );
    out
}

/// A reference `present` could not show.
pub(crate) fn present_miss(what: &str, live: &[String]) -> String {
    let mut out = format!("Nothing was shown: {what}.");
    if !live.is_empty() {
        let _ = write!(out, " References that can be shown now: {}.", live.join(", "));
    }
    out
}

/// The `reason` of a ticket that stands for a long result (MEM-136).
pub(crate) fn placed(tool: &str, size: usize, limit: u64, reference: &str, kind: &str) -> String {
    format!(
        "The result of {tool} has {size} characters; results over {limit} are stored. All of it is artifact {reference} of \
         kind {kind}, and none of it is in this conversation. To use it, give {reference} to a tool that takes kind {kind}, or \
         show it with present. Do not write out or summarize what you have not read."
    )
}

/// A name nobody answers to.
pub(crate) fn not_served<'a>(tool: &str, callable: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = callable.map(|name| format!("`{name}`")).collect();
    let mut out = format!("Nothing ran: no tool `{tool}` was available to this call.");
    if !names.is_empty() {
        let _ = write!(out, " Tools that can be called: {}.", names.join(", "));
    }
    out
}

/// A tool whose supplier took it back.
pub(crate) fn withdrawn(tool: &str) -> String {
    format!(
        "Nothing ran: `{tool}` was withdrawn by whoever supplied it, and nothing else answers to that name."
    )
}

/// A denial without a text of its own. The beginning is a recording contract.
pub(crate) fn permission_denied(rationale: Option<&str>) -> String {
    format!("{} {}]", super::dispatch::DENIED_PREFIX, rationale.unwrap_or("policy"))
}

/// A checker that could not decide. What went wrong is for operators only (TOOL-37).
pub(crate) fn permission_unavailable(tool: &str) -> String {
    format!(
        "{} `{tool}` could not be authorized; that does not change during this run. Go on without it.]",
        super::dispatch::DENIED_PREFIX
    )
}

/// A halt without a text of its own; never the checker's reason (TOOL-36).
pub(crate) fn halted(tool: &str) -> String {
    format!("`{tool}` is not available in this context.")
}

/// A tool whose handler panicked (TOOL-10).
pub(crate) fn panicked(tool: &str) -> String {
    format!("`{tool}` failed unexpectedly and returned no result.")
}

/// A result over the tool's own ceiling (TOOL-73).
pub(crate) fn over_ceiling(
    tool: &str,
    size: usize,
    max: usize,
    narrow_by: Option<&[footprint::value::Str]>,
) -> String {
    let mut out = format!(
        "`{tool}` ran, but its result has {size} characters and the tool allows {max}. None of the data was returned."
    );
    match narrow_by {
        Some(names) => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let _ = write!(
                out,
                " Call it again with a narrower request; it can be narrowed by {}.",
                names.join(", ")
            );
        }
        None => out.push_str(" Call it again with a narrower request."),
    }
    out
}

/// The `reason` of the marker that replaces a result over the agent's cap.
pub(crate) fn capped(size: usize, cap: usize) -> String {
    format!("{size} characters, cut to the limit of {cap}")
}

/// The note appended to a repeated call (TOOL-74).
pub(crate) fn repeated_call(tool: &str, times: u32) -> String {
    format!(
        "\n\n[repeated call: `{tool}` was called {times} times in this turn with these arguments and returned exactly this \
         result each time. One more identical call brings nothing new. Use what it returned, or change the arguments or \
         the tool; if you are waiting for something to happen, say so in your answer.]"
    )
}

/// The same for tools that count arguments alone; it says nothing about the result.
pub(crate) fn repeated_arguments(tool: &str, times: u32) -> String {
    format!(
        "\n\n[repeated call: `{tool}` was called {times} times in this turn with these arguments. Use what it returned, \
         or change the arguments or the tool; if you are waiting for something to happen, say so in your answer.]"
    )
}

/// A call behind the one at which its batch stopped (TOOL-31).
pub(crate) fn not_dispatched(stopped_at: &str) -> String {
    format!(
        "This call was not dispatched: the batch stopped at the call to `{stopped_at}` before it. It may be requested \
         again."
    )
}

/// A person said no (TOOL-63).
pub(crate) fn declined(note: Option<&str>, chosen: Option<&footprint::value::Value>) -> String {
    let mut out = String::from("declined by human");
    if let Some(note) = note {
        let _ = write!(out, ": {note}");
    }
    if let Some(chosen) = chosen {
        let _ = write!(out, "\nThe person's choice: {chosen}");
    }
    out
}

/// A second question behind an answered one (TOOL-62).
pub(crate) fn second_ask(tool: &str, link: &str) -> String {
    format!(
        "`{tool}` was not executed: after one question was answered, middleware `{link}` asked another one, and a resumed \
         call can ask only once. Do not request it again in this turn."
    )
}

/// A check-in behind an answered question (TOOL-62).
pub(crate) fn second_gate(tool: &str) -> String {
    format!(
        "`{tool}` was not executed: a middleware question was approved, but the tool's own check-in asks for a second \
         approval and a resumed call can ask only once. Do not retry it. For the author: keep one of the two gates."
    )
}

/// A tool that pauses although the call was already resumed (TOOL-62).
pub(crate) fn second_pause(tool: &str) -> String {
    format!("`{tool}` ran and asked a question, but a resumed call can ask only once; there is no result.")
}

/// A credential that could not be obtained (TOOL-51).
pub(crate) fn credential_failed(tool: &str, service: &str, reason: &str) -> String {
    format!("`{tool}` was not executed: no credential for `{service}` could be obtained ({reason}).")
}

/// Consent that only a person can give (TOOL-53).
pub(crate) fn consent_needed(tool: &str, service: &str) -> String {
    format!(
        "[`{tool}` was not executed: a person has to grant access to `{service}` first. You cannot do that yourself; go on \
         without it, or say that it is missing.]"
    )
}

/// Effects the run cannot honour are refused with a reason; this is how the model reads it.
pub(crate) fn effect_refused(kind: &str, why: &str) -> String {
    format!("\n\n[the tool's {kind} was not accepted: {why}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves TOOL-17, TOOL-4, TOOL-5.
    #[test]
    fn refusals_read_as_facts_with_a_way_on() {
        let issue =
            |path: &str, expected: &str, got| ArgIssue { path: path.into(), expected: expected.into(), got };
        assert_eq!(
            invalid_args(
                "book",
                &[
                    issue("room", "required", "missing"),
                    issue("nights", "integer", "string"),
                    issue("extra", "no additional properties", "number"),
                    issue("", "object", "array"),
                ]
            ),
            "`book` was not executed, its arguments do not fit:\n\
             - `room`: required, and missing\n\
             - `nights`: expected integer, got string\n\
             - `extra`: the schema has no such property\n\
             - the arguments: expected object, got array\n\
             Correct these and call `book` again."
        );
        assert_eq!(
            not_served("forecast", ["weather", "stock"].into_iter()),
            "Nothing ran: no tool `forecast` was available to this call. Tools that can be called: `weather`, `stock`."
        );
        // An emptied list is left out, not denied.
        assert_eq!(
            not_served("x", std::iter::empty()),
            "Nothing ran: no tool `x` was available to this call."
        );
        assert_eq!(
            unreadable_args("book", "expected a comma"),
            "The call to `book` was not executed: its arguments could not be read (expected a comma). Send them again as \
             one JSON object."
        );
    }

    /// Proves TOOL-36, TOOL-37.
    #[test]
    fn denials_keep_their_beginning_and_tell_no_secrets() {
        assert_eq!(permission_denied(Some("files stay")), "[permission denied: files stay]");
        assert_eq!(permission_denied(None), "[permission denied: policy]");
        assert_eq!(
            permission_unavailable("send"),
            "[permission denied: `send` could not be authorized; that does not change during this run. Go on without it.]"
        );
        assert_eq!(halted("send"), "`send` is not available in this context.");
    }

    /// Proves TOOL-73.
    #[test]
    fn a_ceiling_states_both_sizes_and_how_to_narrow() {
        assert_eq!(
            over_ceiling("dump", 47, 40, Some(&["limit".into(), "site".into()])),
            "`dump` ran, but its result has 47 characters and the tool allows 40. None of the data was returned. Call it \
             again with a narrower request; it can be narrowed by `limit`, `site`."
        );
        assert!(over_ceiling("dump", 47, 40, None).ends_with("Call it again with a narrower request."));
    }

    /// Proves TOOL-63.
    #[test]
    fn a_decline_carries_note_and_choice() {
        assert_eq!(declined(None, None), "declined by human");
        assert_eq!(declined(Some("too much"), None), "declined by human: too much");
        let chosen = footprint::value!({ "kind": "seat", "value": null });
        assert_eq!(
            declined(Some("none fits"), Some(&chosen)),
            "declined by human: none fits\nThe person's choice: {\"kind\":\"seat\",\"value\":null}"
        );
    }

    /// Proves TOOL-74.
    #[test]
    fn the_arguments_note_does_not_claim_an_equal_result() {
        assert!(repeated_call("poll", 2).contains("`poll` was called 2 times"));
        assert!(repeated_call("poll", 2).contains("exactly this result"));
        assert!(!repeated_arguments("poll", 2).contains("exactly this result"));
    }
}
