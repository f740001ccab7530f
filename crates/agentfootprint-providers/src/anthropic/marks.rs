//! Where cache marks stand on this wire.

use agentfootprint_core::llm::{CacheField, CacheTtl, LlmRequest};
use serde::Serialize;

/// What a mark looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct CacheControl {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

/// The marks of one request, by the place they belong to.
#[derive(Debug, Default)]
pub(super) struct Marks(Vec<(CacheField, usize, CacheTtl)>);

impl Marks {
    /// On the wire tools stand before the system prompt and that before the messages, and a longer-lived mark must
    /// not follow a shorter-lived one: one that would is shortened.
    pub(super) fn of(request: &LlmRequest) -> Self {
        let order = |field| match field {
            CacheField::Tools => 0,
            CacheField::System => 1,
            CacheField::Messages => 2,
        };
        let mut marks: Vec<_> = request
            .cache_markers
            .iter()
            .map(|marker| (marker.field, marker.boundary_index, marker.ttl))
            .collect();
        marks.sort_by_key(|(field, index, _)| (order(*field), *index));
        let mut seen_short = false;
        for (_, _, ttl) in &mut marks {
            if seen_short {
                *ttl = CacheTtl::Short;
            }
            seen_short |= *ttl == CacheTtl::Short;
        }
        Marks(marks)
    }

    /// The mark at this place, if there is one.
    pub(super) fn at(&self, field: CacheField, index: usize) -> Option<CacheControl> {
        let (_, _, ttl) = self.0.iter().find(|(f, i, _)| *f == field && *i == index)?;
        Some(CacheControl { r#type: "ephemeral", ttl: (*ttl == CacheTtl::Long).then_some("1h") })
    }
}

#[cfg(test)]
mod tests {
    use agentfootprint_core::llm::CacheMarker;
    use serde_json::{Value as Json, json};

    use super::*;

    /// Proves LLM-106.
    #[test]
    fn a_long_mark_after_a_short_one_is_shortened() {
        let marker =
            |field, boundary_index, ttl| CacheMarker { field, boundary_index, ttl, reason: String::new() };
        let mut request = LlmRequest::new("m");
        request.cache_markers = vec![
            marker(CacheField::Messages, 4, CacheTtl::Long),
            marker(CacheField::System, 0, CacheTtl::Short),
            marker(CacheField::Tools, 2, CacheTtl::Long),
        ];
        let marks = Marks::of(&request);
        let shown = |field, index| serde_json::to_value(marks.at(field, index)).unwrap();
        assert_eq!(shown(CacheField::Tools, 2), json!({"type": "ephemeral", "ttl": "1h"}));
        assert_eq!(shown(CacheField::System, 0), json!({"type": "ephemeral"}));
        assert_eq!(shown(CacheField::Messages, 4), json!({"type": "ephemeral"}));
        assert_eq!(shown(CacheField::Messages, 3), Json::Null);
    }
}
