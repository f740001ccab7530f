use url::Url;

use crate::address::read_address;

/// Where the vendor itself answers.
pub(super) const OFFICIAL: &str = "https://api.openai.com/v1";
const OFFICIAL_HOST: &str = "api.openai.com";

/// Reads a base URL as people write it: with or without a trailing slash, with or without `/chat/completions`, and for
/// the vendor itself with or without `/v1`.
pub(super) fn read(option: &str, text: &str) -> Result<Url, String> {
    let mut url = read_address(option, text)?;
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/chat/completions").unwrap_or(path).trim_end_matches('/').to_owned();
    let path = if path.is_empty() && is_official(&url) { "/v1".to_owned() } else { path };
    url.set_path(&path);
    Ok(url)
}

/// Whether the vendor itself answers there.
pub(super) fn is_official(url: &Url) -> bool {
    url.host_str() == Some(OFFICIAL_HOST)
}

/// The address of chat completions below a base.
pub(super) fn chat_completions(base: &Url) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/chat/completions", base.path().trim_end_matches('/')));
    url
}

/// The address of one Azure deployment; the endpoint may already end in `/openai`.
pub(super) fn azure_deployment(endpoint: &Url, deployment: &str, api_version: &str) -> Url {
    let mut url = endpoint.clone();
    let path = endpoint.path().trim_end_matches('/');
    let path = path.strip_suffix("/openai").unwrap_or(path).to_owned();
    url.set_path(&path);
    if let Ok(mut segments) = url.path_segments_mut() {
        // Segments are percent-encoded as they are pushed.
        segments.pop_if_empty().extend(["openai", "deployments", deployment, "chat", "completions"]);
    }
    url.query_pairs_mut().append_pair("api-version", api_version);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> String {
        chat_completions(&read("base_url", text).unwrap()).to_string()
    }

    /// Proves LLM-57.
    #[test]
    fn base_urls_are_read_as_people_write_them() {
        for text in [
            "https://api.openai.com",
            "https://api.openai.com/",
            "https://api.openai.com/v1",
            "https://api.openai.com/v1/",
            "https://api.openai.com/v1/chat/completions",
            " https://api.openai.com/v1// ",
        ] {
            assert_eq!(target(text), "https://api.openai.com/v1/chat/completions", "{text}");
        }
        assert_eq!(target("http://localhost:8080"), "http://localhost:8080/chat/completions");
        assert_eq!(target("http://h/api/v1/?tenant=a"), "http://h/api/v1/chat/completions?tenant=a");
    }

    #[test]
    fn what_cannot_work_is_refused_in_a_sentence_without_the_query() {
        for (text, word) in [
            ("localhost:8080/v1?key=canary", "http://"),
            ("api.openai.com", "scheme"),
            ("https://", "URL"),
            ("https://user:canary@h/v1", ".key("),
            ("https://h/v1#canary", "fragment"),
            ("", "scheme"),
        ] {
            let sentence = read("base_url", text).unwrap_err();
            assert!(sentence.contains(word), "{text}: {sentence}");
            assert!(!sentence.contains("canary"), "{sentence}");
        }
    }

    /// Proves LLM-61.
    #[test]
    fn azure_addresses_are_idempotent_and_encoded() {
        for text in [
            "https://r.openai.azure.com",
            "https://r.openai.azure.com/",
            "https://r.openai.azure.com/openai/",
        ] {
            let url = azure_deployment(&read("endpoint", text).unwrap(), "my model/4o", "2024-10-21");
            assert_eq!(
                url.as_str(),
                "https://r.openai.azure.com/openai/deployments/my%20model%2F4o/chat/completions?api-version=2024-10-21"
            );
        }
    }
}
