//! The two doors to Gemini, and the addresses behind them.

use url::Url;

use crate::address::read_address;

/// Which door requests go through.
#[derive(Debug, Clone)]
pub(super) enum Target {
    /// The Gemini API, opened by an API key.
    Key { base: Url },
    /// Vertex AI, opened by an access token.
    Vertex { base: Url, project: String, location: String },
}

const KEY_DOOR: &str = "https://generativelanguage.googleapis.com";

impl Target {
    /// The Gemini API; `base_url` is a proxy's address if there is one.
    pub(super) fn key(base_url: Option<&str>, version: Option<&str>) -> Result<Target, String> {
        let base = versioned(base_url.unwrap_or(KEY_DOOR), version, "v1beta")?;
        Ok(Target::Key { base })
    }

    pub(super) fn vertex(
        base_url: Option<&str>,
        version: Option<&str>,
        project: String,
        location: String,
    ) -> Result<Target, String> {
        // It becomes part of a host name.
        if !location.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            return Err(format!("location `{location}` is none; give one like us-central1 or global"));
        }
        let host = match location.as_str() {
            "global" => "https://aiplatform.googleapis.com".to_owned(),
            region => format!("https://{region}-aiplatform.googleapis.com"),
        };
        let base = versioned(base_url.unwrap_or(&host), version, "v1beta1")?;
        Ok(Target::Vertex { base, project, location })
    }

    /// The address that generates with `model`, whole or streamed.
    pub(super) fn url(&self, model: &str, stream: bool) -> Url {
        let method = if stream { "streamGenerateContent" } else { "generateContent" };
        let (base, mut path) = match self {
            Target::Key { base } => (base, Vec::new()),
            Target::Vertex { base, project, location } => {
                (base, vec!["projects", project.as_str(), "locations", location.as_str()])
            }
        };
        // A name with slashes says itself which collection it is in.
        let mut parts: Vec<&str> = model.split('/').collect();
        match (self, parts.as_slice()) {
            (Target::Key { .. }, [_]) => path.push("models"),
            (Target::Vertex { .. }, [_]) => path.extend(["publishers", "google", "models"]),
            (Target::Vertex { .. }, ["models", _]) => path.extend(["publishers", "google"]),
            (Target::Vertex { .. }, ["projects", ..]) => path.clear(),
            _ => {}
        }
        let last = format!("{}:{method}", parts.pop().unwrap_or_default());
        path.extend(parts);
        let mut url = base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            // Segments are percent-encoded as they are pushed.
            segments.pop_if_empty().extend(path).push(&last);
        }
        if stream {
            url.query_pairs_mut().append_pair("alt", "sse");
        }
        url
    }
}

/// A base with its version: the one asked for, else the one the base ends in, else the usual one.
fn versioned(text: &str, asked: Option<&str>, usual: &str) -> Result<Url, String> {
    let mut url = read_address("base_url", text)?;
    let path = url.path().trim_end_matches('/').to_owned();
    let last = path.rsplit('/').next().unwrap_or_default();
    let is_version =
        last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let path = match asked {
        None if is_version => path,
        None => format!("{path}/{usual}"),
        Some(version) if is_version => {
            format!("{}/{version}", path.trim_end_matches(last).trim_end_matches('/'))
        }
        Some(version) => format!("{path}/{version}"),
    };
    url.set_path(&path);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(base: Option<&str>, version: Option<&str>, model: &str) -> String {
        Target::key(base, version).unwrap().url(model, false).to_string()
    }

    /// Proves LLM-63.
    #[test]
    fn addresses_of_the_key_door() {
        let official =
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent";
        for base in [
            None,
            Some("https://generativelanguage.googleapis.com"),
            Some("https://generativelanguage.googleapis.com/v1beta/"),
        ] {
            assert_eq!(key(base, None, "gemini-2.5-flash"), official);
            assert_eq!(key(base, None, "models/gemini-2.5-flash"), official);
        }
        let pinned = key(Some("http://h/v1beta"), Some("v1"), "tunedModels/a b");
        assert_eq!(pinned, "http://h/v1/tunedModels/a%20b:generateContent");
        let streamed = Target::key(None, None).unwrap().url("m", true);
        assert!(streamed.as_str().ends_with("/models/m:streamGenerateContent?alt=sse"));
    }

    /// Proves LLM-63.
    #[test]
    fn addresses_of_the_vertex_door() {
        let url = |location: &str, model: &str| {
            let target = Target::vertex(None, None, "p".into(), location.into()).unwrap();
            target.url(model, false).to_string()
        };
        let path = "publishers/google/models/g:generateContent";
        assert_eq!(
            url("us-central1", "g"),
            format!(
                "https://us-central1-aiplatform.googleapis.com/v1beta1/projects/p/locations/us-central1/{path}"
            )
        );
        let global = format!("https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/{path}");
        for model in [
            "g",
            "models/g",
            "publishers/google/models/g",
            "projects/p/locations/global/publishers/google/models/g",
        ] {
            assert_eq!(url("global", model), global, "{model}");
        }
        for odd in ["a b", "evil.example/", "US"] {
            assert!(Target::vertex(None, None, "p".into(), odd.into()).unwrap_err().contains("us-central1"));
        }
    }
}
