use footprint::value::Str;

use crate::events::record::record;
use crate::events::words::{ArtifactOp, ArtifactRefusal, ArtifactVia, ExpiryReason};

record! {
    /// Where an artifact comes from.
    pub struct ArtifactOrigin {
        opt run_id = "runId": Str as id,
        opt tool_call_id = "toolCallId": Str as id,
    }

    /// An artifact was stored.
    pub struct ArtifactsMinted {
        req reference = "ref": Str as id,
        req kind: Str as name,
        req media_type = "mediaType": Str as name,
        req bytes: u64,
        opt label: Str,
        opt digest: Str as id,
        opt expires_at = "expiresAt": u64,
        opt origin: ArtifactOrigin,
        opt parent_refs = "parentRefs": Vec<Str> as id,
        req tool: Str as name,
    }

    /// An artifact was read.
    pub struct ArtifactsResolved {
        req reference = "ref": Str as id,
        req via: ArtifactVia,
        req kind: Str as name,
        req bytes: u64,
        opt tool: Str as name,
    }

    /// An artifact was swept.
    pub struct ArtifactsExpired {
        req reference = "ref": Str as id,
        req reason: ExpiryReason,
        req kind: Str as name,
        req bytes: u64,
        req tool: Str as name,
    }

    /// An artifact operation was refused.
    pub struct ArtifactsRefused {
        req op: ArtifactOp,
        req reason: ArtifactRefusal,
        opt reference = "ref": Str as content,
        opt detail: Str,
        opt tool: Str as name,
    }

    /// What an artifact was when it was shown.
    pub struct ArtifactSnapshot {
        req kind: Str as name,
        req media_type = "mediaType": Str as name,
        req bytes: u64,
        opt label: Str,
    }

    /// An artifact was shown to the user by a tool.
    pub struct ArtifactsPresented {
        req reference = "ref": Str as id,
        req shown_as = "as": Str,
        req snapshot: ArtifactSnapshot,
        req tool_call_id = "toolCallId": Str as id,
        req iteration: u64,
    }
}
