//! Builds the charts of a scenario through the public builder.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use footprint::chart::{
    ArrayMergeMode, Branch, Chart, ChartBuilder, Contract, Decider, FanOut, ForEach, ForkChild, Mount, Retry,
    Selector, Stage, Step, SubflowEnd,
};
use footprint::decide::{DefaultBranch, Rule, WhereFilter, decide, select};
use footprint::error::StageError;
use footprint::scope::{Scope, StateView};
use footprint::value::{Object, Value as Kept};
use serde_json::Value;

use super::behave::{Behaviour, InStage, thrown};
use crate::golden::expr::{Sources, eval, holds};
use crate::golden::text;

type Problem = String;

/// Builds charts by name, each once.
pub(super) struct Charts {
    declared: Value,
    built: Arc<Mutex<HashMap<String, Chart>>>,
}

impl Charts {
    pub(super) fn of(scenario: &Value) -> Self {
        Self { declared: scenario.get("charts").cloned().unwrap_or_default(), built: Arc::default() }
    }

    pub(super) fn chart(&self, name: &str) -> Result<Chart, Problem> {
        if let Some(chart) = self.built.lock().ok().and_then(|built| built.get(name).cloned()) {
            return Ok(chart);
        }
        let declared = self.declared.get(name).ok_or_else(|| format!("no chart {name}"))?;
        let chart = self.build(declared)?;
        if let Ok(mut built) = self.built.lock() {
            built.insert(name.to_owned(), chart.clone());
        }
        Ok(chart)
    }

    fn build(&self, declared: &Value) -> Result<Chart, Problem> {
        let stages = declared.get("stages").and_then(Value::as_array).cloned().unwrap_or_default();
        let (first, rest) = stages.split_first().ok_or("a chart without stages")?;
        let mut builder = match kind(first).as_str() {
            "decider" => Chart::builder(self.decider(first)?),
            "selector" => Chart::builder(self.selector(first)?),
            "mount" => Chart::builder(self.mount(first)?),
            "forEach" => Chart::builder(self.for_each(first)?),
            _ => Chart::builder(stage(first)),
        };
        for node in rest {
            builder = self.add(builder, node)?;
        }
        if let Some(contract) = declared.get("contract") {
            builder = builder.contract(contract_of(contract));
        }
        builder.build().map_err(|errors| errors.to_string())
    }

    fn add(&self, builder: ChartBuilder, node: &Value) -> Result<ChartBuilder, Problem> {
        Ok(match kind(node).as_str() {
            "decider" => builder.decide(self.decider(node)?),
            "selector" => builder.select(self.selector(node)?),
            "mount" => builder.mount(self.mount(node)?),
            "forEach" => builder.for_each(self.for_each(node)?),
            "fork" => {
                let children = list(node, "children")
                    .iter()
                    .map(|child| match child.get("mount") {
                        Some(_) => self.mount(child).map(ForkChild::from),
                        None => Ok(ForkChild::from(stage(child))),
                    })
                    .collect::<Result<Vec<_>, _>>()?;
                builder.fork(children, fan_out(node))
            }
            "loopTo" => builder.loop_to(text(node, "target")),
            _ => builder.then(stage(node)),
        })
    }

    fn branches(&self, node: &Value) -> Result<Vec<Branch>, Problem> {
        list(node, "branches")
            .iter()
            .map(|branch| {
                let made = match branch.get("mount") {
                    Some(_) => Branch::mount(self.mount(branch)?),
                    None => Branch::stage(stage(branch)),
                };
                Ok(match branch.get("loopTo").and_then(Value::as_str) {
                    Some(target) => made.loop_to(target),
                    None => made,
                })
            })
            .collect()
    }

    fn decider(&self, node: &Value) -> Result<Decider, Problem> {
        let behaviour = Behaviour::of(node.get("do"), None);
        let node_data = Arc::new(node.clone());
        let mut decider = Decider::new(text(node, "id"), move |scope: Scope| {
            let (behaviour, node) = (behaviour.clone(), Arc::clone(&node_data));
            async move {
                behaviour.run(scope.clone(), None).await?;
                if let Some(declared) = node.get("decide") {
                    let default = declared.get("default").and_then(Value::as_str).map(str::to_owned);
                    let default =
                        default.map_or_else(DefaultBranch::none, |id| DefaultBranch::from(id.as_str()));
                    return Ok(decide(&scope, &rules(declared)?, default)?);
                }
                Ok(footprint::decide::Decision::from(chosen(&node, &scope)?.unwrap_or_default()))
            }
        })
        .named(text(node, "name"));
        decider = described(node, decider, Decider::describe);
        for branch in self.branches(node)? {
            decider = decider.branch(branch);
        }
        if let Some(default) = node.get("default").and_then(Value::as_str) {
            decider = decider.default_branch(default);
        }
        Ok(decider)
    }

    fn selector(&self, node: &Value) -> Result<Selector, Problem> {
        let behaviour = Behaviour::of(node.get("do"), None);
        let node_data = Arc::new(node.clone());
        let mut selector = Selector::new(text(node, "id"), move |scope: Scope| {
            let (behaviour, node) = (behaviour.clone(), Arc::clone(&node_data));
            async move {
                behaviour.run(scope.clone(), None).await?;
                if let Some(declared) = node.get("select") {
                    return Ok(select(&scope, &rules(declared)?));
                }
                let sources = InStage { scope: &scope, env: None, answer: None };
                let ids = eval(node.get("choose").unwrap_or(&Value::Null), &sources).map_err(thrown)?;
                let ids: Vec<String> = match ids {
                    Some(Value::Array(ids)) => {
                        ids.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect()
                    }
                    Some(Value::String(id)) => vec![id],
                    _ => Vec::new(),
                };
                Ok(footprint::decide::Selection::from(ids))
            }
        })
        .named(text(node, "name"))
        .fan_out(fan_out(node));
        selector = described(node, selector, Selector::describe);
        for branch in self.branches(node)? {
            selector = selector.branch(branch);
        }
        Ok(selector)
    }

    fn mount(&self, node: &Value) -> Result<Mount, Problem> {
        let chart = self.chart(&text(node, "mount"))?;
        let id = text(node, "id");
        let mut mount = match node.get("lazy").and_then(Value::as_bool) {
            Some(true) => Mount::lazy(id, move || chart.clone()),
            _ => Mount::of(id, &chart),
        }
        .named(text(node, "name"));
        mount = described(node, mount, Mount::describe);
        if let Some(map) = node.get("input").cloned() {
            mount =
                mount.input(move |parent: StateView| mapped(&map, &Mapper { parent: &parent, sub: None }));
        }
        if let Some(map) = node.get("output").cloned() {
            mount = mount.output_with_parent(move |end: SubflowEnd, parent: StateView| {
                let sub = end
                    .output
                    .as_ref()
                    .map_or_else(|| Kept::Object(end.state.to_object()), Kept::clone)
                    .to_json();
                mapped(&map, &Mapper { parent: &parent, sub: Some(sub) })
            });
        }
        if node.get("arrayMerge").and_then(Value::as_str) == Some("replace") {
            mount = mount.array_merge(ArrayMergeMode::Replace);
        }
        Ok(mount.propagate_break(node.get("propagateBreak").and_then(Value::as_bool).unwrap_or_default()))
    }

    fn for_each(&self, node: &Value) -> Result<ForEach, Problem> {
        let items = node.get("items").cloned().unwrap_or_default();
        let chart = self.chart(&text(node, "branch"))?;
        let for_each = ForEach::new(
            text(node, "id"),
            move |scope: Scope| {
                let sources = InStage { scope: &scope, env: None, answer: None };
                match eval(&items, &sources).map_err(thrown)? {
                    Some(Value::Array(items)) => Ok(items),
                    _ => Ok(Vec::new()),
                }
            },
            move |_item: &Value, _index| chart.clone(),
        )
        .named(text(node, "name"))
        .max_branches(node.get("maxBranches").and_then(Value::as_u64).unwrap_or_default() as usize)
        .into(text(node, "into").as_str())
        .fan_out(fan_out(node));
        Ok(described(node, for_each, ForEach::describe))
    }
}

struct Mapper<'a> {
    parent: &'a StateView,
    sub: Option<Value>,
}

impl Sources for Mapper<'_> {
    fn state(&self, root: &str) -> Option<Value> {
        self.parent.value(root).map(|value| value.to_json())
    }
    fn sub(&self) -> Option<Value> {
        self.sub.clone()
    }
}

fn mapped(map: &Value, sources: &dyn Sources) -> Result<Object, StageError> {
    let mut out = Object::new();
    for (key, expression) in map.as_object().into_iter().flatten() {
        if let Some(value) = eval(expression, sources).map_err(thrown)? {
            out.insert(key.as_str(), Kept::from(value));
        }
    }
    Ok(out)
}

fn stage(node: &Value) -> Stage {
    let behaviour = Behaviour::of(node.get("do"), node.get("returns"));
    let id = text(node, "id");
    let returning = {
        let behaviour = behaviour.clone();
        move |scope: Scope| {
            let behaviour = behaviour.clone();
            async move { Ok(behaviour.run(scope, None).await?.unwrap_or(Kept::Null)) }
        }
    };
    let silent = move |scope: Scope| {
        let behaviour = behaviour.clone();
        async move { behaviour.run(scope, None).await.map(drop) }
    };
    let mut stage = match (kind(node).as_str(), node.get("returns").is_some()) {
        ("pausable", _) => pausable(node),
        ("streaming", true) => Stage::streaming(id, returning),
        ("streaming", false) => Stage::streaming(id, silent),
        (_, true) => Stage::new(id, returning),
        (_, false) => Stage::new(id, silent),
    };
    if let Some(stream) = node.get("streamId").and_then(Value::as_str) {
        stage = stage.stream_id(stream);
    }
    if let Some(name) = node.get("name").and_then(Value::as_str) {
        stage = stage.named(name);
    }
    for tag in list(node, "tags") {
        stage = stage.tag(tag.as_str().unwrap_or_default());
    }
    if let Some(retry) = node.get("retry") {
        stage = stage.retry(retry_of(retry));
    }
    described(node, stage, Stage::describe)
}

fn pausable(node: &Value) -> Stage {
    let before = Behaviour::of(node.get("do"), None);
    let after = Behaviour::of(node.get("resume"), None);
    let pause = Arc::new(node.get("pause").cloned().unwrap_or_default());
    Stage::pausable(
        text(node, "id"),
        move |scope: Scope| {
            let (before, pause) = (before.clone(), Arc::clone(&pause));
            async move {
                before.run(scope.clone(), None).await?;
                let sources = InStage { scope: &scope, env: None, answer: None };
                let pauses = match pause.get("if") {
                    Some(condition) => holds(condition, &sources).map_err(thrown)?,
                    None => true,
                };
                if !pauses {
                    return Ok(Step::Continue);
                }
                let payload = eval(pause.get("payload").unwrap_or(&Value::Null), &sources).map_err(thrown)?;
                Ok(Step::Pause(Kept::from(payload.unwrap_or(Value::Null))))
            }
        },
        move |scope: Scope, answer: Kept| {
            let after = after.clone();
            async move { after.run(scope, Some(answer.to_json())).await.map(drop) }
        },
    )
}

fn chosen(node: &Value, scope: &Scope) -> Result<Option<String>, StageError> {
    let sources = InStage { scope, env: None, answer: None };
    let id = eval(node.get("choose").unwrap_or(&Value::Null), &sources).map_err(thrown)?;
    Ok(id.and_then(|id| id.as_str().map(str::to_owned)))
}

fn rules(declared: &Value) -> Result<Vec<Rule>, StageError> {
    list(declared, "rules")
        .iter()
        .map(|declared| {
            let then = text(declared, "then");
            let rule = match declared.get("fn").cloned() {
                Some(condition) => Rule::test(
                    move |reader: &footprint::decide::ScopeReader<'_>| {
                        holds(&condition, &InPredicate(reader)).map_err(|thrown| thrown.0)
                    },
                    then,
                ),
                None => {
                    let filter = Kept::from(declared.get("when").cloned().unwrap_or_default());
                    Rule::when(WhereFilter::from_value(&filter).map_err(StageError::from)?, then)
                }
            };
            Ok(match declared.get("label").and_then(Value::as_str) {
                Some(label) => rule.label(label),
                None => rule,
            })
        })
        .collect()
}

struct InPredicate<'a>(&'a footprint::decide::ScopeReader<'a>);

impl Sources for InPredicate<'_> {
    fn state(&self, root: &str) -> Option<Value> {
        self.0.value(root).ok().flatten().map(|value| value.to_json())
    }
}

fn retry_of(declared: &Value) -> Retry {
    let attempts = declared.get("attempts").and_then(Value::as_u64).unwrap_or(1) as u32;
    let mut retry = Retry::attempts(attempts);
    if let Some(backoff) = declared.get("backoffMs").and_then(Value::as_u64) {
        retry = retry.fixed(Duration::from_millis(backoff));
    }
    if let Some(name) = declared.get("retryOnName").and_then(Value::as_str).map(str::to_owned) {
        retry = retry.retry_on(move |error| error.name() == name);
    }
    retry
}

fn contract_of(declared: &Value) -> Contract {
    let mut contract = Contract::new();
    if let Some(schema) = declared.get("input") {
        contract = contract.input_schema(Kept::from(schema.clone()));
    }
    if let Some(schema) = declared.get("output") {
        contract = contract.output_schema(Kept::from(schema.clone()));
    }
    if let Some(map) = declared.get("mapper").cloned() {
        contract = contract.mapper(move |state: StateView| {
            mapped(&map, &Mapper { parent: &state, sub: None }).map(Kept::Object)
        });
    }
    contract
}

fn described<T>(node: &Value, made: T, describe: impl FnOnce(T, String) -> T) -> T {
    match node.get("description").and_then(Value::as_str) {
        Some(description) => describe(made, description.to_owned()),
        None => made,
    }
}

fn fan_out(node: &Value) -> FanOut {
    if node.get("failFast").and_then(Value::as_bool).unwrap_or_default() {
        FanOut::FailFast
    } else {
        FanOut::AllSettled
    }
}

fn kind(node: &Value) -> String {
    text(node, "type")
}

fn list<'a>(node: &'a Value, key: &str) -> &'a [Value] {
    node.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
