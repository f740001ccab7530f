//! `audit verify` and `audit export`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use agentfootprint::debug::audit::{AuditExporter, AuditOptions, PayloadMode, verify_audit_bundles};
use clap::{Args, Subcommand};

use crate::input::{Given, Input, read, with_events};
use crate::out::{Answer, Failure, write};

#[derive(Subcommand, Debug)]
pub(crate) enum AuditCommand {
    /// Verifies a bundle, or several that follow one another. Exit code 1 when the chain is broken.
    Verify(VerifyArgs),
    /// Turns the events of a recording into a bundle.
    Export {
        #[command(flatten)]
        input: Input,
        /// Whole payloads instead of bounded ones without content.
        #[arg(long)]
        full: bool,
        /// Also single tokens.
        #[arg(long)]
        tokens: bool,
    },
}

#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The bundles, in order; `-` reads standard input.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    given: Given,
}

pub(crate) fn audit(command: &AuditCommand) -> Result<ExitCode, Failure> {
    match command {
        AuditCommand::Verify(args) => verify(args),
        AuditCommand::Export { input, full, tokens } => export(input, *full, *tokens),
    }
}

fn verify(args: &VerifyArgs) -> Result<ExitCode, Failure> {
    let files =
        args.files.iter().map(|file| read(file, args.given.max_bytes)).collect::<Result<Vec<_>, _>>()?;
    let verdict = verify_audit_bundles(files.iter().map(Vec::as_slice));
    let text = match (&verdict.final_hash, &verdict.reason) {
        (Some(hash), _) => format!(
            "the chain holds: {} records\nfinal hash {hash}\ncompare it with the one that was anchored when the log was written\n",
            verdict.records_checked
        ),
        (None, reason) => format!(
            "the chain is broken: {}\n{} records before it hold\n",
            reason.as_deref().unwrap_or("for no stated reason"),
            verdict.records_checked
        ),
    };
    let input = Input { file: args.files.first().cloned().unwrap_or_default(), given: args.given.clone() };
    Answer::new("audit-verify", text).with("verdict", verdict.to_value()).give(&input)?;
    // What cannot even be read as a bundle is unusable input, not a broken chain.
    let unusable = verdict
        .reason
        .as_ref()
        .is_some_and(|reason| reason.contains("not JSON") || reason.contains("not an audit bundle"));
    Ok(match (verdict.valid, unusable) {
        (true, _) => ExitCode::SUCCESS,
        (false, true) => ExitCode::from(2),
        (false, false) => ExitCode::from(1),
    })
}

fn export(input: &Input, full: bool, tokens: bool) -> Result<ExitCode, Failure> {
    let opened = with_events(input)?;
    let mode = if full { PayloadMode::Full } else { PayloadMode::Bounded };
    let mut exporter = AuditExporter::new(AuditOptions {
        include_token_events: tokens,
        payload_mode: mode,
        ..AuditOptions::default()
    });
    opened.recording().events().iter().for_each(|event| exporter.record(event));
    let now =
        SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|now| i64::try_from(now.as_millis()).ok());
    let bundle = exporter.drain(now.unwrap_or_default());
    write(input, &format!("{}\n", bundle.to_json()))?;
    Ok(ExitCode::SUCCESS)
}

/// A bounded export.
#[cfg(test)]
pub(crate) fn of(input: &Input) -> Result<ExitCode, Failure> {
    export(input, false, false)
}
