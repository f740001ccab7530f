//! Injections: everything engineered into a model request (CTX §0–3).
//!
//! An [`Injection`] is a slot, a [`Trigger`] and a [`CachePolicy`]. Facts, instructions and steering are flavours of it;
//! a new flavour adds no branch to the engine and no event. Each iteration the engine makes one [`InjectionContext`],
//! [`evaluate`]s every injection on it, and projects the winners to plain data ([`ActiveInjection`]); the three slots
//! compose what was projected, and [`route_active`] sorts by the filters the slots use.
//!
//! | to say | declare |
//! |---|---|
//! | always, how to behave | [`Steering`] |
//! | something the model should know | [`Fact`] |
//! | something to do, perhaps only sometimes | [`Instruction`] |
//! | anything else | [`RawInjection`] |

mod cache;
mod context;
mod evaluate;
mod factories;
mod predicate;
mod project;
mod shape;
mod template;

pub use cache::{CachePolicy, CachePolicyContext};
pub use context::{InjectionContext, Parked, ToolResultView};
pub use evaluate::{Evaluation, Skipped, evaluate};
pub use factories::{Fact, InjectionError, Instruction, IntoInjection, RawInjection, Slot, Steering};
pub use predicate::{BoxError, Predicate};
pub use project::{ActiveInjection, BySlot, diff, route_active};
pub use shape::{
    InjectedMessage, Injection, InjectionContent, InjectionMeta, Retrieval, SurfaceMode, ToolNameMatch,
    Trigger,
};
pub use template::{
    PromptTemplate, TEMPLATE_FACTS, TemplateFact, TemplateFacts, UnknownTemplateFact, iterations_remaining,
};

pub(crate) use predicate::panic_text;
