//! What a tool session belongs to (TOOL-92).

use agentfootprint_record::text::sha256_hex;

use super::TeardownScope;
use crate::tools::context::ToolContext;

/// The key of a session of this scope, from the facts of a call; `None` when a fact the scope stands on is missing — never a wider
/// or a narrower scope instead.
///
/// ```
/// use agentfootprint_core::tools::{TeardownScope, ToolContext, tool_session_key};
/// let ctx = ToolContext::detached("run_code", "c1");
/// assert_eq!(tool_session_key(&ctx, TeardownScope::Call).as_deref(), Some("c=c1"));
/// assert_eq!(tool_session_key(&ctx, TeardownScope::Session), None); // nobody named a session
/// ```
pub fn tool_session_key(ctx: &ToolContext, scope: TeardownScope) -> Option<String> {
    let owner = || {
        let identity = ctx.identity();
        let tenant = encoded(identity.and_then(|who| who.tenant.as_deref()));
        let principal = encoded(identity.and_then(|who| who.principal.as_deref()));
        format!("t={tenant}/p={principal}")
    };
    match scope {
        TeardownScope::Call => Some(format!("c={}", encoded(Some(ctx.tool_call_id())))),
        TeardownScope::Session => Some(format!("{}/s={}", owner(), encoded(Some(ctx.session_id()?)))),
        TeardownScope::Run => Some(format!("{}/r={}", owner(), encoded(Some(ctx.turn_id()?)))),
        TeardownScope::Shutdown => None,
    }
}

/// A field of a key: injective, so that two owners never share one (MEM-9).
fn encoded(field: Option<&str>) -> String {
    match field {
        None => "_".to_owned(),
        Some("_") => "%5F".to_owned(),
        Some(text) => text.replace('%', "%25").replace('/', "%2F"),
    }
}

/// What the record may hold of a key: twelve hex digits, never the key.
pub(crate) fn key_hash(key: &str) -> String {
    sha256_hex(key).chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentfootprint_record::MemoryIdentity;

    use super::*;
    use crate::tools::context::CallFacts;

    fn ctx(tenant: Option<&str>, principal: Option<&str>, session: Option<&str>) -> ToolContext {
        let mut who = MemoryIdentity::conversation("conv");
        who.tenant = tenant.map(Into::into);
        who.principal = principal.map(Into::into);
        ToolContext::new(CallFacts {
            identity: Some(Arc::new(who)),
            session_id: session.map(Into::into),
            turn_id: Some("t-1".into()),
            ..CallFacts::detached("run_code", "c/1")
        })
    }

    /// Proves TOOL-92.
    #[test]
    fn keys_name_their_owner_and_never_collide() {
        let key = |ctx: &ToolContext, scope| tool_session_key(ctx, scope);
        let full = ctx(Some("acme"), Some("ann"), Some("s-1"));
        assert_eq!(key(&full, TeardownScope::Session).as_deref(), Some("t=acme/p=ann/s=s-1"));
        assert_eq!(key(&full, TeardownScope::Run).as_deref(), Some("t=acme/p=ann/r=t-1"));
        assert_eq!(key(&full, TeardownScope::Call).as_deref(), Some("c=c%2F1"));
        let absent = key(&ctx(None, Some("_"), Some("s")), TeardownScope::Session);
        assert_eq!(absent.as_deref(), Some("t=_/p=%5F/s=s"));
        let joined = key(&ctx(Some("a/p=b"), None, Some("s")), TeardownScope::Session);
        assert_ne!(joined, key(&ctx(Some("a"), Some("b"), Some("s")), TeardownScope::Session));
        assert_eq!(
            key(&ctx(Some("a%2Fb"), None, Some("s")), TeardownScope::Session).as_deref(),
            Some("t=a%252Fb/p=_/s=s")
        );
        assert_eq!(key(&ctx(None, None, None), TeardownScope::Session), None);
        assert_eq!(key_hash("t=acme").len(), 12);
    }
}
