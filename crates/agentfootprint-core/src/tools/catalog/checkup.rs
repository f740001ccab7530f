//! Whether an agent's tools still fit the catalogue of the server behind them (TOOL-116).

use footprint::value::{Str, Value};

use super::{Severity, parameters};
use crate::tools::schema::ToolSchema;

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckupKind {
    /// The agent has it, the server does not: every call fails.
    MissingOnServer,
    /// The two demand different arguments: calls are refused.
    RequiredDivergence,
    /// The server knows optional arguments the agent does not offer, or the other way round.
    OptionalDrift,
    /// One argument has two types.
    ArgDivergence,
    /// The server has it, the agent does not.
    DeadEndpoint,
}

impl CheckupKind {
    /// The recorded word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MissingOnServer => "missing-on-server",
            Self::RequiredDivergence => "required-divergence",
            Self::OptionalDrift => "optional-drift",
            Self::ArgDivergence => "arg-divergence",
            Self::DeadEndpoint => "dead-endpoint",
        }
    }

    /// How much it weighs.
    pub const fn severity(self) -> Severity {
        match self {
            Self::MissingOnServer | Self::RequiredDivergence => Severity::Error,
            Self::OptionalDrift | Self::ArgDivergence | Self::DeadEndpoint => Severity::Warn,
        }
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckupFinding {
    /// What differs.
    pub kind: CheckupKind,
    /// The tool.
    pub tool: Str,
    /// The arguments it is about, in the order of their declaration.
    pub arguments: Vec<Str>,
}

/// All differences.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContractCheckup {
    /// Whether no difference is an error.
    pub ok: bool,
    /// The differences: the agent's tools in their order, then what only the server has.
    pub findings: Vec<CheckupFinding>,
}

/// Compares what an agent offers with what a server serves. Nothing is called.
pub fn tool_contract_checkup(agent: &[ToolSchema], server: &[ToolSchema]) -> ContractCheckup {
    let mut findings = Vec::new();
    let mut find = |kind, tool: &Str, arguments: Vec<Str>| {
        findings.push(CheckupFinding { kind, tool: tool.clone(), arguments });
    };
    for ours in agent {
        let Some(theirs) = server.iter().find(|tool| tool.name() == ours.name()) else {
            find(CheckupKind::MissingOnServer, ours.name(), Vec::new());
            continue;
        };
        let (left, right) = (parameters(ours.input_schema()), parameters(theirs.input_schema()));
        let only = |required: bool, a: &[(&Str, &Value, bool)], b: &[(&Str, &Value, bool)]| -> Vec<Str> {
            a.iter()
                .filter(|(name, _, must)| {
                    *must == required && !b.iter().any(|(other, _, must)| other == name && *must == required)
                })
                .map(|(name, ..)| (*name).clone())
                .collect()
        };
        let mut required = only(true, &left, &right);
        required.extend(only(true, &right, &left));
        let is_required = |name: &Str| required.contains(name);
        let mut optional = only(false, &left, &right);
        optional.extend(only(false, &right, &left));
        optional.retain(|name| !is_required(name));
        let retyped: Vec<Str> = left
            .iter()
            .filter(|(name, property, _)| {
                right
                    .iter()
                    .any(|(other, theirs, _)| other == name && theirs.get("type") != property.get("type"))
            })
            .map(|(name, ..)| (*name).clone())
            .collect();
        for (kind, arguments) in [
            (CheckupKind::RequiredDivergence, required.clone()),
            (CheckupKind::OptionalDrift, optional),
            (CheckupKind::ArgDivergence, retyped),
        ] {
            if !arguments.is_empty() {
                find(kind, ours.name(), arguments);
            }
        }
    }
    for theirs in server.iter().filter(|tool| !agent.iter().any(|ours| ours.name() == tool.name())) {
        find(CheckupKind::DeadEndpoint, theirs.name(), Vec::new());
    }
    let ok = findings.iter().all(|finding| finding.kind.severity() < Severity::Error);
    ContractCheckup { ok, findings }
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    fn tool(name: &str, properties: Value, required: Value) -> ToolSchema {
        ToolSchema::new(name, "A tool.", value!({ "properties": (properties), "required": (required) }))
    }

    /// Proves TOOL-116.
    #[test]
    fn a_checkup_names_every_difference() {
        let ours = [
            tool("gone", value!({}), value!([])),
            tool(
                "book",
                value!({ "room": { "type": "string" }, "nights": { "type": "string" } }),
                value!(["room"]),
            ),
        ];
        let theirs = [
            tool(
                "book",
                value!({
                    "room": { "type": "string" }, "nights": { "type": "integer" }, "guest": { "type": "string" },
                    "late": { "type": "boolean" },
                }),
                value!(["room", "guest"]),
            ),
            tool("spare", value!({}), value!([])),
        ];
        let checkup = tool_contract_checkup(&ours, &theirs);
        let rows: Vec<String> = checkup
            .findings
            .iter()
            .map(|finding| {
                format!("{} {} {}", finding.kind.as_str(), finding.tool, finding.arguments.join(","))
            })
            .collect();
        assert_eq!(
            rows,
            [
                "missing-on-server gone ",
                "required-divergence book guest",
                "optional-drift book late",
                "arg-divergence book nights",
                "dead-endpoint spare ",
            ]
        );
        assert!(!checkup.ok);
        assert!(tool_contract_checkup(&ours, &ours).findings.is_empty());
        assert!(tool_contract_checkup(&[], &theirs).ok, "a warning fails nothing");
    }
}
