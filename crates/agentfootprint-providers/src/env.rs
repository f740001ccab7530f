use std::collections::BTreeMap;
use std::fmt;

/// Where settings from the environment are read: the process's own variables, or a map given by a test.
///
/// A variable that is empty or blank is not a setting.
///
/// ```
/// use agentfootprint_providers::EnvVars;
///
/// let env = EnvVars::from_pairs([("OPENAI_API_KEY", "sk-test"), ("OPENAI_BASE_URL", "")]);
/// assert_eq!(env.get("OPENAI_API_KEY").as_deref(), Some("sk-test"));
/// assert_eq!(env.get("OPENAI_BASE_URL"), None);
/// ```
#[derive(Clone, Default)]
pub struct EnvVars(Source);

#[derive(Clone, Default)]
enum Source {
    #[default]
    Process,
    Given(BTreeMap<String, String>),
}

impl EnvVars {
    /// The variables of this process.
    pub fn process() -> Self {
        EnvVars(Source::Process)
    }

    /// A given set of variables; the process's own are not seen.
    pub fn from_pairs<K: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        EnvVars(Source::Given(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect()))
    }

    /// The value of `name`, unless it is unset, blank or not text.
    pub fn get(&self, name: &str) -> Option<String> {
        let value = match &self.0 {
            Source::Process => std::env::var(name).ok()?,
            Source::Given(pairs) => pairs.get(name)?.clone(),
        };
        (!value.trim().is_empty()).then_some(value)
    }

    /// The first of `names` that is set, with its name.
    pub fn first<'n>(&self, names: &[&'n str]) -> Option<(&'n str, String)> {
        names.iter().find_map(|name| Some((*name, self.get(name)?)))
    }
}

/// Names only: values may be secrets.
impl fmt::Debug for EnvVars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Process => f.write_str("EnvVars(process)"),
            Source::Given(pairs) => f.debug_set().entries(pairs.keys()).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves LLM-40.
    #[test]
    fn blank_is_unset_and_debug_shows_no_value() {
        let env = EnvVars::from_pairs([("A", " \t"), ("B", "canary-value")]);
        assert_eq!(env.get("A"), None);
        assert_eq!(env.first(&["A", "MISSING", "B"]), Some(("B", "canary-value".to_owned())));
        assert!(!format!("{env:?}").contains("canary"));
        assert_eq!(EnvVars::process().get("AGENTFOOTPRINT_SURELY_UNSET"), None);
    }
}
