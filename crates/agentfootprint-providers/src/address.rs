//! Addresses as people write them.

use url::Url;

/// Reads a base URL. Trailing slashes of its path are taken off; its query is kept.
///
/// The error is one sentence that names the fix; it repeats nothing behind a `?`, where a key could stand.
pub(crate) fn read_address(option: &str, text: &str) -> Result<Url, String> {
    let shown = text.split(['?', '#']).next().unwrap_or_default();
    let text = text.trim();
    let has_scheme = text.starts_with("http://") || text.starts_with("https://");
    if !has_scheme {
        return Err(format!(
            "{option} `{shown}` has no scheme; write https://… (or http://… for a local server)"
        ));
    }
    let mut url = Url::parse(text).map_err(|error| format!("{option} `{shown}` is not a URL ({error})"))?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err(format!("{option} `{shown}` names no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("{option} carries a user or password; give the key with .key(…) instead"));
    }
    if url.fragment().is_some() {
        return Err(format!("{option} `{shown}` carries a fragment (`#…`); remove it"));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}
