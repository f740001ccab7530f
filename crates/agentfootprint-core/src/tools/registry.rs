//! What only the whole set of an agent's tools can tell: names, reserved names, declarations that need something else
//! (TOOL-12, TOOL-14).
//!
//! Two maps live behind this. The *offer* is what the model is shown ([`Offer`](crate::agent::offer::Offer)); the
//! *dispatch map* is what a name resolves to, and it also holds the tools of pieces that are not active now. Taking a schema off
//! the wire never takes its name out of the dispatch map (TOOL-13).

use std::collections::HashMap;

use agentfootprint_record::events::words::Word as _;
use footprint::value::Str;
use thiserror::Error;

use super::name::reserved;
use super::tool::Tool;
use super::tooling::Tooling;
use crate::agent::OnAuthorizationRequired;
use crate::injection::Injection;

/// What is wrong with an agent's tools as a set.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ToolSetError {
    /// Two different tools of one name.
    #[error("two different tools are called `{name}`: {first} and {second}; the model calls by name")]
    Duplicate {
        /// The name.
        name: String,
        /// Where the first comes from.
        first: String,
        /// Where the second comes from.
        second: String,
    },
    /// A name the framework keeps for itself.
    #[error("the tool name `{name}` is reserved {why}")]
    Reserved {
        /// The name.
        name: String,
        /// When it is.
        why: &'static str,
    },
    /// A tool takes artifacts, and there is no store.
    #[error("tool `{tool}` {what}, but the agent has no artifact store; attach one or drop the declaration")]
    WantsWithoutStore {
        /// The tool.
        tool: String,
        /// What it declares.
        what: String,
    },
    /// Check-ins are configured and no tool asks for one.
    #[error(
        "`check_in` is configured, but no registered tool declares a check-in and no tool provider is set; declare \
         `check_in` on a tool or drop the option"
    )]
    InertCheckIn,
    /// A composed tool names a tool the agent does not have.
    #[error(
        "tool `{tool}` is composed of `{missing}`, which the agent does not have; register it or correct the name"
    )]
    ComposedOfDrift {
        /// The composed tool.
        tool: String,
        /// The missing one.
        missing: String,
    },
    /// An option that nothing can reach.
    #[error("`{option}` needs {needs}: without it the option can never apply")]
    OptionWithoutSwitch {
        /// The option.
        option: &'static str,
        /// What is missing.
        needs: &'static str,
    },
}

/// A tool and where it comes from.
struct Held<'a> {
    tool: &'a Tool,
    source: String,
}

/// Every problem of the set, in the order of declaration.
pub(crate) fn check_tool_set(
    tools: &[Tool],
    injections: &[Injection],
    tooling: &Tooling,
    on_authorization_required: OnAuthorizationRequired,
) -> Vec<ToolSetError> {
    let mut problems = Vec::new();
    let held = held(tools, injections, &mut problems);
    let names: Vec<&str> = held.iter().map(|held| held.tool.name()).collect();
    for held in &held {
        check_reserved(held.tool.name(), tooling, &mut problems);
        if tooling.artifacts.is_none() {
            check_artifacts(held.tool, &mut problems);
        }
        for missing in held.tool.declared().composed_of.iter().filter(|name| !names.contains(&&***name)) {
            if tooling.has_provider() {
                // The provider's list is unknown before a run.
                tracing::warn!(
                    target: "agentfootprint",
                    tool = held.tool.name(),
                    "composed of `{missing}`, which is not registered; the tool provider has to supply it"
                );
            } else {
                let (tool, missing) = (held.tool.name().to_owned(), missing.to_string());
                problems.push(ToolSetError::ComposedOfDrift { tool, missing });
            }
        }
    }
    let asks = held.iter().any(|held| held.tool.declared().check_in.is_some());
    if tooling.check_in.is_some() && !asks && !tooling.has_provider() {
        problems.push(ToolSetError::InertCheckIn);
    }
    if on_authorization_required == OnAuthorizationRequired::TellModel && tooling.credentials.is_none() {
        problems.push(ToolSetError::OptionWithoutSwitch {
            option: "on_authorization_required",
            needs: "a credential provider",
        });
    }
    problems
}

/// Every tool once, with its source. One name belongs to one tool; two pieces may share the same value.
fn held<'a>(
    tools: &'a [Tool],
    injections: &'a [Injection],
    problems: &mut Vec<ToolSetError>,
) -> Vec<Held<'a>> {
    let registered = tools
        .iter()
        .enumerate()
        .map(|(at, tool)| Held { tool, source: format!("registered tool {}", at + 1) });
    let carried = injections.iter().flat_map(|injection| {
        let source = format!("{} `{}`", injection.flavor().word(), injection.id());
        injection.content().tools.iter().map(move |tool| Held { tool, source: source.clone() })
    });
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut held: Vec<Held<'a>> = Vec::new();
    for next in registered.chain(carried) {
        let first = known.get(next.tool.name()).and_then(|at| held.get(*at));
        match first {
            // Two pieces that carry one and the same tool are one claim; a piece that lists it twice is a mistake.
            Some(first) if first.tool.ptr_eq(next.tool) && first.source != next.source => {}
            Some(first) => problems.push(ToolSetError::Duplicate {
                name: next.tool.name().to_owned(),
                first: first.source.clone(),
                second: next.source,
            }),
            None => {
                known.insert(next.tool.name(), held.len());
                held.push(next);
            }
        }
    }
    held
}

fn check_reserved(name: &str, tooling: &Tooling, problems: &mut Vec<ToolSetError>) {
    let why = match name {
        reserved::RESPOND_WITH_SCHEMA => "for the forced output tool",
        reserved::PRESENT if tooling.artifacts.is_some() => "while the agent has an artifact store",
        _ => return,
    };
    problems.push(ToolSetError::Reserved { name: name.to_owned(), why });
}

fn check_artifacts(tool: &Tool, problems: &mut Vec<ToolSetError>) {
    let declared = tool.declared();
    let mut missing = |what: String| {
        problems.push(ToolSetError::WantsWithoutStore { tool: tool.name().to_owned(), what });
    };
    if !declared.wants.is_empty() {
        let arguments: Vec<&Str> = declared.wants.keys().collect();
        let listed: Vec<String> = arguments.iter().map(|argument| format!("`{argument}`")).collect();
        missing(format!("wants artifacts for {}", listed.join(", ")));
    }
    if declared.check_in_component.as_ref().is_some_and(|component| component.props_ref.is_some()) {
        missing("shows a component whose props are an artifact".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use footprint::value;
    use footprint::value::Value;

    use super::*;
    use crate::tools::people::{AskComponent, CheckIn, CheckInOptions};
    use crate::tools::{ToolBuilder, ToolListContext, ToolProvider, ToolProviderError};

    fn plain(name: &str) -> ToolBuilder {
        Tool::builder(name.to_owned()).handler(|_: Value, _| async { "done" })
    }

    fn check(tools: &[Tool], tooling: &Tooling) -> Vec<String> {
        let found = check_tool_set(tools, &[], tooling, OnAuthorizationRequired::Pause);
        found.iter().map(ToString::to_string).collect()
    }

    struct Nobody;

    #[async_trait::async_trait]
    impl ToolProvider for Nobody {
        async fn list(&self, _ctx: &ToolListContext) -> Result<Vec<Tool>, ToolProviderError> {
            Ok(Vec::new())
        }
    }

    /// Proves TOOL-12, AGT-33.
    #[test]
    fn one_name_is_one_tool() {
        let (a, other) = (plain("a").build().unwrap(), plain("a").build().unwrap());
        assert_eq!(
            check(&[a.clone(), other], &Tooling::default()),
            [
                "two different tools are called `a`: registered tool 1 and registered tool 2; the model calls by name"
            ]
        );
        // The same value registered twice is one claim.
        assert_eq!(check(&[a.clone(), a], &Tooling::default()), Vec::<String>::new());
        let forced = plain("respond_with_schema").build().unwrap();
        assert_eq!(
            check(&[forced], &Tooling::default()),
            ["the tool name `respond_with_schema` is reserved for the forced output tool"]
        );
    }

    /// Proves TOOL-14, TOOL-77.
    #[test]
    fn declarations_that_need_something_else_are_refused_by_name() {
        let schema = value!({ "properties": { "rows": { "type": "string" } } });
        let wants = Tool::builder("draw")
            .input_schema(schema)
            .wants("rows", "table")
            .check_in(CheckIn::Always)
            .check_in_component(AskComponent::new("pick").props_ref("art_1"))
            .handler(|_, _| async { "drawn" })
            .build()
            .unwrap();
        let composed = plain("sum").composed_of(["draw", "gone"]).gates(true).build().unwrap();
        assert_eq!(composed.declared().gates, Some(true));
        assert_eq!(
            check(&[wants, composed.clone()], &Tooling::default()),
            [
                "tool `draw` wants artifacts for `rows`, but the agent has no artifact store; attach one or drop the \
                 declaration",
                "tool `draw` shows a component whose props are an artifact, but the agent has no artifact store; attach \
                 one or drop the declaration",
                "tool `sum` is composed of `gone`, which the agent does not have; register it or correct the name",
            ]
        );
        // With a provider the missing part may still come.
        let tooling = Tooling { provider: Some(Arc::new(Nobody)), ..Tooling::default() };
        assert_eq!(check(&[composed], &tooling), Vec::<String>::new());
    }

    /// Proves TOOL-12, TOOL-14: with a store the declarations stand, and `present` is the framework's.
    #[test]
    fn a_store_meets_the_declarations_and_takes_a_name() {
        let schema = value!({ "properties": { "rows": { "type": "string" } } });
        let draw = Tool::builder("draw").input_schema(schema).wants("rows", "table");
        let draw = draw.handler(|_, _| async { "drawn" }).build().unwrap();
        let present = plain("present").build().unwrap();
        let store = crate::artifacts::in_memory_artifacts();
        let tooling = Tooling { artifacts: Some(store.into()), ..Tooling::default() };
        assert_eq!(
            check(&[draw, present.clone()], &tooling),
            ["the tool name `present` is reserved while the agent has an artifact store"]
        );
        assert_eq!(check(&[present], &Tooling::default()), Vec::<String>::new());
    }

    /// Proves TOOL-14, TOOL-53.
    #[test]
    fn options_nothing_can_reach_are_refused() {
        let configured = Tooling { check_in: Some(CheckInOptions::new()), ..Tooling::default() };
        let plain = plain("a").build().unwrap();
        assert!(
            check(std::slice::from_ref(&plain), &configured)[0]
                .starts_with("`check_in` is configured, but no registered tool")
        );
        let tell = check_tool_set(&[plain], &[], &Tooling::default(), OnAuthorizationRequired::TellModel);
        assert_eq!(
            tell[0].to_string(),
            "`on_authorization_required` needs a credential provider: without it the option can never apply"
        );
    }
}
