//! `report`: a bug report of what was agreed to.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use agentfootprint::debug::report::{
    ReportOptions, ReportSource, ReportUnit, describe_bug_report, export_bug_report,
};
use agentfootprint::footprint::value::{Object, Value};
use clap::Args;

use crate::input::{Given, Input, recording_of};
use crate::out::{Answer, Failure, save};

#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// The recording; `-` reads standard input.
    file: PathBuf,
    /// What went wrong, in a few words.
    #[arg(long)]
    title: Option<String>,
    /// Units to send (`conv-1`, `file-conversation`, …). Without any, the report is only described.
    #[arg(long, num_args = 1.., value_name = "ID", requires = "title")]
    include: Vec<String>,
    /// Only says what could be sent.
    #[arg(long, conflicts_with = "include")]
    describe: bool,
    /// The folder the report is written into.
    #[arg(long, default_value = ".")]
    folder: PathBuf,
    #[command(flatten)]
    given: Given,
}

pub(crate) fn report(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let input = Input { file: args.file.clone(), given: args.given.clone() };
    let source = ReportSource::of(recording_of(&args.file, args.given.reading())?);
    if args.include.is_empty() || args.describe {
        return described(&input, &describe_bug_report(&source));
    }
    let now =
        SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|now| i64::try_from(now.as_millis()).ok());
    let title = args.title.clone().unwrap_or_default();
    let options = ReportOptions::new(title, now.unwrap_or_default()).include(args.include.clone());
    let report =
        export_bug_report(&source, &options).map_err(|error| Failure::unusable(error.to_string()))?;
    let path = Path::new(&args.folder).join(&report.name);
    save(&path, &report.bytes)?;
    let text =
        format!("{} ({} bytes; as confidential as what is in it)\n", path.display(), report.bytes.len());
    Answer::new("report", text)
        .with("path", path.display().to_string())
        .with("manifest", report.manifest)
        .give(&input)?;
    Ok(ExitCode::SUCCESS)
}

fn described(input: &Input, units: &[ReportUnit]) -> Result<ExitCode, Failure> {
    let mut text = String::from("nothing was written; send units with --title T --include ID…\n");
    let rows = units.iter().map(|unit| {
        let _ = writeln!(text, "{:<18} {:>10} bytes  {}", unit.id, unit.bytes, unit.preview);
        let mut row = Object::new();
        row.insert("id", Value::from(unit.id.as_str()));
        row.insert("bytes", unit.bytes.into());
        row.insert("preview", Value::from(unit.preview.as_str()));
        Value::Object(row)
    });
    let rows: Vec<Value> = rows.collect();
    Answer::new("report", text).with("units", rows).give(input)?;
    Ok(ExitCode::SUCCESS)
}
