//! Wanted artifacts as files beside the code (TOOL-96).

use base64::Engine as _;
use bytes::Bytes;
use footprint::value::{Str, Value};

use super::port::StagedInput;
use crate::artifacts::ArtifactMeta;

/// The file of one wanted argument: called as the argument, with the extension of its stated media type.
pub(super) fn staged(argument: &Str, meta: &ArtifactMeta, delivered: &Value) -> StagedInput {
    let file_name = match extension(&meta.media_type) {
        Some(extension) => format!("{argument}.{extension}"),
        None => argument.to_string(),
    };
    StagedInput::new(argument.clone(), file_name, meta.media_type.clone(), payload(meta, delivered))
}

/// What the artifact holds, from how it was delivered. Bytes arrive as base64; the ticket's size says which of the two a text is:
/// encoded bytes are always longer than what they encode.
fn payload(meta: &ArtifactMeta, delivered: &Value) -> Bytes {
    let Value::String(text) = delivered else { return Bytes::from(delivered.to_string()) };
    let as_text = Bytes::copy_from_slice(text.as_bytes());
    if as_text.len() as u64 == meta.bytes {
        return as_text;
    }
    match base64::engine::general_purpose::STANDARD.decode(text.as_bytes()) {
        Ok(bytes) if bytes.len() as u64 == meta.bytes => Bytes::from(bytes),
        _ => as_text,
    }
}

/// The customary extension of a media type; none for one without.
fn extension(media_type: &str) -> Option<&'static str> {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Some(match essence.as_str() {
        "text/plain" => "txt",
        "text/csv" => "csv",
        "text/tab-separated-values" => "tsv",
        "text/markdown" => "md",
        "text/html" => "html",
        "application/json" => "json",
        "application/x-ndjson" | "application/jsonl" => "jsonl",
        "application/yaml" | "text/yaml" => "yaml",
        "application/xml" | "text/xml" => "xml",
        "application/pdf" => "pdf",
        "application/zip" => "zip",
        "application/vnd.apache.parquet" => "parquet",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => "xlsx",
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        other if other.ends_with("+json") => "json",
        other if other.ends_with("+xml") => "xml",
        _ => return None,
    })
}

/// Artifact kind of a produced file.
pub(super) fn kind_of(name: &str) -> String {
    let extension = name.rsplit_once('.').map(|(stem, extension)| (stem, extension.to_ascii_lowercase()));
    match extension {
        Some((stem, extension))
            if !stem.is_empty()
                && (1..=16).contains(&extension.len())
                && extension.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            format!("file/{extension}")
        }
        _ => "file".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(media_type: &str, bytes: u64) -> ArtifactMeta {
        let text = format!(
            r#"{{"ref":"art_0123456789abcdefghijKL","kind":"table","mediaType":"{media_type}","bytes":{bytes},"createdAt":7}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn file(media_type: &str, bytes: u64, delivered: Value) -> (String, Vec<u8>) {
        let staged = staged(&"data".into(), &meta(media_type, bytes), &delivered);
        (staged.file_name.to_string(), staged.data.to_vec())
    }

    /// Proves TOOL-96: a text and bytes go verbatim, everything else as JSON; the name says what it is.
    #[test]
    fn payloads_become_the_files_they_are() {
        let named = |name: &str, data: &[u8]| (name.to_owned(), data.to_vec());
        assert_eq!(file("text/csv; charset=utf-8", 5, Value::from("a,b\nc")), named("data.csv", b"a,b\nc"));
        assert_eq!(file("image/png", 3, Value::from("/wAB")), named("data.png", &[255, 0, 1]));
        // Text that only looks like base64.
        assert_eq!(file("text/plain", 4, Value::from("/wAB")), named("data.txt", b"/wAB"));
        let json = footprint::value!({ "b": 1, "a": [2] });
        assert_eq!(file("application/geo+json", 15, json), named("data.json", br#"{"b":1,"a":[2]}"#));
        assert_eq!(file("application/x-own", 1, Value::from("x")), named("data", b"x"));
    }

    /// Proves TOOL-94.
    #[test]
    fn a_produced_file_has_the_kind_of_its_extension() {
        let kinds = ["plot.PNG", "a.tar.gz", ".bashrc", "README", "odd.ex t", "dot."].map(kind_of);
        assert_eq!(kinds, ["file/png", "file/gz", "file", "file", "file", "file"]);
    }
}
