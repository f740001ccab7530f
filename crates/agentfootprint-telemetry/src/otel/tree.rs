//! The spans of one run: a root, the agents inside it, their iterations, and in those the calls of models and tools.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime};

use agentfootprint_record::events::field::Field;
use agentfootprint_record::events::words::CompositionStatus;
use agentfootprint_record::events::{Event, payload};
use footprint::value::Value;
use opentelemetry::global::BoxedTracer;
use opentelemetry::trace::{
    SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceId,
    TraceState, Tracer as _,
};
use opentelemetry::{Context, KeyValue};

use super::OtelOptions;
use super::bounds::{count, kind, text, word, words};

/// An open span, as the parent of others.
#[derive(Clone)]
struct Open(Context);

impl Open {
    fn set(&self, attribute: KeyValue) {
        self.0.span().set_attribute(attribute);
    }

    fn fail(&self) {
        // The message of an error is content.
        self.0.span().set_status(Status::error(""));
        self.set(KeyValue::new("error.type", "_OTHER"));
    }

    fn end(&self, at: SystemTime) {
        self.0.span().end_with_timestamp(at);
    }
}

/// One agent inside the run: where it is mounted, and what of it is open.
struct Scope {
    path: Vec<String>,
    /// Its own span; the agent a run consists of has the root.
    span: Option<Open>,
    iterations: BTreeMap<u64, Open>,
    /// The model is known: `gen_ai.request.model` was filled in.
    modelled: bool,
}

/// What ends the root of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Agent,
    Call,
    Composition,
}

pub(super) struct Tree {
    root: Open,
    owner: Owner,
    scopes: Vec<Scope>,
    /// By step: a step makes one model call at a time.
    chats: HashMap<String, Open>,
    /// By agent and call id: two agents may choose the same id.
    tools: HashMap<(usize, String), Open>,
    /// Compositions entered and not left.
    depth: usize,
    input: u64,
    output: u64,
    passes: u64,
    last: SystemTime,
}

pub(super) fn moment(event: &Event) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(event.meta.wall_clock_ms)
}

/// The parent of a root: the span the caller named in the run's options, else the one the run was started in, else none.
fn parent(event: &Event) -> Context {
    let ids = event.meta.trace_id.as_deref().zip(event.meta.span_id.as_deref());
    let ids = ids.and_then(|(trace, span)| TraceId::from_hex(trace).ok().zip(SpanId::from_hex(span).ok()));
    if let Some((trace, span)) = ids {
        let remote = SpanContext::new(trace, span, TraceFlags::SAMPLED, true, TraceState::default());
        if remote.is_valid() {
            return Context::new().with_remote_span_context(remote);
        }
    }
    let current = Context::current();
    if current.has_active_span() { current } else { Context::new() }
}

/// Starts spans of one sink.
pub(super) struct Starter<'a> {
    pub(super) tracer: &'a BoxedTracer,
    pub(super) options: &'a OtelOptions,
}

impl Starter<'_> {
    fn start(
        &self,
        name: impl Into<Cow<'static, str>>,
        kind: SpanKind,
        at: SystemTime,
        attributes: Vec<KeyValue>,
        parent: &Context,
    ) -> Open {
        let builder =
            SpanBuilder::from_name(name).with_kind(kind).with_start_time(at).with_attributes(attributes);
        let span = self.tracer.build_with_context(builder, parent);
        Open(parent.with_span(span))
    }

    fn agent(&self, name: &str) -> String {
        if self.options.gen_ai_span_names { text(&format!("invoke_agent {name}")) } else { text(name) }
    }

    fn tool(&self, name: &str) -> String {
        text(&if self.options.gen_ai_span_names {
            format!("execute_tool {name}")
        } else {
            format!("tool:{name}")
        })
    }

    fn chat(&self, model: &str) -> Cow<'static, str> {
        if self.options.gen_ai_span_names { text(&format!("chat {model}")).into() } else { "llm".into() }
    }
}

impl Tree {
    /// The root, from the first event of a run.
    pub(super) fn open(starter: &Starter<'_>, event: &Event) -> Self {
        let meta = &event.meta;
        let service = &*starter.options.service_name;
        let (owner, name) = match meta.composition_path.first().and_then(|owner| owner.split_once(':')) {
            Some(("Agent", id)) => (Owner::Agent, id),
            Some(("LLMCall", id)) => (Owner::Call, id),
            Some((_, id)) => (Owner::Composition, id),
            None => (Owner::Agent, service),
        };
        let mut attributes = vec![
            word("service.name", service),
            word("gen_ai.operation.name", "invoke_agent"),
            word("gen_ai.agent.name", name),
            word("agentfootprint.run.id", meta.run_id.as_str()),
            count("agentfootprint.turn.index", meta.turn_index.unwrap_or_default()),
        ];
        attributes.extend(meta.principal.as_deref().map(|id| word("agentfootprint.principal.id", id)));
        attributes.extend(meta.tenant.as_deref().map(|id| word("agentfootprint.tenant.id", id)));
        let at = moment(event);
        let name = starter.agent(service);
        let root = starter.start(name, SpanKind::Internal, at, attributes, &parent(event));
        Self {
            root,
            owner,
            scopes: Vec::new(),
            chats: HashMap::new(),
            tools: HashMap::new(),
            depth: 0,
            input: 0,
            output: 0,
            passes: 0,
            last: at,
        }
    }

    pub(super) fn saw(&mut self, event: &Event) {
        self.last = self.last.max(moment(event));
    }

    /// The innermost agent the event was said in.
    fn scope_of(&self, event: &Event) -> Option<usize> {
        let path: Vec<&str> = event.meta.subflow_path().collect();
        let inside = |scope: &Scope| {
            scope.path.len() <= path.len() && scope.path.iter().zip(&path).all(|(own, at)| own == at)
        };
        (0..self.scopes.len())
            .filter(|at| self.scopes.get(*at).is_some_and(inside))
            .max_by_key(|at| self.scopes.get(*at).map_or(0, |scope| scope.path.len()))
    }

    fn scope_span(&self, scope: Option<usize>) -> &Open {
        scope.and_then(|at| self.scopes.get(at)).and_then(|scope| scope.span.as_ref()).unwrap_or(&self.root)
    }

    /// The open iteration of an agent: that of the index, else the latest.
    fn iteration(&self, scope: Option<usize>, index: Option<u64>) -> &Open {
        let open = scope.and_then(|at| self.scopes.get(at)).map(|scope| &scope.iterations);
        let named = open.zip(index).and_then(|(open, index)| open.get(&index));
        named
            .or_else(|| open.and_then(|open| open.values().next_back()))
            .unwrap_or_else(|| self.scope_span(scope))
    }

    pub(super) fn turn_start(
        &mut self,
        starter: &Starter<'_>,
        event: &Event,
        turn: &payload::AgentTurnStart,
    ) {
        let path: Vec<String> = event.meta.subflow_path().map(str::to_owned).collect();
        let index = count("agentfootprint.turn.index", turn.turn_index);
        if path.is_empty() {
            self.root.set(index);
            self.scopes.push(Scope { path, span: None, iterations: BTreeMap::new(), modelled: false });
            return;
        }
        let outer = self.scope_of(event);
        let name = path.last().map_or("", String::as_str);
        let attributes = vec![
            word("gen_ai.operation.name", "invoke_agent"),
            word("gen_ai.agent.name", name),
            word("agentfootprint.run.id", event.meta.run_id.as_str()),
            index,
        ];
        let parent = self.iteration(outer, None).0.clone();
        let span = starter.start(starter.agent(name), SpanKind::Internal, moment(event), attributes, &parent);
        self.scopes.push(Scope { path, span: Some(span), iterations: BTreeMap::new(), modelled: false });
    }

    /// True when the run is over.
    pub(super) fn turn_end(&mut self, event: &Event, turn: &payload::AgentTurnEnd) -> bool {
        let at = moment(event);
        self.passes += turn.iteration_count;
        let Some(ended) = self.scope_of(event) else { return self.owner == Owner::Agent };
        let span = self.scope_span(Some(ended)).clone();
        span.set(count("gen_ai.usage.input_tokens", turn.total_input_tokens));
        span.set(count("gen_ai.usage.output_tokens", turn.total_output_tokens));
        span.set(count("agentfootprint.iteration.count", turn.iteration_count));
        self.close_scope(ended, at)
    }

    fn close_scope(&mut self, ended: usize, at: SystemTime) -> bool {
        let (mine, other) =
            std::mem::take(&mut self.tools).into_iter().partition(|((scope, _), _)| *scope == ended);
        self.tools = other;
        let mine: HashMap<(usize, String), Open> = mine;
        mine.values().for_each(|tool| tool.end(at));
        let Some(scope) = self.scopes.get_mut(ended) else { return false };
        std::mem::take(&mut scope.iterations).values().for_each(|open| open.end(at));
        match scope.span.take() {
            Some(span) => {
                span.end(at);
                // The place stays, so that the indices of others do; nothing is inside it any more.
                scope.path = vec!["\u{0}".to_owned()];
                false
            }
            None => self.owner == Owner::Agent,
        }
    }

    pub(super) fn iteration_start(
        &mut self,
        starter: &Starter<'_>,
        event: &Event,
        start: &payload::AgentIterationStart,
    ) {
        let scope = self.scope_of(event);
        let attributes = vec![count("iteration.number", start.iter_index)];
        let parent = self.scope_span(scope).0.clone();
        let name = format!("iteration:{}", start.iter_index);
        let open = starter.start(name, SpanKind::Internal, moment(event), attributes, &parent);
        let Some(scope) = scope.and_then(|at| self.scopes.get_mut(at)) else {
            open.end(moment(event));
            return;
        };
        if let Some(unfinished) = scope.iterations.insert(start.iter_index, open) {
            unfinished.end(moment(event));
        }
    }

    pub(super) fn iteration_end(&mut self, event: &Event, end: &payload::AgentIterationEnd) {
        let scope = self.scope_of(event).and_then(|at| self.scopes.get_mut(at));
        if let Some(open) = scope.and_then(|scope| scope.iterations.remove(&end.iter_index)) {
            open.set(count("agentfootprint.tool_call.count", end.tool_call_count));
            open.end(moment(event));
        }
    }

    pub(super) fn llm_start(
        &mut self,
        starter: &Starter<'_>,
        event: &Event,
        start: &payload::StreamLlmStart,
    ) {
        let scope = self.scope_of(event);
        let model = word("gen_ai.request.model", &start.model);
        let provider = word("gen_ai.provider.name", &start.provider);
        let known = scope
            .and_then(|at| self.scopes.get_mut(at))
            .map(|scope| std::mem::replace(&mut scope.modelled, true));
        if !known.unwrap_or_default() {
            let span = self.scope_span(scope);
            span.set(provider.clone());
            span.set(model.clone());
        }
        let mut attributes = vec![word("gen_ai.operation.name", "chat"), model, provider];
        attributes.extend(start.temperature.map(|value| KeyValue::new("gen_ai.request.temperature", value)));
        let parent = self.iteration(scope, Some(start.iteration)).0.clone();
        let name = starter.chat(&start.model);
        let open = starter.start(name, SpanKind::Client, moment(event), attributes, &parent);
        if let Some(unfinished) = self.chats.insert(event.meta.runtime_stage_id.to_string(), open) {
            unfinished.end(moment(event));
        }
    }

    /// True when the run is over.
    pub(super) fn llm_end(&mut self, event: &Event, end: &payload::StreamLlmEnd) -> bool {
        self.input += end.usage.input;
        self.output += end.usage.output;
        if let Some(open) = self.chats.remove(&event.meta.runtime_stage_id.to_string()) {
            open.set(count("gen_ai.usage.input_tokens", end.usage.input));
            open.set(count("gen_ai.usage.output_tokens", end.usage.output));
            if let Some(read) = end.usage.cache_read {
                open.set(count("gen_ai.usage.cache_read.input_tokens", read));
            }
            if let Some(written) = end.usage.cache_write {
                open.set(count("gen_ai.usage.cache_creation.input_tokens", written));
            }
            open.set(words("gen_ai.response.finish_reasons", [&*end.stop_reason]));
            if let Some(id) = &end.provider_response_ref {
                open.set(word("gen_ai.response.id", id));
            }
            open.end(moment(event));
        }
        self.owner == Owner::Call
    }

    pub(super) fn tool_start(
        &mut self,
        starter: &Starter<'_>,
        event: &Event,
        start: &payload::StreamToolStart,
    ) {
        let scope = self.scope_of(event);
        let mut attributes = vec![
            word("tool.name", &start.tool_name),
            word("gen_ai.operation.name", "execute_tool"),
            word("gen_ai.tool.name", &start.tool_name),
            word("gen_ai.tool.call.id", &start.tool_call_id),
        ];
        let protocol = start.protocol.as_ref().map(Field::to_value);
        let protocol = protocol.as_ref().and_then(Value::as_str);
        attributes.extend(protocol.map(|protocol| word("agentfootprint.tool.protocol", protocol)));
        let keys = start.args.as_object().into_iter().flat_map(|args| args.iter().map(|(key, _)| &**key));
        attributes.push(words("agentfootprint.tool.args.keys", keys));
        let parent = self.iteration(scope, event.meta.iter_index).0.clone();
        let name = starter.tool(&start.tool_name);
        let open = starter.start(name, SpanKind::Internal, moment(event), attributes, &parent);
        let key = (scope.unwrap_or(usize::MAX), start.tool_call_id.to_string());
        if let Some(unfinished) = self.tools.insert(key, open) {
            unfinished.end(moment(event));
        }
    }

    pub(super) fn tool_end(&mut self, event: &Event, end: &payload::StreamToolEnd) {
        let key = (self.scope_of(event).unwrap_or(usize::MAX), end.tool_call_id.to_string());
        let Some(open) = self.tools.remove(&key) else { return };
        open.set(word("agentfootprint.tool.result.type", kind(end.result.as_ref())));
        if end.error == Some(true) {
            open.fail();
        }
        open.end(moment(event));
    }

    pub(super) fn entered(&mut self) {
        self.depth += 1;
    }

    /// True when the run is over. One that failed is not: its `error.fatal` is still to come.
    pub(super) fn left(&mut self, exit: &payload::CompositionExit) -> bool {
        self.depth = self.depth.saturating_sub(1);
        self.depth == 0 && self.owner == Owner::Composition && exit.status != CompositionStatus::Err
    }

    pub(super) fn cost(&self, event: &Event, tick: &payload::CostTick) {
        let spent = KeyValue::new("cost.cumulative_usd", tick.cumulative.estimated_usd);
        let step = event.meta.runtime_stage_id.to_string();
        let inner = self.chats.get(&step).unwrap_or_else(|| self.iteration(self.scope_of(event), None));
        inner.set(spent.clone());
        self.root.set(spent);
    }

    /// A span event, at the innermost open span of the agent it was said in.
    pub(super) fn note(&self, event: &Event, attributes: Vec<KeyValue>) {
        self.note_as(event.name_str().to_owned(), event, attributes);
    }

    pub(super) fn note_as(
        &self,
        name: impl Into<Cow<'static, str>>,
        event: &Event,
        attributes: Vec<KeyValue>,
    ) {
        let open = self.iteration(self.scope_of(event), event.meta.iter_index);
        open.0.span().add_event_with_timestamp(name, moment(event), attributes);
    }

    /// A span event of the run itself, at the time of its latest event.
    pub(super) fn note_root(&self, name: &'static str, attributes: Vec<KeyValue>) {
        self.root.0.span().add_event_with_timestamp(name, self.last, attributes);
    }

    /// The run failed: whatever is open failed with it.
    pub(super) fn fail(&self) {
        self.root.fail();
        let iterations = self.scopes.iter().flat_map(|scope| scope.iterations.values().chain(&scope.span));
        iterations.chain(self.chats.values()).chain(self.tools.values()).for_each(Open::fail);
    }

    /// Ends what is open, the innermost first.
    pub(super) fn close(mut self) {
        let at = self.last;
        self.chats.values().chain(self.tools.values()).for_each(|open| open.end(at));
        for scope in self.scopes.iter().rev() {
            scope.iterations.values().chain(&scope.span).for_each(|open| open.end(at));
        }
        if self.owner != Owner::Agent {
            self.root.set(count("gen_ai.usage.input_tokens", std::mem::take(&mut self.input)));
            self.root.set(count("gen_ai.usage.output_tokens", std::mem::take(&mut self.output)));
            self.root.set(count("agentfootprint.iteration.count", self.passes));
        }
        self.root.end(at);
    }
}
