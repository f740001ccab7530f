//! The doors outside bytes come in by. Each takes any bytes, never panics on them, and what it accepts survives being
//! written and read again. Shared by the fuzz targets and by the stable test that drives the same functions.
#![allow(dead_code)]

use footprint::ids::{RuntimeStageId, build_branch_segment, parse_branch_segment};
use footprint::pause::FlowchartCheckpoint;
use footprint::snapshot::{OpenLimits, Recording, Snapshot, read_snapshot};
use footprint::structure::Structure;

fn limits() -> OpenLimits {
    OpenLimits::default()
}

/// A snapshot, bare and inside a recording.
pub(crate) fn snapshot(data: &[u8]) {
    let _ = Recording::open(data, &limits());
    let Ok(snapshot) = read_snapshot(data, &limits()) else { return };
    let text = snapshot.to_json();
    let again = Snapshot::from_json(&text).map(|again| again.to_json());
    assert_eq!(again.ok().as_deref(), Some(&*text), "a snapshot that was read cannot be read again");
    // Whatever was accepted can be asked.
    let query = footprint::query::TraceQuery::new(snapshot);
    let _ = query.overview();
    for (step, _) in query.root().steps().take(4) {
        let _ = query.root().causal_chain(step, &footprint::query::SliceOptions::default());
    }
}

/// A checkpoint.
pub(crate) fn checkpoint(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(checkpoint) = FlowchartCheckpoint::from_json(text) else { return };
    let text = checkpoint.to_json();
    let again = FlowchartCheckpoint::from_json(&text).map(|again| again.to_json());
    assert_eq!(again.ok().as_deref(), Some(&*text), "a checkpoint that was read cannot be read again");
}

/// A structure.
pub(crate) fn structure(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(structure) = Structure::from_json(text) else { return };
    let text = structure.to_json();
    let again = Structure::from_json(&text).map(|again| again.to_json());
    assert_eq!(again.ok().as_deref(), Some(&*text), "a structure that was read cannot be read again");
}

/// Addresses and generated segments: parsing is total.
pub(crate) fn addresses(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let address = RuntimeStageId::parse(&text);
    let shown = address.to_string();
    assert_eq!(RuntimeStageId::parse(&shown).to_string(), shown);
    let _ = (address.subflow_path(), address.stage_id(), address.index(), address.depth());
    if let Some((parent, index)) = parse_branch_segment(&text) {
        let built = build_branch_segment(parent, index);
        assert_eq!(parse_branch_segment(&built), Some((parent, index)));
    }
}
