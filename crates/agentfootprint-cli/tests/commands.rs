//! The commands over the worked example, as a shell sees them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../agentfootprint-debug/tests/fixtures/support.json")
}

fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Runs the command; `FILE` stands for the fixture.
fn run(args: &[&str]) -> Output {
    let fixture = fixture();
    let args =
        args.iter().map(|arg| if *arg == "FILE" { fixture.as_os_str().to_owned() } else { (*arg).into() });
    Command::new(env!("CARGO_BIN_EXE_agentfootprint")).args(args).stdin(Stdio::null()).output().unwrap()
}

fn out(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refusal(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

/// Proves REC-159, REC-160.
#[test]
fn every_command_answers_the_worked_example_in_text() {
    for (name, args) in [
        ("summary", &["summary", "FILE"][..]),
        ("step", &["step", "FILE", "call-llm#8"]),
        ("value", &["value", "FILE", "final#10", "finalContent"]),
        ("who", &["who", "FILE", "history"]),
        ("find", &["find", "FILE", "90 days"]),
        ("tool", &["tool", "FILE", "t1"]),
        ("errors", &["errors", "FILE"]),
        ("events", &["events", "FILE", "--type", "stream.*"]),
        ("mermaid", &["mermaid", "FILE", "--view", "steps"]),
        ("diff", &["diff", "FILE", "FILE"]),
        ("validate", &["validate", "FILE"]),
        ("why", &["why", "FILE", "finalContent"]),
    ] {
        let text = out(args);
        if name != "mermaid" {
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{name} has long lines");
        }
        insta::assert_snapshot!(name, text);
    }
    // A long path wraps.
    let opened = out(&["open", "FILE"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(opened.contains("support.json: a recording no envelope") && opened.contains("⚠ no-control-deps"));
    let cut = out(&["events", "FILE", "--limit", "3"]);
    assert!(cut.contains("… 21 more events") || cut.contains("more events; raise --limit"), "{cut}");
    let cut = out(&["step", "FILE", "call-llm#8", "--limit", "2"]);
    assert_eq!(cut.lines().count(), 3);
}

/// Proves REC-159.
#[test]
fn json_answers_are_one_object_with_a_schema() {
    for (command, args) in [
        ("open", &["open", "FILE"][..]),
        ("summary", &["summary", "FILE"]),
        ("explain", &["explain", "FILE"]),
        ("why", &["why", "FILE"]),
        ("step", &["step", "FILE", "seed#0"]),
        ("errors", &["errors", "FILE"]),
        ("events", &["events", "FILE"]),
        ("mermaid", &["mermaid", "FILE"]),
        ("diff", &["diff", "FILE", "FILE"]),
        ("validate", &["validate", "FILE"]),
    ] {
        let mut args = args.to_vec();
        args.extend(["--format", "json"]);
        let answer: Value = serde_json::from_str(&out(&args)).unwrap();
        assert_eq!(answer["schema"], json!(format!("agentfootprint.cli.{command}/1")));
        assert!(answer["limits"].is_array());
    }
    let summary: Value = serde_json::from_str(&out(&["summary", "FILE", "--format", "json"])).unwrap();
    assert_eq!(
        summary["totals"],
        json!({ "modelCalls": 2, "toolCalls": 1, "inputTokens": 60, "outputTokens": 14 })
    );
}

/// Proves REC-19, REC-158: and `open` says what stands in it.
#[test]
fn a_file_is_recognised_by_what_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let packed = folder.path().join("packed").to_str().unwrap().to_owned();
    out(&["pack", "FILE", "--out", &packed]);
    assert!(text_of(Path::new(&packed)).starts_with("{\"format\":\"agentfootprint.recording.packed.v2\""));
    assert!(out(&["open", &packed]).contains("a packed recording"));
    assert!(out(&["open", "FILE"]).contains("prompts, arguments and results stand in it word for word"));
    let plain: Value = serde_json::from_str(&out(&["unpack", &packed])).unwrap();
    assert_eq!(plain, serde_json::from_str::<Value>(&text_of(&fixture())).unwrap());
    let events = at("events.ndjson", &out(&["events", "FILE", "--ndjson"]));
    assert!(out(&["open", &events]).contains("an event file"));
    assert!(out(&["events", &events, "--type", "*turn_end"]).starts_with("⚠ limits"));
    assert!(out(&["mermaid", &events, "--view", "steps"]).starts_with("sequenceDiagram"));
    assert!(refusal(&["summary", &events]).contains("has no snapshot"));
    let torn = at("torn.ndjson", &format!("{}{{\"type\":\"x", text_of(Path::new(&events))));
    assert!(out(&["open", &torn]).contains("⚠ 1 lines are no events"));
    let bundle = at("audit.json", &out(&["audit", "export", "FILE"]));
    assert!(out(&["open", &bundle]).contains("an audit bundle"));
    assert!(refusal(&["summary", &bundle]).contains("use `audit verify`"));
    assert!(out(&["audit", "verify", &bundle]).starts_with("the chain holds"));
    let broken = at("broken.json", &text_of(Path::new(&bundle)).replacen("[29 chars]", "[27 chars]", 1));
    let verdict = run(&["audit", "verify", &broken]);
    assert_eq!(verdict.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&verdict.stdout).contains("record 2 was edited"));
    let trace = at("trace.json", r#"{"version":1,"events":[],"redaction":"pii"}"#);
    assert!(out(&["open", &trace]).contains("a shareable trace"));
    assert!(refusal(&["why", &trace]).contains("a trace is a presentation"));
    let stdin = Command::new(env!("CARGO_BIN_EXE_agentfootprint"))
        .args(["open", "-"])
        .stdin(std::fs::File::open(fixture()).unwrap())
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&stdin.stdout).starts_with("-: a recording"));
}

#[test]
fn unusable_input_is_one_sentence_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    for (text, says) in [
        (&b""[..], "the file ends inside a value"),
        (b"not json", "not a recording"),
        (b"[1,2]", "not a recording"),
        (b"{\"a\":1}", "no `snapshot` object"),
        (b"{\"snapshot\":{}}", "no usable"),
        (
            b"{\"format\":\"agentfootprint.recording.v7\",\"recording\":{}}",
            "unknown format `agentfootprint.recording.v7`",
        ),
        (b"{\"format\":\"agentfootprint.recording.packed.v9\",\"recording\":{}}", "packed.v9"),
        (b"PK\x03\x04rest", "a zip archive, but no bug report"),
        (b"{\"format\":\"\\u001b[31mred\\u202e\"}", "red"),
    ] {
        let file = at("input", text);
        let said = refusal(&["summary", &file]);
        assert!(said.contains(says), "{said}");
        assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}'));
    }
    assert!(refusal(&["summary", "/no/such/file"]).contains("cannot be read"));
    assert!(refusal(&["summary", "FILE", "--max-bytes", "100"]).contains("raise --max-bytes"));
    assert!(refusal(&["find", "FILE", "x"]).contains("2 to 200"));
    assert_eq!(run(&["summary"]).status.code(), Some(2));
    assert_eq!(run(&["nonsense"]).status.code(), Some(2));
}

#[test]
fn findings_are_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let mut other: Value = serde_json::from_str(&text_of(&fixture())).unwrap();
    other["snapshot"]["sharedState"]["iteration"] = json!(9);
    let meta = other["events"][0]["meta"].clone();
    let payload = json!({ "error": "boom\u{1b}[31m", "stage": "final", "scope": "run" });
    let failed = json!({ "type": "agentfootprint.error.fatal", "payload": payload, "meta": meta });
    other["events"].as_array_mut().unwrap().push(failed);
    let path = folder.path().join("other.json");
    std::fs::write(&path, other.to_string()).unwrap();
    let path = path.to_str().unwrap();
    let code = |args: &[&str]| run(args).status.code();
    assert_eq!(code(&["validate", path]), Some(1));
    assert_eq!(code(&["diff", "FILE", path]), Some(1));
    assert_eq!(code(&["errors", path]), Some(1));
    let said = String::from_utf8(run(&["errors", path]).stdout).unwrap();
    assert!(said.contains("the run failed: boom") && !said.contains('\u{1b}'));
    assert_eq!(code(&["errors", "FILE", "--kind", "missing-column"]), Some(0));
    assert_eq!(code(&["errors", "FILE", "--kind", "missing-column", "--require-evidence"]), Some(1));
}

#[test]
fn a_huge_hostile_line_is_cut_and_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let mut other: Value = serde_json::from_str(&text_of(&fixture())).unwrap();
    let line = "\u{1b}]0;title\u{7}\u{202e}".repeat(1_000_000);
    other["snapshot"]["commitLog"][8]["overwrite"]["finalContent"] = json!(line);
    let last = other["events"].as_array().unwrap().len() - 2;
    other["events"][last]["payload"]["finalContent"] = json!(line);
    let path = folder.path().join("other.json");
    std::fs::write(&path, other.to_string()).unwrap();
    let path = path.to_str().unwrap();
    for args in [
        &["value", path, "final#10", "finalContent", "--chars", "8000"][..],
        &["step", path, "final#10"],
        &["find", path, "title"],
        &["why", path],
        &["explain", path],
        &["events", path],
        &["summary", path],
        &["mermaid", path, "--view", "steps"],
    ] {
        let text = out(args);
        assert!(text.len() < 200_000, "{args:?} wrote {} bytes", text.len());
        assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{args:?}");
    }
}

/// Proves REC-134, REC-158.
#[test]
fn a_report_is_described_then_written_and_opens_like_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let described = out(&["report", "FILE"]);
    assert!(
        described.contains("nothing was written")
            && described.contains("conv-1")
            && described.contains("file-environment")
    );
    let written = out(&[
        "report",
        "FILE",
        "--title",
        "Wrong refund!",
        "--include",
        "conv-1",
        "file-narrative",
        "--folder",
        path,
        "--format",
        "json",
    ]);
    let written: Value = serde_json::from_str(&written).unwrap();
    let archive = written["path"].as_str().unwrap();
    assert!(archive.ends_with("-wrong-refund.zip"));
    assert_eq!(written["manifest"]["excluded"]["unitIds"], json!(["file-conversation", "file-environment"]));
    assert_eq!(out(&["summary", archive]), out(&["summary", "FILE"]));
    assert_eq!(out(&["summary", archive, "--run", "conv-1"]), out(&["summary", "FILE"]));
    assert!(
        refusal(&["summary", archive, "--run", "conv-9"]).contains("no recording `conv-9`; there are conv-1")
    );
    assert!(
        refusal(&["report", "FILE", "--title", "t", "--include", "conv-2"])
            .contains("there is no unit `conv-2`")
    );
    assert!(refusal(&["report", "FILE", "--title", " ", "--include", "conv-1"]).contains("title is blank"));
    assert!(
        refusal(&["report", "FILE", "--title", "t", "--include", "file-narrative"])
            .contains("no conversation is included")
    );
}

#[test]
fn completions_manuals_and_pages_are_written() {
    assert!(out(&["completions", "bash"]).contains("agentfootprint"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    out(&["man", path]);
    assert!(folder.path().join("agentfootprint-validate.1").is_file());
    let page = folder.path().join("run.html");
    out(&["view", "FILE", "--export", page.to_str().unwrap()]);
    assert!(text_of(&page).contains("<script type=\"application/json\" id=\"recording\">{\"snapshot\""));
    let saved = folder.path().join("answer.txt");
    assert_eq!(out(&["who", "FILE", "iteration", "--out", saved.to_str().unwrap()]), "");
    assert!(text_of(&saved).contains("was written 2 times"));
}

/// Runs the linter under one of its two names, with a catalogue on standard input.
fn lint(binary: &str, args: &[&str], catalogue: &str) -> (Option<i32>, String, String) {
    use std::io::Write as _;
    let mut child = Command::new(binary)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its arguments may be gone before it has read this.
    let _ = child.stdin.take().unwrap().write_all(catalogue.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Proves TOOL-115: one grammar and one exit contract under both names; likeness fails only with a threshold.
#[test]
fn a_catalogue_is_linted_under_both_names() {
    let good = |name: &str, what: &str| {
        json!({ "name": name, "description": format!("Looks {what} up by its number, for questions about one of them."),
                "inputSchema": { "type": "object", "properties": {} } })
    };
    let fine = json!([good("get_order", "an order"), good("get_orders", "an order")]).to_string();
    let bad = json!({ "tools": [{ "name": "get", "description": "" }] }).to_string();
    let own = env!("CARGO_BIN_EXE_agentfootprint-lint-tools");
    let sub = env!("CARGO_BIN_EXE_agentfootprint");
    let under = |name: &str| if name == own { vec!["-"] } else { vec!["lint-tools", "-"] };
    for name in [own, sub] {
        let with = |more: &[&'static str]| [under(name), more.to_vec()].concat();
        let (code, out, _) = lint(name, &with(&[]), &fine);
        assert_eq!(code, Some(0), "{out}");
        assert!(
            out.contains("alike  get_order ~ get_orders") && out.contains("likeness is reported only"),
            "{out}"
        );
        let (code, out, _) = lint(name, &with(&["--threshold", "0.9"]), &fine);
        assert!(code == Some(1) && out.contains("confusable  get_order ~ get_orders"), "{out}");
        let (code, out, _) = lint(name, &with(&["--no-similarity", "--json"]), &fine);
        assert_eq!(
            (code, serde_json::from_str::<Value>(&out).unwrap()["similarity"].clone()),
            (Some(0), Value::Null)
        );
        let (code, out, _) = lint(name, &with(&["--no-similarity"]), &bad);
        assert!(code == Some(1) && out.contains("error  get: it has no description"), "{out}");
        let (code, out, err) = lint(name, &with(&[]), "not json");
        assert!(code == Some(2) && out.is_empty() && err.contains("the catalogue is not JSON"), "{err}");
        let (code, ..) = lint(name, &with(&["--no-such-option"]), &fine);
        assert_eq!(code, Some(2));
        let (code, _, err) = lint(name, &with(&["--threshold", "7"]), &fine);
        assert!(code == Some(2) && err.contains("`--threshold` must be between 0 and 1"), "{err}");
    }
}

/// Output that is lost is a failure, unless it is a reader that has read enough.
#[cfg(target_os = "linux")]
#[test]
fn lost_output_is_not_success() {
    let file = fixture();
    let to = |stdout: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentfootprint"));
        command.arg("explain").arg(&file).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped());
        command.spawn().unwrap().wait_with_output().unwrap()
    };
    let full = to(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap().into());
    assert_eq!(full.status.code(), Some(1));
    let said = String::from_utf8(full.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("could not be written") && said.contains("--out"), "{said}");

    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let closed = to(writer.into());
    assert_eq!((closed.status.code(), closed.stderr), (Some(0), Vec::new()));
}

/// What a command saves is saved, whoever reads along.
#[test]
fn a_recording_is_saved_when_nobody_reads_the_output() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let path = folder.path().join("r.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentfootprint"));
    command.args(["demo", "--out"]).arg(&path).stdin(Stdio::null()).stdout(writer);
    assert!(command.status().unwrap().success());
    assert!(path.exists());
}

/// Why the answer says what it does not say is no question.
#[test]
fn words_the_answer_does_not_say_are_refused() {
    assert!(refusal(&["why", "FILE", "--about", "zebra"]).contains("does not say `zebra`"));
    assert!(refusal(&["why", "FILE", "--about", " "]).contains("blank"));
    assert!(out(&["why", "FILE", "--about", "90 days"]).contains("90 days"));
}

/// Proves REC-182: without a terminal there is one sentence, whatever the file is.
#[cfg(feature = "tui")]
#[test]
fn the_terminal_viewer_refuses_what_is_no_terminal() {
    for file in ["FILE", "no-such-file.json"] {
        let said = refusal(&["tui", file]);
        assert!(said.contains("terminal") && said.contains("`explain`"), "{said}");
    }
}
