//! The one hook table (OBS-29). Everything that must know all hooks is generated from it: the [`Hook`]
//! enum, the [`Interest`] bit set, the [`Recorder`] trait with its default methods, the owned
//! [`Payload`] and the way it is delivered. A hook added anywhere else does not compile.

use std::any::Any;
use std::fmt;
use std::ops::{BitOr, BitOrAssign};

use super::events::*;
use super::events_json::EventJson;
use super::{Delivery, EventCx, HookResult, OwnedCx, RecorderBundle, RunLeg};
use crate::ids::RunId;
use crate::value::Value;

/// Which family of events a hook belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    /// Data: reads, writes, commits.
    Scope,
    /// Control: where the walk goes.
    Flow,
    /// Author-emitted events.
    Emit,
}

impl Channel {
    /// The JSON word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scope => "scope",
            Self::Flow => "flow",
            Self::Emit => "emit",
        }
    }
}

/// Calls `$callback!` with the table: `(Variant, method, "jsonName", Channel, PayloadType, "doc")`. The large payloads of rare
/// events are `boxed`: they would make room for themselves in every event.
macro_rules! hook_table {
    ($callback:ident) => {
        $callback! {
            (Read, on_read, "onRead", Scope, ReadEvent, "Each tracked read."),
            (Write, on_write, "onWrite", Scope, WriteEvent, "Each write, before its commit."),
            (Commit, on_commit, "onCommit", Scope, CommitEvent, "Each recorded bundle."),
            (StageStart, on_stage_start, "onStageStart", Scope, StageStartEvent, "Each attempt."),
            (StageEnd, on_stage_end, "onStageEnd", Scope, StageEndEvent, "Each attempt whose function returned."),
            (ScopeError, on_scope_error, "onError", Scope, ScopeErrorEvent, "Another recorder failed.", boxed),
            (ScopePause, on_scope_pause, "onPause", Scope, ScopePauseEvent, "A pausable function returned a pause."),
            (ScopeResume, on_scope_resume, "onResume", Scope, ScopeResumeEvent, "A step is resumed."),
            (StageExecuted, on_stage_executed, "onStageExecuted", Flow, StageExecutedEvent, "A step completed its work."),
            (Next, on_next, "onNext", Flow, NextEvent, "A static next edge is followed."),
            (Decision, on_decision, "onDecision", Flow, DecisionEvent, "A decider resolved its branch.", boxed),
            (Fork, on_fork, "onFork", Flow, ForkEvent, "Children start."),
            (Selected, on_selected, "onSelected", Flow, SelectedEvent, "A selector resolved."),
            (SubflowEntry, on_subflow_entry, "onSubflowEntry", Flow, SubflowEntryEvent, "A mount is entered."),
            (SubflowExit, on_subflow_exit, "onSubflowExit", Flow, SubflowExitEvent, "A mount is left."),
            (SubflowRegistered, on_subflow_registered, "onSubflowRegistered", Flow, SubflowRegisteredEvent, "A subflow was registered at run time."),
            (Loop, on_loop, "onLoop", Flow, LoopEvent, "A back edge is taken."),
            (Throttled, on_throttled, "onThrottled", Flow, ThrottledEvent, "A failing child the throttle classifier names.", boxed),
            (Break, on_break, "onBreak", Flow, BreakEvent, "A stage stopped its chart."),
            (Error, on_flow_error, "onError", Flow, ErrorEvent, "A stage failed.", boxed),
            (StageRetry, on_stage_retry, "onStageRetry", Flow, StageRetryEvent, "A failed attempt that will be retried, before the wait.", boxed),
            (FlowPause, on_flow_pause, "onPause", Flow, FlowPauseEvent, "The run suspends."),
            (FlowResume, on_flow_resume, "onResume", Flow, FlowResumeEvent, "The run resumes."),
            (RunStart, on_run_start, "onRunStart", Flow, RunStartEvent, "Before the first step."),
            (RunEnd, on_run_end, "onRunEnd", Flow, RunEndEvent, "After the last commit."),
            (RunFailed, on_run_failed, "onRunFailed", Flow, RunFailedEvent, "Terminal failure, before the error reaches the caller.", boxed),
            (Emit, on_emit, "onEmit", Emit, EmitEvent, "Something the author emitted."),
        }
    };
}

/// How an owned event holds a payload.
macro_rules! held {
    ($payload:ident) => { $payload };
    ($payload:ident boxed) => { Box<$payload> };
}

macro_rules! generate {
    ($(($variant:ident, $method:ident, $json:literal, $channel:ident, $payload:ident, $doc:literal
        $(, $boxed:ident)?)),+ $(,)?) => {
        /// Every runtime hook.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Hook {
            $(#[doc = $doc] $variant,)+
        }

        impl Hook {
            /// All hooks, in table order.
            pub const ALL: &'static [Hook] = &[$(Hook::$variant),+];
            /// Number of hooks.
            pub const COUNT: usize = Self::ALL.len();

            /// The wire name (`method` in captured envelopes).
            pub fn json_name(self) -> &'static str {
                match self { $(Self::$variant => $json,)+ }
            }

            /// The name of the trait method.
            pub fn method_name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($method),)+ }
            }

            /// The family of events.
            pub fn channel(self) -> Channel {
                match self { $(Self::$variant => Channel::$channel,)+ }
            }
        }

        /// An observer of runs. Every method has a default that does nothing, so an observer implements
        /// what it needs. Hooks take `&self` and may be called from several tasks at once; keep state by
        /// run and step, never as one "current step" (OBS-34).
        ///
        /// A hook that returns an error or panics changes nothing about the run: the failure is counted
        /// ([`crate::snapshot::Snapshot::recorder_failures`]) and reported to the other observers. With
        /// `panic = "abort"` only errors can be contained.
        ///
        /// ```
        /// use footprint::observe::{EventCx, HookResult, Interest, Hook, Recorder, WriteEvent};
        /// use std::sync::Mutex;
        ///
        /// #[derive(Default)]
        /// struct Keys(Mutex<Vec<String>>);
        ///
        /// impl Recorder for Keys {
        ///     fn id(&self) -> &str { "keys" }
        ///     fn interest(&self) -> Interest { Interest::of(Hook::Write) }
        ///     fn on_write(&self, _cx: &EventCx<'_>, e: &WriteEvent) -> HookResult {
        ///         self.0.lock().unwrap().push(e.key.to_string());
        ///         Ok(())
        ///     }
        /// }
        /// ```
        #[allow(unused_variables)]
        pub trait Recorder: Any + Send + Sync {
            /// Unique name of this observer; attaching another one with the same id replaces it.
            fn id(&self) -> &str;

            /// The hooks this observer wants. Narrowing makes runs cheaper, never more correct.
            fn interest(&self) -> Interest {
                Interest::ALL
            }

            /// A wish for a delivery tier, which beats every default.
            fn delivery(&self) -> Option<Delivery> {
                None
            }

            /// A run, or a part of it after a pause, is about to begin.
            fn on_leg(&self, leg: &RunLeg<'_>) -> HookResult {
                Ok(())
            }

            $(#[doc = $doc]
            fn $method(&self, cx: &EventCx<'_>, e: &$payload) -> HookResult {
                Ok(())
            })+

            /// Receives every event. The default calls the method of its hook; an observer that treats
            /// all events alike (a composite, an exporter) overrides this one method instead.
            fn on_event(&self, cx: &EventCx<'_>, e: &Payload) -> HookResult {
                match e { $(Payload::$variant(e) => self.$method(cx, e),)+ }
            }

            /// This observer's row of the snapshot, if it contributes one.
            fn snapshot(&self, run: &RunId) -> Option<RecorderBundle> {
                None
            }
        }

        /// What happened, as an owned value.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum Payload {
            $(#[doc = $doc] $variant(held!($payload $($boxed)?)),)+
        }

        impl Payload {
            /// The hook this payload belongs to.
            pub fn hook(&self) -> Hook {
                match self { $(Self::$variant(_) => Hook::$variant,)+ }
            }

            /// The JSON event of OBS §2.2.
            pub fn to_json(&self, cx: &EventCx<'_>) -> Value {
                match self { $(Self::$variant(e) => e.json(cx),)+ }
            }
        }

        $(impl From<$payload> for Payload {
            fn from(event: $payload) -> Self {
                Self::$variant(event.into())
            }
        })+
    };
}

hook_table!(generate);

const _: () = assert!(size_of::<Payload>() <= 80);

/// A set of hooks.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interest(u32);

impl Interest {
    /// No hook.
    pub const NONE: Self = Self(0);
    /// Every hook.
    pub const ALL: Self = Self((1 << Hook::COUNT) - 1);

    /// The set of one hook.
    pub const fn of(hook: Hook) -> Self {
        Self(1 << hook as u8)
    }

    /// The set of several hooks.
    pub fn hooks(hooks: impl IntoIterator<Item = Hook>) -> Self {
        hooks.into_iter().fold(Self::NONE, |set, hook| set | Self::of(hook))
    }

    /// Every hook of a channel.
    pub fn channel(channel: Channel) -> Self {
        Self::hooks(Hook::ALL.iter().copied().filter(|hook| hook.channel() == channel))
    }

    /// Whether the hook is in the set.
    #[inline]
    pub const fn contains(self, hook: Hook) -> bool {
        self.0 & (1 << hook as u8) != 0
    }

    /// Whether the set has a hook in common with another.
    #[inline]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The hooks of the set, in table order.
    pub fn iter(self) -> impl Iterator<Item = Hook> {
        Hook::ALL.iter().copied().filter(move |hook| self.contains(*hook))
    }
}

impl BitOr for Interest {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Interest {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl From<Hook> for Interest {
    fn from(hook: Hook) -> Self {
        Self::of(hook)
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A kept event: its context and what happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// Where and when.
    pub cx: OwnedCx,
    /// What.
    pub payload: Payload,
}

impl Event {
    /// Keeps an event a hook was told about.
    pub fn capture(cx: &EventCx<'_>, payload: &Payload) -> Self {
        Self { cx: cx.to_owned_cx(), payload: payload.clone() }
    }

    /// The hook.
    pub fn hook(&self) -> Hook {
        self.payload.hook()
    }

    /// The JSON event of OBS §2.2.
    pub fn to_json(&self) -> Value {
        self.payload.to_json(&self.cx.as_cx())
    }
}
