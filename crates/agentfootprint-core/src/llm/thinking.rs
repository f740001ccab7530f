//! Reading what a model thought.
//!
//! A provider hands its thinking over raw, in whatever shape its wire has; a [`ThinkingHandler`] turns it into
//! blocks. The handler is declared by the provider (never looked up by name), pure, and may fail without failing
//! the run.

use std::sync::Arc;

use agentfootprint_record::message::ThinkingBlock;
use footprint::value::{Object, Value};

/// Turns a provider's raw thinking into blocks.
pub trait ThinkingHandler: Send + Sync + 'static {
    /// The handler's id; recorded, and part of the stage id that runs it.
    fn id(&self) -> &str;

    /// Reads the raw value. A shape it does not know is an empty list, not an error.
    ///
    /// # Errors
    /// When the shape is its own and damaged.
    fn normalize(&self, raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError>;

    /// The text of one raw streamed piece, for handlers that see them.
    fn parse_chunk(&self, _raw: &Value) -> Option<String> {
        None
    }
}

/// Raw thinking of a known shape that is damaged. Says what is wrong and never quotes the thinking.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ThinkingError(pub String);

const ORIGIN: &str = "$origin";
const RAW: &str = "$raw";

/// Marks raw thinking with the handler that can read it. A decorator over two providers with different handlers
/// does this to what either of them answers.
pub fn tag_thinking(handler_id: &str, raw: Value) -> Value {
    let mut tagged = Object::new();
    tagged.insert(ORIGIN, Value::from(handler_id));
    tagged.insert(RAW, raw);
    Value::Object(tagged)
}

/// The handler of a pair of providers: theirs when it is the same one, else one that reads the tag of whichever
/// answered.
pub(super) fn paired_handlers(
    a: Option<Arc<dyn ThinkingHandler>>,
    b: Option<Arc<dyn ThinkingHandler>>,
) -> Option<Arc<dyn ThinkingHandler>> {
    match (a, b) {
        (Some(a), Some(b)) if a.id() == b.id() => Some(a),
        (Some(a), Some(b)) => {
            Some(Arc::new(ByOrigin { id: format!("{}|{}", a.id(), b.id()), handlers: vec![a, b] }))
        }
        (one, other) => one.or(other),
    }
}

struct ByOrigin {
    id: String,
    handlers: Vec<Arc<dyn ThinkingHandler>>,
}

impl ThinkingHandler for ByOrigin {
    fn id(&self) -> &str {
        &self.id
    }

    fn normalize(&self, raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError> {
        let Some((origin, inner)) = raw.get(ORIGIN).and_then(Value::as_str).zip(raw.get(RAW)) else {
            return Ok(Vec::new());
        };
        for handler in &self.handlers {
            // A member may itself be a pair, whose members' tags it alone knows.
            if handler.id() == origin {
                return handler.normalize(inner);
            }
            if handler.id().split('|').any(|id| id == origin) {
                return handler.normalize(raw);
            }
        }
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(&'static str);

    impl ThinkingHandler for Fixed {
        fn id(&self) -> &str {
            self.0
        }
        fn normalize(&self, raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError> {
            let text = raw.as_str().ok_or_else(|| ThinkingError("not a text".into()))?;
            Ok(vec![ThinkingBlock::thinking(format!("{}:{text}", self.0))])
        }
    }

    fn handler(id: &'static str) -> Option<Arc<dyn ThinkingHandler>> {
        Some(Arc::new(Fixed(id)))
    }

    fn first(handler: &Arc<dyn ThinkingHandler>, raw: Value) -> Option<String> {
        handler.normalize(&raw).unwrap().first().map(|block| block.content.to_string())
    }

    #[test]
    fn one_handler_stays_itself_and_two_dispatch_on_the_tag() {
        assert_eq!(paired_handlers(handler("a"), handler("a")).unwrap().id(), "a");
        assert_eq!(paired_handlers(handler("a"), None).unwrap().id(), "a");
        assert!(paired_handlers(None, None).is_none());

        let pair = paired_handlers(handler("a"), handler("b")).unwrap();
        assert_eq!(pair.id(), "a|b");
        assert_eq!(first(&pair, tag_thinking("b", "x".into())).as_deref(), Some("b:x"));
        assert_eq!(first(&pair, tag_thinking("c", "x".into())), None);
        assert_eq!(first(&pair, "untagged".into()), None);

        let three = paired_handlers(Some(pair), handler("c")).unwrap();
        assert_eq!(first(&three, tag_thinking("a", "x".into())).as_deref(), Some("a:x"));
        assert_eq!(first(&three, tag_thinking("c", "x".into())).as_deref(), Some("c:x"));
    }
}
