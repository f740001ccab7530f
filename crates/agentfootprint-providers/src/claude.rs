//! What is known of a Claude model by its id, at whichever door it is served. The table ages; every answer can be
//! overridden on the builders.

use agentfootprint_core::llm::ThinkingMode;

/// What a model takes.
#[allow(dead_code, reason = "which facts are asked for depends on the adapters built in")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModelFacts {
    pub(crate) thinking: ThinkingMode,
    /// One tool can be forced.
    pub(crate) forced_tool: bool,
    /// An answer can be held to a JSON schema.
    pub(crate) structured_output: bool,
    /// Turns of the role `system` may stand among the messages.
    pub(crate) system_turns: bool,
}

/// The facts of an id, read from `claude-` onward, so that the forms of Bedrock, Vertex and ARNs resolve too. An id
/// that is not understood is taken for a new model.
pub(crate) fn facts(model: &str) -> ModelFacts {
    let (name, version) = parse(model);
    let thinking = match version {
        Some(version) if version < (3, 7) => ThinkingMode::None,
        Some(version) if version <= (4, 6) => ThinkingMode::Budget,
        _ => ThinkingMode::Adaptive,
    };
    ModelFacts {
        thinking,
        forced_tool: !(name.as_deref() == Some("mythos") && version.is_none()),
        structured_output: version.is_none_or(|version| version >= (4, 5)),
        system_turns: version.is_some_and(|version| version >= (4, 8)),
    }
}

/// The version of an id, where it states one.
#[allow(dead_code, reason = "which facts are asked for depends on the adapters built in")]
pub(crate) fn version(model: &str) -> Option<(u32, u32)> {
    parse(model).1
}

/// Name and version: `claude-sonnet-4-5-20250929` is sonnet 4.5, `claude-3-opus-latest` is opus 3.0, and `claude-v2:1`,
/// as Bedrock writes the oldest ones, is 2.1.
fn parse(model: &str) -> (Option<String>, Option<(u32, u32)>) {
    let lower = model.to_lowercase();
    let Some((_, rest)) = lower.split_once("claude-") else { return (None, None) };
    let mut name = None;
    let mut numbers: Vec<u32> = Vec::new();
    for part in rest.split(['-', '@', '.', ':', '/']) {
        match part.parse::<u32>() {
            // Versions have one or two digits; more are a date, and what follows it is a suffix.
            Ok(number) if part.len() <= 2 && numbers.len() < 2 => numbers.push(number),
            Ok(_) => break,
            Err(_) => match (revision(part), name.as_deref()) {
                // Where no number and no name of today stands before it, it is the version and no revision.
                (Some(number), None | Some("instant")) if numbers.is_empty() => numbers.push(number),
                (Some(_), _) => break,
                _ if part == "latest" => break,
                _ => {
                    name.get_or_insert_with(|| part.to_owned());
                }
            },
        }
    }
    let mut numbers = numbers.into_iter();
    let version = numbers.next().map(|major| (major, numbers.next().unwrap_or(0)));
    (name, version)
}

/// The `1` of `v1`, as Bedrock appends it.
fn revision(part: &str) -> Option<u32> {
    part.strip_prefix('v')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves LLM-93.
    #[test]
    fn ids_of_every_form_resolve_to_their_family() {
        use ThinkingMode::{Adaptive, Budget, None};
        let cases = [
            ("claude-instant-1.2", None),
            ("claude-2.1", None),
            ("anthropic.claude-v2:1", None),
            ("anthropic.claude-instant-v1", None),
            ("anthropic.claude-3-haiku-20240307-v1:0", None),
            ("global.anthropic.claude-haiku-4-5-20251001-v1:0", Budget),
            ("us.anthropic.claude-mythos-preview-v1:0", Adaptive),
            ("claude-3-opus-20240229", None),
            ("claude-3-5-sonnet-latest", None),
            ("anthropic.claude-3-5-sonnet-20241022-v2:0", None),
            ("claude-3-7-sonnet-20250219", Budget),
            ("claude-opus-4-20250514", Budget),
            ("claude-opus-4@20250514", Budget),
            ("claude-sonnet-4-5-20250929", Budget),
            ("claude-sonnet-4-5@20250929", Budget),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", Budget),
            (
                "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-1-20250805-v1:0",
                Budget,
            ),
            ("claude-haiku-4-5", Budget),
            ("anthropic/claude-opus-4.6", Budget),
            ("claude-opus-4-6-v1", Budget),
            ("claude-opus-4-7", Adaptive),
            ("anthropic.claude-opus-4-8-20260528-v1:0", Adaptive),
            ("claude-sonnet-5", Adaptive),
            ("claude-mythos-preview", Adaptive),
            ("some-proxy-model", Adaptive),
        ];
        for (model, mode) in cases {
            assert_eq!(facts(model).thinking, mode, "{model}");
        }
    }

    #[test]
    fn system_turns_and_forced_tools_are_known_per_model() {
        for (model, turns) in [
            ("claude-opus-4-8", true),
            ("claude-opus-5-5", true),
            ("claude-opus-4-7", false),
            ("claude-sonnet-4-6", false),
            ("claude-mythos-preview", false),
            ("other", false),
        ] {
            assert_eq!(facts(model).system_turns, turns, "{model}");
        }
        assert!(!facts("claude-mythos-preview").forced_tool);
        assert!(facts("claude-mythos-5").forced_tool && facts("claude-sonnet-4-5").forced_tool);
    }
}
