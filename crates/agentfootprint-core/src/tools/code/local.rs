//! A code runner over processes of this machine (TOOL-98): isolation, not a sandbox.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentfootprint_record::text::cut;
use async_trait::async_trait;
use footprint::value::{Object, Str, Value};
use indexmap::IndexMap;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::file_name::file_name;
use super::port::{
    CodeRequest, CodeResult, CodeRunner, CodeRunnerError, CodeSession, OutputCut, SessionStart, StagedInput,
};
use crate::run::{lock, millis};

const ID: &str = "local-code-runner";
/// How long an execution may take.
const LIMIT: Duration = Duration::from_secs(30);
/// How much of each stream is kept, in characters.
const KEPT_CHARS: usize = 8000;
/// How long output is still read after the program has ended: something it started may hold the stream open.
const LINGER: Duration = Duration::from_millis(250);

/// Runs code as child processes of this one.
///
/// **This is isolation, not a sandbox.** A program gets a working directory of its own, no input, an environment with nothing
/// but `PATH` and what was added here, and a limit on its time. It can still read and write whatever this user can, use the
/// network, and leave processes behind. Give it code you would run yourself; for a model's code on a shared machine use a
/// runner over a real sandbox.
#[derive(Clone, Debug)]
pub struct LocalCodeRunner {
    languages: IndexMap<Str, (Str, Vec<Str>)>,
    env: IndexMap<Str, Str>,
    limit: Duration,
    kept_chars: usize,
}

/// A [`LocalCodeRunner`] with `python` (`python3 -c`) and `javascript` (`node -e`).
pub fn local_code_runner() -> LocalCodeRunner {
    let languages = [("python", "python3", "-c"), ("javascript", "node", "-e")];
    LocalCodeRunner {
        languages: languages
            .into_iter()
            .map(|(name, program, flag)| (Str::from(name), (Str::from(program), vec![Str::from(flag)])))
            .collect(),
        env: IndexMap::new(),
        limit: LIMIT,
        kept_chars: KEPT_CHARS,
    }
}

impl LocalCodeRunner {
    /// How a language is run: the program and its arguments in front of the code.
    #[must_use]
    pub fn language<S: Into<Str>>(
        mut self,
        name: impl Into<Str>,
        program: impl Into<Str>,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        self.languages.insert(name.into(), (program.into(), arguments));
        self
    }

    /// A variable the code may see beside `PATH`. Nothing else of this process's environment reaches it.
    #[must_use]
    pub fn env(mut self, name: impl Into<Str>, value: impl Into<Str>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// How long an execution may take that names no limit of its own; 30 seconds by default.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// How many characters of each stream are kept; 8000 by default. The rest is read, counted and dropped.
    #[must_use]
    pub fn kept_chars(mut self, chars: usize) -> Self {
        self.kept_chars = chars.max(1);
        self
    }
}

#[async_trait]
impl CodeRunner for LocalCodeRunner {
    fn id(&self) -> &str {
        ID
    }

    fn stages_inputs(&self) -> bool {
        true
    }

    async fn start(&self, start: SessionStart) -> Result<Arc<dyn CodeSession>, CodeRunnerError> {
        self.program(&start.language)?;
        let made =
            tokio::task::spawn_blocking(|| tempfile::Builder::new().prefix("agentfootprint-").tempdir())
                .await;
        let dir =
            made.map_err(|error| failed("start", error))?.map_err(|error| failed("start", error.kind()))?;
        Ok(Arc::new(LocalSession {
            id: format!("local-{}", start.key_hash),
            runner: self.clone(),
            dir: Mutex::new(Some(Arc::new(dir))),
            staged: Mutex::default(),
            stopped: CancellationToken::new(),
        }))
    }
}

impl LocalCodeRunner {
    fn program(&self, language: &str) -> Result<&(Str, Vec<Str>), CodeRunnerError> {
        self.languages.get(language).ok_or_else(|| CodeRunnerError::UnknownLanguage {
            runner: ID.into(),
            language: language.into(),
            has: self.languages.keys().map(|name| format!("`{name}`")).collect(),
        })
    }
}

/// What failed, by its kind: a message of the system could quote the code.
fn failed(operation: &'static str, what: impl std::fmt::Display) -> CodeRunnerError {
    CodeRunnerError::Failed { runner: ID.into(), operation, what: what.to_string() }
}

struct LocalSession {
    id: String,
    runner: LocalCodeRunner,
    /// Private to this user; gone when the session is stopped and nothing runs in it.
    dir: Mutex<Option<Arc<TempDir>>>,
    staged: Mutex<IndexMap<Str, Str>>,
    stopped: CancellationToken,
}

/// How an execution ended.
enum Ended {
    Exited(std::io::Result<std::process::ExitStatus>),
    TimedOut,
    Cancelled,
    Stopped,
}

#[async_trait]
impl CodeSession for LocalSession {
    fn id(&self) -> &str {
        &self.id
    }

    async fn execute(&self, request: CodeRequest) -> Result<CodeResult, CodeRunnerError> {
        let dir = self.dir()?;
        let mut child =
            self.command(&request, &dir)?.spawn().map_err(|error| failed("execute", error.kind()))?;
        let (out, err) =
            (Mutex::new(Kept::new(self.runner.kept_chars)), Mutex::new(Kept::new(self.runner.kept_chars)));
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let reading = async {
            tokio::join!(drain(stdout, &out), drain(stderr, &err));
        };
        tokio::pin!(reading);
        let limit = request.timeout.unwrap_or(self.runner.limit);
        let work = async {
            tokio::select! {
                status = child.wait() => {
                    let _ = tokio::time::timeout(LINGER, &mut reading).await;
                    status
                }
                () = &mut reading => child.wait().await,
            }
        };
        let ended = tokio::select! {
            biased;
            () = request.cancel.cancelled() => Ended::Cancelled,
            () = self.stopped.cancelled() => Ended::Stopped,
            status = work => Ended::Exited(status),
            () = tokio::time::sleep(limit) => Ended::TimedOut,
        };
        let status = match ended {
            Ended::Exited(status) => Some(status.map_err(|error| failed("execute", error.kind()))?),
            ended => {
                // Already gone is fine.
                let _ = child.kill().await;
                match ended {
                    Ended::Cancelled => return Err(CodeRunnerError::Cancelled),
                    Ended::Stopped => return Err(CodeRunnerError::Stopped { runner: ID.into() }),
                    _ => None,
                }
            }
        };
        let (out, err) = (lock(&out), lock(&err));
        let (stdout, mut stderr) = (out.text(), err.text());
        if status.is_none() {
            if !stderr.is_empty() && !stderr.ends_with('\n') {
                stderr.push('\n');
            }
            stderr.push_str(&format!("the program was ended after {} ms", millis(limit)));
        }
        let mut result = CodeResult { stdout, stderr, ..CodeResult::default() };
        result.ok = status.is_some_and(|status| status.success());
        result.exit_code = status.and_then(|status| status.code());
        let of_chars = [&out, &err].into_iter().filter(|kept| kept.is_cut()).map(|kept| kept.chars).sum();
        let truncated = OutputCut { stdout: out.is_cut(), stderr: err.is_cut(), of_chars: Some(of_chars) };
        result.truncated = (truncated.stdout || truncated.stderr).then_some(truncated);
        Ok(result)
    }

    async fn stage_inputs(&self, inputs: Vec<StagedInput>) -> Result<IndexMap<Str, Str>, CodeRunnerError> {
        let dir = self.dir()?;
        let written = tokio::task::spawn_blocking(move || {
            inputs
                .into_iter()
                .map(|input| {
                    let path = dir.path().join(file_name(&input.file_name));
                    std::fs::write(&path, &input.data)
                        .map(|()| (input.name, Str::from(path.to_string_lossy().into_owned())))
                })
                .collect::<std::io::Result<IndexMap<Str, Str>>>()
        })
        .await;
        let written = written
            .map_err(|error| failed("stage_inputs", error))?
            .map_err(|error| failed("stage_inputs", error.kind()))?;
        lock(&self.staged).extend(written.clone());
        Ok(written)
    }

    async fn stop(&self) -> Result<(), CodeRunnerError> {
        self.stopped.cancel();
        let dir = lock(&self.dir).take();
        // An execution that is just being ended removes it instead.
        let Some(dir) = dir.and_then(Arc::into_inner) else { return Ok(()) };
        tokio::task::spawn_blocking(move || dir.close())
            .await
            .map_err(|error| failed("stop", error))?
            .map_err(|error| failed("stop", error.kind()))
    }
}

impl LocalSession {
    fn dir(&self) -> Result<Arc<TempDir>, CodeRunnerError> {
        lock(&self.dir).clone().ok_or_else(|| CodeRunnerError::Stopped { runner: ID.into() })
    }

    fn command(&self, request: &CodeRequest, dir: &TempDir) -> Result<Command, CodeRunnerError> {
        let (program, arguments) = self.runner.program(&request.language)?;
        let mut command = Command::new(&**program);
        command.args(arguments.iter().map(|argument| &**argument)).arg(&*request.code);
        command.current_dir(dir.path()).env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.envs(self.runner.env.iter().map(|(name, value)| (&**name, &**value)));
        let staged = lock(&self.staged);
        if !staged.is_empty() {
            let manifest: Object =
                staged.iter().map(|(name, path)| (name.clone(), Value::from(path.clone()))).collect();
            command.env("AF_STAGED_INPUTS", Value::Object(manifest).to_string());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        Ok(command)
    }
}

/// The beginning of a stream, and how much there was.
struct Kept {
    bytes: Vec<u8>,
    most_bytes: usize,
    most_chars: usize,
    chars: u64,
}

impl Kept {
    fn new(most_chars: usize) -> Self {
        // No UTF-16 unit takes more than three bytes; the surplus is dropped with the cut.
        Self { bytes: Vec::new(), most_bytes: most_chars * 3 + 4, most_chars, chars: 0 }
    }

    fn push(&mut self, more: &[u8]) {
        // Every byte that continues no scalar begins one; those of four bytes are two units.
        let units = more.iter().map(|byte| match byte {
            0x80..=0xBF => 0,
            0xF0.. => 2,
            _ => 1,
        });
        self.chars += units.sum::<u64>();
        let room = self.most_bytes.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(more.get(..room.min(more.len())).unwrap_or_default());
    }

    fn is_cut(&self) -> bool {
        self.chars > self.most_chars as u64
    }

    fn text(&self) -> String {
        cut(&String::from_utf8_lossy(&self.bytes), self.most_chars).kept.to_owned()
    }
}

/// Reads a stream to its end, keeping its beginning.
async fn drain(stream: Option<impl AsyncRead + Unpin>, into: &Mutex<Kept>) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 8192];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        lock(into).push(buffer.get(..read).unwrap_or_default());
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    async fn session(runner: LocalCodeRunner) -> Arc<dyn CodeSession> {
        let runner = runner.language("sh", "sh", ["-c"]);
        runner.start(SessionStart::new("t=_/p=_/r=1", "sh")).await.unwrap()
    }

    fn sh(code: &str) -> CodeRequest {
        CodeRequest::new(code, "sh")
    }

    /// Proves TOOL-98: what a program prints and how it ends; its directory lasts as long as the session.
    #[tokio::test]
    async fn programs_run_in_a_directory_of_their_own() {
        let session = session(local_code_runner()).await;
        let said = session.execute(sh("echo hi; echo kept > note; pwd")).await.unwrap();
        assert!(said.ok && said.exit_code == Some(0) && said.artifacts.is_none());
        let dir = said.stdout.lines().nth(1).unwrap().to_owned();
        assert!(dir.contains("agentfootprint-"));
        assert_eq!(session.execute(sh("cat note")).await.unwrap().stdout, "kept\n");
        let failed = session.execute(sh("echo no >&2; exit 3")).await.unwrap();
        assert_eq!(
            (failed.ok, failed.exit_code, failed.stderr.as_str(), failed.stdout.as_str()),
            (false, Some(3), "no\n", "")
        );
        session.stop().await.unwrap();
        session.stop().await.unwrap();
        assert!(!std::path::Path::new(&dir).exists());
        let gone = session.execute(sh("echo hi")).await.unwrap_err();
        assert_eq!(gone.to_string(), "the session of the code runner `local-code-runner` was stopped");
    }

    /// Proves TOOL-98: only `PATH` is inherited, and there is nothing to read.
    #[tokio::test]
    async fn the_environment_is_an_allow_list() {
        let session = session(local_code_runner().env("REGION", "eu")).await;
        let said = session.execute(sh("env | cut -d= -f1 | sort; cat")).await.unwrap();
        let names: Vec<&str> =
            said.stdout.lines().filter(|name| !["PWD", "_", "SHLVL", "OLDPWD"].contains(name)).collect();
        assert_eq!(names, ["PATH", "REGION"]);
    }

    /// Proves TOOL-98, TOOL-96: inputs are files of the session, and every later execution is told where.
    #[tokio::test]
    async fn inputs_are_staged_for_every_later_execution() {
        let session = session(local_code_runner()).await;
        let staged = session
            .stage_inputs(vec![
                StagedInput::new("sales", "sales.csv", "text/csv", "a,b"),
                StagedInput::new("../x", "../x", "text/plain", "odd"),
            ])
            .await
            .unwrap();
        let paths: Vec<&str> = staged.values().map(|path| path.rsplit('/').next().unwrap()).collect();
        assert_eq!(paths, ["sales.csv", "_enc_.._u002fx"]);
        session.stage_inputs(vec![StagedInput::new("more", "more", "x/y", "2")]).await.unwrap();
        let said = session.execute(sh("cat sales.csv; printf '\\n%s' \"$AF_STAGED_INPUTS\"")).await.unwrap();
        let (file, manifest) = said.stdout.split_once('\n').unwrap();
        assert_eq!(file, "a,b");
        let manifest: serde_json::Map<String, serde_json::Value> = serde_json::from_str(manifest).unwrap();
        assert_eq!(manifest.keys().collect::<Vec<_>>(), ["sales", "../x", "more"]);
        assert_eq!(manifest.get("sales").unwrap().as_str(), staged.get("sales").map(|path| &**path));
    }

    /// Proves TOOL-98: a program that does not end is ended, and what it printed until then is kept.
    #[tokio::test]
    async fn a_program_that_does_not_end_is_ended() {
        let session = session(local_code_runner()).await;
        let request = sh("echo begun; while :; do :; done").timeout(Duration::from_millis(400));
        let said = session.execute(request).await.unwrap();
        assert_eq!((said.ok, said.exit_code, said.stdout.as_str()), (false, None, "begun\n"));
        assert_eq!(said.stderr, "the program was ended after 400 ms");
        let cancel = CancellationToken::new();
        cancel.cancel();
        let refused = session.execute(sh("while :; do :; done").cancel(cancel)).await.unwrap_err();
        assert_eq!(refused, CodeRunnerError::Cancelled);
    }

    /// Proves TOOL-98: a stream is kept to its limit, and counted to its end.
    #[tokio::test]
    async fn a_long_stream_is_cut_and_counted() {
        let session = session(local_code_runner().kept_chars(5)).await;
        let said = session
            .execute(sh(
                "printf 'äöü😀x'; i=0; while [ $i -lt 20000 ]; do printf 0123456789; i=$((i+1)); done",
            ))
            .await
            .unwrap();
        assert_eq!(said.stdout, "äöü😀");
        assert_eq!(said.truncated, Some(OutputCut { stdout: true, stderr: false, of_chars: Some(200_006) }));
        let bad = session.execute(sh("printf 'a\\377b'")).await.unwrap();
        assert_eq!((bad.stdout.as_str(), bad.truncated), ("a\u{FFFD}b", None));
    }

    /// Proves TOOL-98.
    #[tokio::test]
    async fn a_language_it_has_not_is_refused() {
        let refused = local_code_runner().start(SessionStart::new("k", "cobol")).await.err().unwrap();
        assert_eq!(
            refused.to_string(),
            "the code runner `local-code-runner` has no language `cobol`; it has `python`, `javascript`"
        );
        let missing = local_code_runner().language("none", "/no/such/program", ["-c"]);
        let session = missing.start(SessionStart::new("k", "none")).await.unwrap();
        let refused = session.execute(CodeRequest::new("x", "none")).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the code runner `local-code-runner` failed at execute: entity not found"
        );
    }
}
