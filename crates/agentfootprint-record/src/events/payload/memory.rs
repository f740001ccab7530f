use footprint::value::{Str, Value};

use crate::events::record::record;
use crate::events::words::{
    CandidateRejection, DetachReason, EmbeddingInput, EmbeddingProvider, MemorySource, MemoryStrategyKind,
    MemoryWriter, Retriever, SearchMode,
};

record! {
    /// A memory strategy reduced entries.
    pub struct MemoryStrategyApplied {
        req strategy_id = "strategyId": Str as id,
        req strategy_kind = "strategyKind": MemoryStrategyKind,
        req reason: Str,
        opt score_evidence = "scoreEvidence": Value,
        req input_memory_count = "inputMemoryCount": u64,
        req output_memory_count = "outputMemoryCount": u64,
        req dropped_ids = "droppedIds": Vec<Str> as id,
        req added_ids = "addedIds": Vec<Str> as id,
    }

    /// A memory entered the prompt.
    pub struct MemoryAttached {
        req memory_id = "memoryId": Str as id,
        req content_summary = "contentSummary": Str,
        opt score: f64,
        opt rank: u64,
        req source: MemorySource,
        opt retriever: Retriever,
    }

    /// One candidate of a retrieval.
    pub struct RetrievalCandidate {
        req id: Str as id,
        req score: f64,
        req rank: u64,
        req admitted: bool,
        opt reason: CandidateRejection,
        opt doc_uri = "docUri": Str,
        opt page: u64,
        opt heading: Str,
    }

    /// A retrieval ran.
    pub struct MemoryRetrieved {
        req strategy: Str as name,
        req query_hash = "queryHash": Str as id,
        req k: u64,
        opt threshold: f64,
        opt max_chars = "maxChars": u64,
        opt chars_used = "charsUsed": u64,
        opt embedder_id = "embedderId": Str as id,
        opt dimensions: u64,
        req considered_count = "consideredCount": u64,
        req admitted_count = "admittedCount": u64,
        req rejected_count = "rejectedCount": u64,
        opt candidates: Vec<RetrievalCandidate>,
        req candidates_complete = "candidatesComplete": bool,
        opt candidates_omitted_reason = "candidatesOmittedReason": Str,
        req corpus_empty = "corpusEmpty": bool,
        /// Names tenant and principal, hence content.
        opt namespace: Str,
        opt search_mode = "searchMode": SearchMode,
    }

    /// A memory left the prompt.
    pub struct MemoryDetached {
        req memory_id = "memoryId": Str as id,
        req reason: DetachReason,
    }

    /// A memory was written.
    pub struct MemoryWritten {
        req memory_id = "memoryId": Str as id,
        req content_summary = "contentSummary": Str,
        req source: MemoryWriter,
        opt actor: Str,
    }

    /// An embedding was computed.
    pub struct EmbeddingGenerated {
        req model: Str as name,
        req provider: EmbeddingProvider,
        req input_kind = "inputKind": EmbeddingInput,
        req dimension: u64,
        req count: u64,
        req duration_ms = "durationMs": u64,
        opt tokens_spent = "tokensSpent": u64,
    }
}
