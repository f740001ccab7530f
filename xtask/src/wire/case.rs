use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value as Json;

/// One recorded request and its response.
#[derive(Debug, Deserialize)]
pub(super) struct Exchange {
    pub(super) request: Request,
    pub(super) response: Response,
}

#[derive(Debug, Deserialize)]
pub(super) struct Request {
    pub(super) path: String,
    #[serde(default)]
    body: Json,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Response {
    pub(super) status: u16,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    body: String,
    #[serde(default)]
    body_encoding: String,
}

/// What must be read out of a response.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Expected {
    pub(super) wire: String,
    pub(super) status: u16,
    #[serde(default)]
    pub(super) stream: bool,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) thinking: Option<String>,
    #[serde(default)]
    pub(super) tool_calls: Option<Vec<ExpectedCall>>,
    #[serde(default)]
    pub(super) usage: BTreeMap<String, i64>,
    #[serde(default)]
    pub(super) stop_reason: Option<String>,
    #[serde(default)]
    pub(super) error: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExpectedCall {
    pub(super) name: String,
    #[serde(default)]
    pub(super) args: Json,
    #[serde(default)]
    pub(super) args_error: Json,
}

impl ExpectedCall {
    /// Whether the arguments must have been unreadable.
    pub(super) fn has_args_error(&self) -> bool {
        !matches!(self.args_error, Json::Null | Json::Bool(false))
    }
}

impl Request {
    /// The body as JSON; recordings hold it as text or as a value.
    pub(super) fn json(&self) -> Json {
        match &self.body {
            Json::String(text) => serde_json::from_str(text).unwrap_or(Json::Null),
            other => other.clone(),
        }
    }
}

impl Response {
    pub(super) fn bytes(&self) -> Result<Vec<u8>, String> {
        match self.body_encoding.as_str() {
            "" | "utf8" => Ok(self.body.clone().into_bytes()),
            "base64" => base64(&self.body).ok_or_else(|| "the body is not base64".to_owned()),
            other => Err(format!("the body encoding `{other}` is unknown")),
        }
    }
}

/// Every folder at or below `dir` that holds a case, sorted.
pub(super) fn find(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(folder) = open.pop() {
        if folder.join("exchange.json").is_file() && folder.join("expect.json").is_file() {
            found.push(folder.clone());
        }
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

pub(super) fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Standard base64, padded or not.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for c in text.bytes().filter(|c| !c.is_ascii_whitespace() && *c != b'=') {
        let digit = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(digit);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_decoded() {
        assert_eq!(base64("aGVsbG8=").unwrap(), b"hello");
        assert_eq!(base64("aGVsbG8h\n").unwrap(), b"hello!");
        assert_eq!(base64("+/8=").unwrap(), [0xfb, 0xff]);
        assert_eq!(base64("a*"), None);
    }
}
