//! Who acts: tenant, principal, conversation.

use footprint::value::Str;
use serde::{Deserialize, Serialize};

/// The identity a run acts for; memory, artifacts and sessions are scoped by it (MEM §1).
///
/// Encoding it into a namespace or key is the memory crate's business (MEM-9): this is the plain fact.
/// `principal` and `tenant` are present only when the caller stated them; an absent key is not an empty
/// string (REC §3).
///
/// ```
/// use agentfootprint_record::MemoryIdentity;
/// let ann = MemoryIdentity::conversation("c-7").principal("ann");
/// assert_eq!(serde_json::to_string(&ann)?, r#"{"conversationId":"c-7","principal":"ann"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryIdentity {
    /// The conversation.
    pub conversation_id: Str,
    /// The person or service, when stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<Str>,
    /// The organisation, when stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Str>,
}

impl MemoryIdentity {
    /// An identity that states its conversation only.
    #[must_use]
    pub fn conversation(id: impl Into<Str>) -> Self {
        Self { tenant: None, principal: None, conversation_id: id.into() }
    }

    /// States the principal.
    #[must_use]
    pub fn principal(mut self, principal: impl Into<Str>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    /// States the tenant.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<Str>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }
}
