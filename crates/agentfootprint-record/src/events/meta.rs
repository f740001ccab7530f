use std::sync::Arc;

use footprint::ids::RuntimeStageId;
use footprint::value::{Object, Str, Value};

use super::field::{Field, Misfit, Shape, object, text};
use super::record::{optional, required};
use crate::conventions::ids;
use crate::recording::EventRunId;

/// What is true of a whole run (leg) and stands in the meta of each of its events. Everything an event says
/// about *whose* it is comes from here (EVT-1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFacts {
    /// The run's id.
    pub run_id: EventRunId,
    /// The runners that own the run, outermost first, as `<Kind>:<id>`.
    pub composition_path: Arc<[Str]>,
    /// From the run options.
    pub trace_id: Option<Str>,
    /// From the run options.
    pub span_id: Option<Str>,
    /// From the run options.
    pub correlation_id: Option<Str>,
    /// From the run options.
    pub session_id: Option<Str>,
    /// Only from an explicit identity.
    pub principal: Option<Str>,
    /// Only from an explicit identity.
    pub tenant: Option<Str>,
}

impl RunFacts {
    /// The facts of a run without options or identity.
    #[must_use]
    pub fn new<S: Into<Str>>(
        run_id: impl Into<EventRunId>,
        composition_path: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            run_id: run_id.into(),
            composition_path: composition_path.into_iter().map(Into::into).collect(),
            trace_id: None,
            span_id: None,
            correlation_id: None,
            session_id: None,
            principal: None,
            tenant: None,
        }
    }

    /// The facts of events a consumer emits outside any run (EVT-2).
    #[must_use]
    pub fn consumer() -> Self {
        Self::new(ids::CONSUMER_RUN_ID, [] as [Str; 0])
    }
}

/// When an event was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The wall clock, Unix milliseconds.
    pub wall_clock_ms: u64,
    /// Milliseconds since the run (leg) started.
    pub run_offset_ms: u64,
}

/// When, where and for whom an event was said (EVT §1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventMeta {
    /// Recorded as `wallClockMs`.
    pub wall_clock_ms: u64,
    /// Recorded as `runOffsetMs`.
    pub run_offset_ms: u64,
    /// Recorded as `runtimeStageId`: the executing stage, or a pseudo step.
    pub runtime_stage_id: RuntimeStageId,
    /// Recorded as `compositionPath`: the runners that own the run.
    pub composition_path: Arc<[Str]>,
    /// Recorded as `runId`: the run's (leg's) id.
    pub run_id: EventRunId,
    /// Recorded as `turnIndex`; reserved, payloads carry it.
    pub turn_index: Option<u64>,
    /// Recorded as `iterIndex`; reserved, payloads carry it.
    pub iter_index: Option<u64>,
    /// Recorded as `traceId`.
    pub trace_id: Option<Str>,
    /// Recorded as `spanId`.
    pub span_id: Option<Str>,
    /// Recorded as `correlationId`.
    pub correlation_id: Option<Str>,
    /// Recorded as `sessionId`.
    pub session_id: Option<Str>,
    /// Recorded as `principal`: only from an explicit identity.
    pub principal: Option<Str>,
    /// Recorded as `tenant`: only from an explicit identity.
    pub tenant: Option<Str>,
}

impl EventMeta {
    /// Builds the meta of an event: the one function that does (EVT-1).
    ///
    /// Without an origin the step is `unknown#0`, which no event meant to be joined may use (EVT-2); facts
    /// said outside a stage name a pseudo step of [`conventions::ids`](crate::conventions::ids).
    ///
    /// ```
    /// use agentfootprint_record::events::{EventMeta, Moment, RunFacts};
    /// let run = RunFacts::new("run-1-1", ["Agent:support"]);
    /// let meta = EventMeta::build(Some("sf-tools/compose#13".into()), Moment::default(), &run);
    /// assert_eq!(meta.subflow_path().collect::<Vec<_>>(), ["sf-tools"]);
    /// ```
    #[must_use]
    pub fn build(origin: Option<RuntimeStageId>, at: Moment, run: &RunFacts) -> Self {
        Self {
            wall_clock_ms: at.wall_clock_ms,
            run_offset_ms: at.run_offset_ms,
            runtime_stage_id: origin.unwrap_or_else(|| RuntimeStageId::parse(ids::UNKNOWN_STEP)),
            composition_path: run.composition_path.clone(),
            run_id: run.run_id.clone(),
            turn_index: None,
            iter_index: None,
            trace_id: run.trace_id.clone(),
            span_id: run.span_id.clone(),
            correlation_id: run.correlation_id.clone(),
            session_id: run.session_id.clone(),
            principal: run.principal.clone(),
            tenant: run.tenant.clone(),
        }
    }

    /// The meta of an event a consumer emits outside any run: step `consumer-emit#0`, run
    /// `consumer-scope`, offset 0 (EVT-2).
    #[must_use]
    pub fn consumer(wall_clock_ms: u64) -> Self {
        let at = Moment { wall_clock_ms, run_offset_ms: 0 };
        Self::build(Some(RuntimeStageId::parse(ids::CONSUMER_EMIT)), at, &RunFacts::consumer())
    }

    /// The segments before the local stage id; none at the root.
    pub fn subflow_path(&self) -> impl Iterator<Item = &str> {
        // A pseudo step such as `flow/ask#paused` has no index for the engine, but a path all the same.
        let stage = self.runtime_stage_id.stage_id();
        let stage = stage.split_once('#').map_or(stage, |(stage, _)| stage);
        stage.rsplit_once('/').into_iter().flat_map(|(path, _)| path.split('/'))
    }
}

const LIST_OF_TEXTS: Shape = <Vec<Str> as Field>::SHAPE;

impl Field for EventMeta {
    const SHAPE: Shape = Shape::Record(META_FIELDS);

    fn to_value(&self) -> Value {
        let mut meta = Object::new();
        meta.insert("wallClockMs", Value::from(self.wall_clock_ms));
        meta.insert("runOffsetMs", Value::from(self.run_offset_ms));
        meta.insert("runtimeStageId", Value::from(self.runtime_stage_id.to_string()));
        let path = self.subflow_path().map(|segment| Value::String(Str::from(segment))).collect();
        meta.insert("subflowPath", Value::Array(path));
        let owners = self.composition_path.iter().map(Field::to_value).collect();
        meta.insert("compositionPath", Value::Array(owners));
        meta.insert("runId", Value::String(self.run_id.as_shared().clone()));
        let counts = [("turnIndex", self.turn_index), ("iterIndex", self.iter_index)];
        for (name, count) in counts {
            if let Some(count) = count {
                meta.insert(name, Value::from(count));
            }
        }
        let texts = [
            ("traceId", &self.trace_id),
            ("spanId", &self.span_id),
            ("correlationId", &self.correlation_id),
            ("sessionId", &self.session_id),
            ("principal", &self.principal),
            ("tenant", &self.tenant),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                meta.insert(name, text.to_value());
            }
        }
        Value::Object(meta)
    }

    fn from_value(value: &Value) -> Result<Self, Misfit> {
        let meta = object(value)?;
        let step = meta.get("runtimeStageId").ok_or_else(|| Misfit::missing("runtimeStageId", "a string"))?;
        let step = text(step).map_err(|misfit| misfit.under("runtimeStageId"))?;
        Ok(Self {
            wall_clock_ms: required(meta, "wallClockMs")?,
            run_offset_ms: required(meta, "runOffsetMs")?,
            runtime_stage_id: RuntimeStageId::parse(step),
            composition_path: optional::<Vec<Str>>(meta, "compositionPath")?.unwrap_or_default().into(),
            run_id: EventRunId::new(required::<Str>(meta, "runId")?),
            turn_index: optional(meta, "turnIndex")?,
            iter_index: optional(meta, "iterIndex")?,
            trace_id: optional(meta, "traceId")?,
            span_id: optional(meta, "spanId")?,
            correlation_id: optional(meta, "correlationId")?,
            session_id: optional(meta, "sessionId")?,
            principal: optional(meta, "principal")?,
            tenant: optional(meta, "tenant")?,
        })
    }
}

use super::field::{Class, FieldInfo, Need};

const fn meta_field(name: &'static str, need: Need, shape: Shape, class: Class) -> FieldInfo {
    FieldInfo { name, need, shape, class }
}

/// The fields of meta, in recorded order.
pub const META_FIELDS: &[FieldInfo] = &[
    meta_field("wallClockMs", Need::Required, Shape::Count, Class::Structure),
    meta_field("runOffsetMs", Need::Required, Shape::Count, Class::Structure),
    meta_field("runtimeStageId", Need::Required, Shape::Text, Class::Structure),
    meta_field("subflowPath", Need::Required, LIST_OF_TEXTS, Class::Structure),
    meta_field("compositionPath", Need::Required, LIST_OF_TEXTS, Class::Structure),
    meta_field("runId", Need::Required, Shape::Text, Class::Structure),
    meta_field("turnIndex", Need::Optional, Shape::Count, Class::Structure),
    meta_field("iterIndex", Need::Optional, Shape::Count, Class::Structure),
    meta_field("traceId", Need::Optional, Shape::Text, Class::Structure),
    meta_field("spanId", Need::Optional, Shape::Text, Class::Structure),
    meta_field("correlationId", Need::Optional, Shape::Text, Class::Structure),
    meta_field("sessionId", Need::Optional, Shape::Text, Class::Structure),
    meta_field("principal", Need::Optional, Shape::Text, Class::Content),
    meta_field("tenant", Need::Optional, Shape::Text, Class::Content),
];
