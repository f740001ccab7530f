//! Tools of a scenario, and what they do.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agentfootprint_core::tools::{
    CheckIn, CoverageItem, CoverageLists, PermissionCapability, Tool, ToolContext, ToolError, ToolFailure,
    ToolOutput, absent, ask_human, coverage,
};
use agentfootprint_record::events::words::Word as _;
use footprint::value::Value as Kept;
use serde_json::{Value, json};

use super::{Given, list};
use crate::golden::expr::{eval, holds, template};
use crate::golden::text;

pub(super) fn tool(declared: &Value) -> Result<Tool, String> {
    const DECLARED: &[&str] = &[
        "name",
        "description",
        "inputSchema",
        "behaviour",
        "resultCeiling",
        "repeatedWhen",
        "argumentsFrom",
        "capabilities",
        "checkIn",
        "wants",
        "resultKind",
    ];
    if let Some(unknown) = declared
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key)
        .find(|key| !DECLARED.contains(&key.as_str()))
    {
        return Err(format!("tool declaration `{unknown}` is not built yet"));
    }
    let mut builder = Tool::builder(text(declared, "name")).description(text(declared, "description"));
    if let Some(schema) = declared.get("inputSchema") {
        builder = builder.input_schema(Kept::from(schema.clone()));
    }
    if let Some(ceiling) = declared.get("resultCeiling") {
        builder = builder
            .result_ceiling(ceiling.get("maxChars").and_then(Value::as_u64).unwrap_or_default() as usize);
        let narrow: Vec<String> =
            list(ceiling, "narrowBy").iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
        if !narrow.is_empty() {
            builder = builder.narrow_by(narrow);
        }
    }
    if let Some(grounds) = declared.get("argumentsFrom").and_then(Value::as_array) {
        builder = builder.arguments_from(
            grounds.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect::<Vec<_>>(),
        );
    }
    for (argument, kind) in declared.get("wants").and_then(Value::as_object).into_iter().flatten() {
        builder = builder.wants(argument.as_str(), kind.as_str().unwrap_or_default());
    }
    if let Some(kind) = declared.get("resultKind").and_then(Value::as_str) {
        builder = builder.result_kind(kind);
    }
    if declared.get("repeatedWhen").is_some() {
        builder = builder.repeated_when(agentfootprint_core::tools::RepeatedWhen::Arguments);
    }
    if let Some(touched) = declared.get("capabilities").and_then(Value::as_array) {
        let words = touched.iter().filter_map(Value::as_str);
        builder = builder.capabilities(words.map(|word| PermissionCapability::read(&word.into())));
    }
    builder = match declared.get("checkIn") {
        None => builder,
        Some(Value::String(_)) => builder.check_in(CheckIn::Always),
        Some(condition) => {
            let condition = condition.clone();
            builder.check_in(CheckIn::try_when(move |args, _| {
                holds(&condition, &Given(args.to_json())).map_err(|thrown| thrown.0.into())
            }))
        }
    };
    let behaviour = Arc::new(Behaviour::of(declared.get("behaviour").cloned().unwrap_or_default())?);
    builder
        .handler(move |args: Kept, cx: ToolContext| {
            let behaviour = Arc::clone(&behaviour);
            async move { behaviour.act(&args.to_json(), &cx) }
        })
        .build()
        .map_err(|error| error.to_string())
}

/// What a scenario's tool does.
struct Behaviour {
    declared: Value,
    calls: AtomicUsize,
    inner: Mutex<Vec<Arc<Behaviour>>>,
}

impl Behaviour {
    fn of(declared: Value) -> Result<Self, String> {
        let known = [
            "return",
            "template",
            "echoArgs",
            "none",
            "throw",
            "sequence",
            "when",
            "progress",
            "askHuman",
            "contextFacts",
            "wanted",
            "absent",
            "coverage",
        ];
        let name = declared
            .as_object()
            .and_then(|map| map.keys().find(|key| !known.contains(&key.as_str())).cloned());
        if let Some(name) = name {
            return Err(format!("tool behaviour `{name}` is not built yet"));
        }
        let inner = list(&declared, "sequence")
            .iter()
            .map(|each| Self::of(each.clone()).map(Arc::new))
            .collect::<Result<_, _>>()?;
        Ok(Self { declared, calls: AtomicUsize::new(0), inner: Mutex::new(inner) })
    }

    fn act(&self, args: &Value, cx: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        for payload in list(&self.declared, "progress") {
            cx.progress(Kept::from(payload.clone()));
        }
        if self.declared.get("sequence").is_some() {
            let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let at = self.calls.fetch_add(1, Ordering::SeqCst).min(inner.len().saturating_sub(1));
            return inner.get(at).map_or(Ok(ToolOutput::None), |behaviour| behaviour.act(args, cx));
        }
        if let Some(rules) = self.declared.get("when").and_then(Value::as_array) {
            for rule in rules {
                let fits = rule
                    .get("if")
                    .is_none_or(|condition| holds(condition, &Given(args.clone())).unwrap_or_default());
                if fits {
                    let then = rule.get("then").cloned().unwrap_or_default();
                    return Self::of(then).map_err(ToolError::new)?.act(args, cx);
                }
            }
            return Ok(ToolOutput::None);
        }
        if let Some(expression) = self.declared.get("return") {
            let value = eval(expression, &Given(args.clone())).map_err(|thrown| ToolError::new(thrown.0))?;
            return Ok(output(value));
        }
        if let Some(pattern) = self.declared.get("template").and_then(Value::as_str) {
            return Ok(ToolOutput::Text(template(pattern, args).into()));
        }
        if self.declared.get("echoArgs").is_some() {
            return Ok(ToolOutput::Json(Kept::from(args.clone())));
        }
        if let Some(data) = self.declared.get("askHuman") {
            let asked = eval(data, &Given(args.clone())).map_err(|thrown| ToolError::new(thrown.0))?;
            return Err(ask_human(Kept::from(asked.unwrap_or_default())));
        }
        if let Some(declared) = self.declared.get("absent") {
            let minted = absent(text(declared, "what"))
                .lists(lists(declared))
                .try_instead(text(declared, "tryInstead"));
            return Ok(ToolOutput::Absent(minted.build()?));
        }
        if let Some(covered) = self.declared.get("coverage") {
            let behaviour =
                Self::of(covered.get("result").cloned().unwrap_or_default()).map_err(ToolError::new)?;
            let result = behaviour.act(args, cx)?.into_value().unwrap_or_default();
            let declared = covered.get("declaration").cloned().unwrap_or_default();
            return Ok(ToolOutput::Covered(coverage(result).lists(lists(&declared)).build()?));
        }
        if let Some(thrown) = self.declared.get("throw") {
            let message = thrown.as_str().map_or_else(|| text(thrown, "message"), str::to_owned);
            return Err(ToolError::new(message).into());
        }
        if let Some(argument) = self.declared.get("wanted").and_then(Value::as_str) {
            let chars = text(args, argument).encode_utf16().count();
            let kind = cx.wanted().and_then(|wanted| wanted.get(argument)).map(|meta| meta.kind.to_string());
            return Ok(ToolOutput::text(format!("read {chars} chars of {}", kind.unwrap_or_default())));
        }
        if self.declared.get("contextFacts").is_some() {
            let identity = cx.identity().and_then(|identity| serde_json::to_value(identity).ok());
            let mut facts = json!({"iteration": cx.iteration(), "toolCallId": cx.tool_call_id()});
            if let Some(facts) = facts.as_object_mut() {
                if let Some(session) = cx.session_id() {
                    facts.insert("sessionId".to_owned(), json!(session));
                }
                if let Some(identity) = identity {
                    facts.insert("identity".to_owned(), identity);
                }
            }
            return Ok(ToolOutput::Json(Kept::from(facts)));
        }
        Ok(ToolOutput::None)
    }
}

/// The lists of a declaration; an entry is a text or `{what, why?}`.
fn lists(declared: &Value) -> CoverageLists {
    let items = |key: &str| -> Vec<CoverageItem> {
        let item = |entry: &Value| match (entry.as_str(), entry.get("why")) {
            (Some(what), _) => CoverageItem::from(what),
            (None, Some(_)) => CoverageItem::from((text(entry, "what"), text(entry, "why"))),
            (None, None) => CoverageItem::from(text(entry, "what")),
        };
        list(declared, key).iter().map(item).collect()
    };
    CoverageLists {
        checked: items("checked"),
        not_checked: items("notChecked"),
        cannot_cover: items("cannotCover"),
    }
}

fn output(value: Option<Value>) -> ToolOutput {
    match value {
        None => ToolOutput::None,
        Some(Value::String(text)) => ToolOutput::Text(text.into()),
        Some(other) => ToolOutput::Json(Kept::from(other)),
    }
}
