//! Where a key comes from, and keeping it out of every text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

/// A key shorter than this is left alone when texts are redacted: replacing it would shred ordinary words.
const MIN_REDACTED: usize = 8;
const REDACTED: &str = "[redacted apiKey]";

type KeyFuture = Pin<Box<dyn Future<Output = SecretString> + Send>>;

/// Where the key of a request comes from.
///
/// ```
/// use agentfootprint_providers::Key;
///
/// let fixed = Key::from("sk-test");
/// let rotating = Key::provider(|model| async move { format!("token-for-{model}").into() });
/// assert_eq!(format!("{fixed:?}"), "Key::Static");
/// # let _ = rotating;
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum Key {
    /// One key.
    Static(SecretString),
    /// A key per model id; a model without an entry is refused by name.
    PerModel(BTreeMap<String, SecretString>),
    /// Asked once per request, before the request is built; a stream keeps the key it started with.
    Provider(Arc<dyn Fn(String) -> KeyFuture + Send + Sync>),
    /// No key: for servers that need none.
    Absent,
}

impl Key {
    /// A key asked for anew with every request; the argument is the model id.
    pub fn provider<F, Fut>(ask: F) -> Self
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = SecretString> + Send + 'static,
    {
        Key::Provider(Arc::new(move |model| Box::pin(ask(model))))
    }

    /// A key per model id.
    pub fn per_model<M: Into<String>, K: Into<String>>(keys: impl IntoIterator<Item = (M, K)>) -> Self {
        Key::PerModel(
            keys.into_iter().map(|(model, key)| (model.into(), SecretString::from(key.into()))).collect(),
        )
    }

    /// The key for one request to `model`; `None` for [`Key::Absent`].
    pub(crate) async fn resolve(&self, model: &str) -> Result<Option<SecretString>, KeyProblem> {
        let (key, blank) = match self {
            Key::Absent => return Ok(None),
            Key::Static(key) => (key.clone(), KeyProblem::Blank),
            Key::PerModel(keys) => (keys.get(model).ok_or(KeyProblem::NoEntry)?.clone(), KeyProblem::Blank),
            Key::Provider(ask) => (ask(model.to_owned()).await, KeyProblem::CallbackGaveNothing),
        };
        if key.expose_secret().trim().is_empty() { Err(blank) } else { Ok(Some(key)) }
    }
}

impl From<&str> for Key {
    fn from(key: &str) -> Self {
        Key::Static(SecretString::from(key))
    }
}

impl From<String> for Key {
    fn from(key: String) -> Self {
        Key::Static(SecretString::from(key))
    }
}

impl From<SecretString> for Key {
    fn from(key: SecretString) -> Self {
        Key::Static(key)
    }
}

/// The kind of source, never a value.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Static(_) => f.write_str("Key::Static"),
            Key::PerModel(keys) => {
                f.write_str("Key::PerModel ")?;
                f.debug_set().entries(keys.keys()).finish()
            }
            Key::Provider(_) => f.write_str("Key::Provider"),
            Key::Absent => f.write_str("Key::Absent"),
        }
    }
}

/// Why no key could be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyProblem {
    NoEntry,
    Blank,
    CallbackGaveNothing,
}

/// Takes the keys of one call out of any text that leaves the adapter. It knows the exact strings in force and
/// guesses no patterns.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    keys: Vec<SecretString>,
}

impl Redactor {
    pub(crate) fn of(key: Option<&SecretString>) -> Self {
        let long_enough = key.filter(|key| key.expose_secret().len() >= MIN_REDACTED);
        Redactor { keys: long_enough.cloned().into_iter().collect() }
    }

    /// Several secrets of one call.
    #[cfg_attr(not(feature = "bedrock"), allow(dead_code))]
    pub(crate) fn of_all(keys: impl IntoIterator<Item = SecretString>) -> Self {
        let long_enough = |key: &SecretString| key.expose_secret().len() >= MIN_REDACTED;
        Redactor { keys: keys.into_iter().filter(long_enough).collect() }
    }

    pub(crate) fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for key in &self.keys {
            if text.contains(key.expose_secret()) {
                text = Cow::Owned(text.replace(key.expose_secret(), REDACTED));
            }
        }
        text
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} keys)", self.keys.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANARY: &str = "canary-9f3b";

    fn keys() -> [Key; 3] {
        [Key::from(CANARY), Key::per_model([("m", CANARY)]), Key::provider(|_| async { CANARY.into() })]
    }

    /// Proves LLM-28.
    #[tokio::test]
    async fn no_debug_output_shows_a_key() {
        for key in keys() {
            assert!(!format!("{key:?}").contains(CANARY));
            let resolved = key.resolve("m").await.unwrap();
            assert!(!format!("{resolved:?} {:?}", Redactor::of(resolved.as_ref())).contains(CANARY));
        }
    }

    /// Proves LLM-28.
    #[test]
    fn exact_keys_are_replaced_and_short_ones_left_alone() {
        let key = SecretString::from(CANARY);
        let redactor = Redactor::of(Some(&key));
        assert_eq!(redactor.redact("a canary-9f3b b canary-9f3b"), "a [redacted apiKey] b [redacted apiKey]");
        assert!(matches!(redactor.redact("nothing"), Cow::Borrowed("nothing")));
        let short = SecretString::from("key");
        assert_eq!(Redactor::of(Some(&short)).redact("the key"), "the key");
    }

    /// Proves LLM-39.
    #[tokio::test]
    async fn sources_answer_or_say_why_not() {
        assert!(Key::Absent.resolve("m").await.unwrap().is_none());
        assert_eq!(Key::from(" ").resolve("m").await.unwrap_err(), KeyProblem::Blank);
        assert_eq!(Key::per_model([("a", "k")]).resolve("m").await.unwrap_err(), KeyProblem::NoEntry);
        let empty = Key::provider(|_| async { "".into() });
        assert_eq!(empty.resolve("m").await.unwrap_err(), KeyProblem::CallbackGaveNothing);
    }
}
