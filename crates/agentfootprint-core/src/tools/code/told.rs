//! What the model reads about an execution (TOOL-94). Every cut states how much is missing.

use std::fmt::Write as _;

use agentfootprint_record::text::{cut, utf16_len};

use super::port::{CodeResult, OutputCut, ProducedFile};
use super::staging::kind_of;
use crate::artifacts::{ArtifactData, PutArtifact};
use crate::tools::context::ToolContext;

/// A result as the model reads it, and what the record says of it.
pub(super) struct Told {
    pub(super) text: String,
    pub(super) output_chars: u64,
    pub(super) truncated: bool,
}

/// Puts an execution into words. `staged` is the line about inputs, when the tool takes any.
pub(super) async fn told(
    ctx: &ToolContext,
    staged: Option<String>,
    result: CodeResult,
    max_chars: usize,
) -> Told {
    let mut lines: Vec<String> = staged.into_iter().collect();
    let by_runner = result.truncated.unwrap_or_default();
    let mut truncated = by_runner.stdout || by_runner.stderr;
    let mut stream = |label: &str, text: &str| {
        let text = text.trim_end_matches(['\n', '\r']);
        if text.is_empty() {
            return None;
        }
        let kept = cut(text, max_chars);
        let mut out = if label.is_empty() { String::new() } else { format!("[{label}]\n") };
        out.push_str(kept.kept);
        if kept.is_cut() {
            truncated = true;
            let shown = utf16_len(kept.kept);
            // Writing to a text does not fail.
            let _ = write!(out, "\n[cut: {shown} of {} characters shown]", shown + kept.dropped);
        }
        Some(out)
    };
    let printed: Vec<String> =
        [stream("", &result.stdout), stream("stderr", &result.stderr)].into_iter().flatten().collect();
    let silent = printed.is_empty();
    lines.extend(printed);
    lines.extend(cut_by_runner(by_runner));
    lines.extend(exit_note(&result));
    let files = result.artifacts.unwrap_or_default();
    if silent && result.ok && files.is_empty() {
        lines.push("[the code ran and printed nothing]".to_owned());
    }
    for file in files {
        lines.push(produced(ctx, file).await);
    }
    let output_chars = (utf16_len(&result.stdout) + utf16_len(&result.stderr)) as u64;
    Told { text: lines.join("\n"), output_chars, truncated }
}

fn cut_by_runner(cut: OutputCut) -> Option<String> {
    let which = match (cut.stdout, cut.stderr) {
        (false, false) => return None,
        (true, false) => "stdout",
        (false, true) => "stderr",
        (true, true) => "stdout and stderr",
    };
    Some(match cut.of_chars {
        Some(total) => format!("[the runner cut {which}, which had {total} characters]"),
        None => format!("[the runner cut {which}; it did not say how much]"),
    })
}

fn exit_note(result: &CodeResult) -> Option<String> {
    match (result.ok, result.exit_code) {
        (true, None | Some(0)) => None,
        (_, Some(code)) => Some(format!("[exit code {code}]")),
        (false, None) => Some("[the code did not end by itself, or ended in an error]".to_owned()),
    }
}

/// One produced file; one that was handed over becomes an artifact, made from what was staged.
async fn produced(ctx: &ToolContext, file: ProducedFile) -> String {
    let ProducedFile { name, bytes, uri, media_type, data, reference } = file;
    let mut facts = format!("[file {name}, {bytes} bytes");
    if let Some(media_type) = &media_type {
        facts = format!("{facts}, {media_type}");
    }
    if let Some(uri) = uri {
        facts = format!("{facts}, at {uri}");
    }
    if let Some(reference) = reference {
        return format!("{facts}, ref {reference}]");
    }
    let Some(data) = data else { return format!("{facts}]") };
    if !ctx.has_artifacts() {
        return format!("{facts}; not kept: this agent has no artifact store]");
    }
    let media_type = media_type.unwrap_or_else(|| "application/octet-stream".into());
    let put = PutArtifact::new(kind_of(&name), media_type, ArtifactData::Binary(data)).label(name);
    match ctx.artifacts().put_derived(put).await {
        Ok(meta) => format!("{facts}, ref {}]", meta.reference),
        Err(error) => format!("{facts}; not kept: {error}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn text(result: CodeResult, max: usize) -> (String, bool) {
        let told = told(&ToolContext::detached("run_code", "c1"), None, result, max).await;
        (told.text, told.truncated)
    }

    /// Proves TOOL-94: what was printed, what went wrong, what was made; nothing is left out silently.
    #[tokio::test]
    async fn every_part_of_an_execution_is_told() {
        assert_eq!(text(CodeResult::printed("42\n"), 100).await, ("42".into(), false));
        assert_eq!(
            text(CodeResult::printed(""), 100).await,
            ("[the code ran and printed nothing]".into(), false)
        );
        assert_eq!(text(CodeResult::failed(Some(1), "Boom"), 100).await.0, "[stderr]\nBoom\n[exit code 1]");
        assert_eq!(
            text(CodeResult::failed(None, ""), 100).await.0,
            "[the code did not end by itself, or ended in an error]"
        );
        assert_eq!(
            text(CodeResult::printed("ab😀de"), 3).await,
            ("ab\n[cut: 2 of 6 characters shown]".into(), true)
        );
        let cut = OutputCut { stdout: true, stderr: true, of_chars: Some(90_000) };
        let by_runner = CodeResult { truncated: Some(cut), ..CodeResult::printed("x") };
        assert_eq!(
            text(by_runner, 10).await,
            ("x\n[the runner cut stdout and stderr, which had 90000 characters]".into(), true)
        );
        let files = CodeResult::printed("").files([
            ProducedFile::at("a.csv", 7, "s3://b/a.csv").media_type("text/csv"),
            ProducedFile { reference: Some("art_1".into()), ..ProducedFile::with_data("b", "xy") },
            ProducedFile::with_data("c.png", "xyz"),
        ]);
        assert_eq!(
            text(files, 10).await.0,
            "[file a.csv, 7 bytes, text/csv, at s3://b/a.csv]\n[file b, 2 bytes, ref art_1]\n[file c.png, 3 bytes; not \
             kept: this agent has no artifact store]"
        );
        assert_eq!(text(CodeResult::printed("").files([]), 10).await.0, "[the code ran and printed nothing]");
    }
}
