//! `view`: a recording in the browser.

use std::path::PathBuf;
use std::process::ExitCode;

use agentfootprint::record::OpenRecording;
use clap::Args;

use crate::input::{Reading, recording_of};
use crate::out::{Failure, save, say};

/// The viewer, one file without dependencies.
const PAGE: &str = include_str!("../assets/viewer.html");
/// Where a recording goes in it.
const PLACE: &str = "<!--recording-->";

#[derive(Args, Debug)]
pub(crate) struct ViewArgs {
    /// The recording; `-` reads standard input.
    file: PathBuf,
    /// Writes one page with the recording inside (default `<FILE>.html`).
    #[arg(long, value_name = "OUT")]
    export: Option<PathBuf>,
    /// Serves the page on this machine instead, on this port or a free one.
    #[cfg(feature = "serve")]
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0", conflicts_with = "export")]
    serve: Option<u16>,
    /// Reads files up to this size (default 512 MiB).
    #[arg(long)]
    max_bytes: Option<usize>,
}

pub(crate) fn view(args: &ViewArgs) -> Result<ExitCode, Failure> {
    let opened = recording_of(&args.file, Reading { max_bytes: args.max_bytes, run: None })?;
    #[cfg(feature = "serve")]
    if let Some(port) = args.serve {
        return crate::block_on(crate::serve::viewer(PAGE, opened.into_recording(), port));
    }
    let out = match &args.export {
        Some(out) => out.clone(),
        None if args.file == std::path::Path::new("-") => PathBuf::from("recording.html"),
        None => args.file.with_extension("html"),
    };
    save(&out, page(&opened)?.as_bytes())?;
    say(format!(
        "{} (as confidential as the recording in it)\n",
        agentfootprint::debug::plain(&out.display().to_string())
    ));
    Ok(ExitCode::SUCCESS)
}

/// A page beside the answer.
#[cfg(test)]
pub(crate) fn of(input: &crate::input::Input) -> Result<ExitCode, Failure> {
    view(&ViewArgs {
        file: input.file.clone(),
        export: input.out.clone(),
        #[cfg(feature = "serve")]
        serve: None,
        max_bytes: None,
    })
}

/// The page with the recording inside; nothing in it can end the element, and the page can reach nothing.
fn page(opened: &OpenRecording) -> Result<String, Failure> {
    // Plain or, when the run was long, packed: the page reads both.
    let json = opened
        .recording()
        .to_file_json()
        .map_err(|error| Failure::unusable(error.to_string()))?
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    let (before, after) = PAGE
        .split_once(PLACE)
        .ok_or_else(|| Failure::unusable("this build's viewer page has no place for a recording"))?;
    let before = before.replace("connect-src 'self'", "connect-src 'none'");
    Ok(format!("{before}<script type=\"application/json\" id=\"recording\">{json}</script>{after}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_recording_cannot_leave_its_element() {
        let text = include_str!("../../agentfootprint-debug/tests/fixtures/support.json")
            .replace("Let me look.", "</script><script>alert(1)</script>\u{2028}");
        let opened = agentfootprint::record::Recording::open(text.as_bytes()).unwrap();
        let page = page(&opened).unwrap();
        assert!(!page.contains("<script>alert") && !page.contains('\u{2028}'));
        let inside = page.split_once("id=\"recording\">").unwrap().1.split_once("</script>").unwrap().0;
        let again = agentfootprint::record::Recording::open(inside.as_bytes()).unwrap();
        assert_eq!(again.recording().to_json(), opened.recording().to_json());
        assert!(page.contains("connect-src 'none'") && !page.contains("connect-src 'self'"));
        assert_eq!(PAGE.matches(PLACE).count(), 1);
    }
}
