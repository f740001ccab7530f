//! Which tools of a catalogue a model would take for each other (TOOL-114).
//!
//! The texts a model chooses by are embedded and compared. A likeness is a hint, not a proof: the threshold belongs to the
//! embedder, and the same catalogue scores differently with another one.

use std::collections::HashSet;

use footprint::value::{Array, Object, Str, Value};

use crate::embed::{EmbedKind, Embedder, cosine_similarity};
use crate::llm::{CallCx, LlmError};
use crate::tools::schema::ToolSchema;

/// From which likeness on two tools are confusable, and how wide the band below it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimilarityThresholds {
    /// Pairs at or above it are confusable.
    pub confusable: f32,
    /// Pairs less than this below it are worth watching.
    pub watch_band: f32,
}

impl Default for SimilarityThresholds {
    fn default() -> Self {
        Self { confusable: 0.85, watch_band: 0.05 }
    }
}

impl SimilarityThresholds {
    /// For `MockEmbedder`, which counts letters and finds everything alike.
    #[must_use]
    pub fn for_mock() -> Self {
        Self { confusable: 0.94, watch_band: 0.02 }
    }
}

/// Two tools and their likeness.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolPair {
    /// The one that is declared first.
    pub first: Str,
    /// The other.
    pub second: Str,
    /// From -1 to 1.
    pub score: f32,
    /// What would tell them apart.
    pub hint: String,
}

/// How alike the tools of a catalogue are.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SimilarityReport {
    /// How many tools were compared; 0 without an embedder.
    pub analyzed: usize,
    /// Pairs at or above the threshold, most alike first.
    pub confusable: Vec<ToolPair>,
    /// Pairs just below it.
    pub watch: Vec<ToolPair>,
    /// All pairs, most alike first.
    pub ranked: Vec<ToolPair>,
    /// What was applied.
    pub thresholds: SimilarityThresholds,
}

/// Compares all pairs. A name that is there twice is compared once: a duplicate is a finding of its own.
pub(super) async fn compare(
    tools: &[ToolSchema],
    embedder: &dyn Embedder,
    thresholds: SimilarityThresholds,
) -> Result<SimilarityReport, LlmError> {
    let mut seen = HashSet::new();
    let tools: Vec<&ToolSchema> = tools.iter().filter(|tool| seen.insert(tool.name())).collect();
    let texts: Vec<String> = tools.iter().map(|tool| text_of(tool)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let answer = embedder.embed_batch(&texts, EmbedKind::Document, &CallCx::detached()).await?;
    let vectors = &answer.vectors;
    let mut ranked = Vec::new();
    for (at, (first, left)) in tools.iter().zip(vectors).enumerate() {
        for (second, right) in tools.iter().zip(vectors).skip(at + 1) {
            let score = cosine_similarity(left, right)
                .map_err(|error| LlmError::foreign("UnequalVectors", error.to_string()))?;
            let (first, second) = (first.name().clone(), second.name().clone());
            ranked.push(ToolPair { first, second, score, hint: String::new() });
        }
    }
    ranked.sort_by(|one, other| other.score.total_cmp(&one.score));
    let described =
        |name: &Str| tools.iter().find(|tool| tool.name() == name).map(|tool| &**tool.description());
    for pair in &mut ranked {
        let texts = (described(&pair.first).unwrap_or_default(), described(&pair.second).unwrap_or_default());
        pair.hint = hint(&pair.first, &pair.second, texts);
    }
    let floor = thresholds.confusable - thresholds.watch_band;
    let between = |low: f32, high: f32| {
        ranked.iter().filter(|pair| pair.score >= low && pair.score < high).cloned().collect::<Vec<_>>()
    };
    Ok(SimilarityReport {
        analyzed: tools.len(),
        confusable: between(thresholds.confusable, f32::INFINITY),
        watch: between(floor, thresholds.confusable),
        thresholds,
        ranked,
    })
}

/// What is embedded: the name in words, and what the model reads about it.
pub(crate) fn text_of(tool: &ToolSchema) -> String {
    confusability_text(tool.name(), tool.description())
}

/// What a tool is known by where likeness is measured: its name in words, and its description.
///
/// ```
/// use agentfootprint_core::tools::confusability_text;
/// assert_eq!(confusability_text("get_order", "Looks an order up."), "get order: Looks an order up.");
/// ```
#[must_use]
pub fn confusability_text(name: &str, description: &str) -> String {
    format!("{}: {description}", words(name).join(" "))
}

/// A name in words: `getUserOrders`, `get_user-orders` → `get user orders`.
fn words(name: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut after_small = false;
    let mut open = false;
    for c in name.chars() {
        if matches!(c, '_' | '-' | ' ' | '.' | '/') {
            (open, after_small) = (false, false);
            continue;
        }
        let begins = !open || (c.is_uppercase() && after_small);
        if begins {
            out.push(String::new());
        }
        if let Some(word) = out.last_mut() {
            word.extend(c.to_lowercase());
        }
        (open, after_small) = (true, c.is_lowercase() || c.is_ascii_digit());
    }
    out
}

/// What would tell two tools apart.
fn hint(first: &str, second: &str, (one, other): (&str, &str)) -> String {
    let (left, right) = (words(first), words(second));
    let shared = left.iter().filter(|word| right.contains(word)).count();
    let different = left.len() + right.len() - 2 * shared.min(left.len()).min(right.len());
    if shared >= 2 && different <= 2 {
        return format!(
            "their names differ little: say in each description when to choose `{first}` and when `{second}`"
        );
    }
    let only = |of: &str, not: &str| {
        let not: HashSet<String> = terms(not).into_iter().collect();
        let mut kept: Vec<String> = Vec::new();
        for term in terms(of) {
            if !not.contains(&term) && !kept.contains(&term) && kept.len() < 3 {
                kept.push(term);
            }
        }
        if kept.is_empty() { "nothing of its own".to_owned() } else { kept.join(", ") }
    };
    format!("only `{first}` says: {}; only `{second}` says: {}", only(one, other), only(other, one))
}

/// Words of a description that could tell something.
fn terms(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 3);
    words.map(str::to_lowercase).collect()
}

impl SimilarityReport {
    pub(super) fn to_value(&self, top: usize) -> Value {
        let pairs = |pairs: &[ToolPair]| pairs.iter().map(ToolPair::to_value).collect::<Array>();
        let mut thresholds = Object::new();
        thresholds.insert("confusable", Value::from(rounded(self.thresholds.confusable)));
        thresholds.insert("watchBand", Value::from(rounded(self.thresholds.watch_band)));
        let mut out = Object::new();
        out.insert("analyzed", Value::from(self.analyzed));
        out.insert("confusable", Value::Array(pairs(&self.confusable)));
        out.insert("watch", Value::Array(pairs(&self.watch)));
        out.insert("ranked", Value::Array(pairs(self.ranked.get(..top).unwrap_or(&self.ranked))));
        out.insert("thresholds", Value::Object(thresholds));
        Value::Object(out)
    }
}

impl ToolPair {
    fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert(
            "tools",
            Value::Array([&self.first, &self.second].into_iter().cloned().map(Value::from).collect()),
        );
        out.insert("score", Value::from(rounded(self.score)));
        out.insert("hint", Value::from(self.hint.as_str()));
        Value::Object(out)
    }
}

/// Four decimals: what a reader compares, and the same on every machine.
pub(super) fn rounded(number: f32) -> f64 {
    (f64::from(number) * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::embed::Embeddings;
    use crate::tools::catalog::{CatalogOptions, Severity, analyze_tool_catalog_with};

    /// Embeds a text by the number in its description.
    struct ByAngle;

    #[async_trait]
    impl Embedder for ByAngle {
        fn id(&self) -> Option<&str> {
            Some("angle")
        }

        fn dimensions(&self) -> Option<usize> {
            Some(2)
        }

        async fn embed_batch(
            &self,
            texts: &[&str],
            _: EmbedKind,
            _: &CallCx,
        ) -> Result<Embeddings, LlmError> {
            let angle = |text: &&str| {
                let degrees: f32 = text.rsplit(' ').next().unwrap().parse().unwrap();
                vec![degrees.to_radians().cos(), degrees.to_radians().sin()]
            };
            Ok(Embeddings { vectors: texts.iter().map(angle).collect(), tokens_spent: None })
        }
    }

    fn tool(name: &str, description: &str) -> ToolSchema {
        ToolSchema::new(name, description, ToolSchema::no_input())
    }

    /// Proves TOOL-114: pairs by their likeness, with what would tell them apart; a duplicate is compared once.
    #[tokio::test]
    async fn alike_tools_are_named_with_a_hint() {
        let tools = [
            tool("get_user_orders", "Finds purchases for one customer 0"),
            tool("getUserOrder", "Finds purchases for the firm 10"),
            tool("sendMail", "Delivers messages when asked 35"),
            tool("sendMail", "Delivers messages when asked 35"),
            tool("archive", "Stores documents for years 120"),
        ];
        let options = CatalogOptions { rules: Vec::new(), ..CatalogOptions::default() };
        let report = analyze_tool_catalog_with(&tools, Some(&ByAngle), &options).await.unwrap();
        let similarity = report.similarity.as_ref().unwrap();
        assert_eq!((similarity.analyzed, similarity.ranked.len(), report.ok), (4, 6, false));
        let pairs = |pairs: &[ToolPair]| {
            pairs.iter().map(|pair| format!("{} {}", pair.first, pair.second)).collect::<Vec<_>>()
        };
        // cos 10° = 0.985, cos 25° = 0.906, cos 35° = 0.819, cos 85° = 0.087
        assert_eq!(pairs(&similarity.confusable), ["get_user_orders getUserOrder", "getUserOrder sendMail"]);
        assert_eq!(pairs(&similarity.watch), ["get_user_orders sendMail"]);
        assert_eq!(
            similarity.confusable[0].hint,
            "their names differ little: say in each description when to choose `get_user_orders` and when `getUserOrder`"
        );
        assert_eq!(
            similarity.confusable[1].hint,
            "only `getUserOrder` says: finds, purchases, firm; only `sendMail` says: delivers, messages, when"
        );
        assert_eq!(report.summary(), "5 tools: 2 confusable pairs, 1 pair to watch, 1 finding (1 error)");
        let lenient = CatalogOptions {
            thresholds: SimilarityThresholds { confusable: 0.99, watch_band: 0.001 },
            rules: Vec::new(),
            fail_on: Severity::Error,
        };
        let apart = analyze_tool_catalog_with(&tools[..2], Some(&ByAngle), &lenient).await.unwrap();
        assert!(apart.ok && apart.similarity.unwrap().watch.is_empty());
        let without = analyze_tool_catalog_with(&tools[..2], None, &lenient).await.unwrap();
        assert!(without.ok && without.similarity.is_none());
    }

    /// Proves TOOL-114: the text a model chooses by, with the name opened into words.
    #[test]
    fn names_are_opened_into_words() {
        let texts =
            ["get_user-orders", "getUserOrders", "HTTPGet2Go", "x"].map(|name| text_of(&tool(name, "D.")));
        assert_eq!(texts, ["get user orders: D.", "get user orders: D.", "httpget2 go: D.", "x: D."]);
    }
}
