//! Secrets that take a way the policy does not name.

use std::sync::{Arc, Mutex};

use footprint::chart::{Chart, ChartBuilder, FanOut, ForEach, Mount, Stage};
use footprint::observe::{EventCx, HookResult, Payload, Recorder};
use footprint::recorders::{CombinedNarrative, Debug, InOut};
use footprint::report::RunReport;
use footprint::scope::Scope;
use footprint::snapshot::write_snapshot;
use footprint::state::{CommitValues, RedactionPolicy, Tracking, WriteProvenance, fold};
use footprint::value;
use footprint::value::{Object, Value};
use footprint::walk::RunOptions;

use super::support::*;

#[derive(Default)]
struct Served(Mutex<String>);

impl Recorder for Served {
    fn id(&self) -> &str {
        "served"
    }
    fn on_event(&self, cx: &EventCx<'_>, e: &Payload) -> HookResult {
        self.0.lock().unwrap().push_str(&format!("{} {}\n", e.hook().json_name(), e.to_json(cx)));
        Ok(())
    }
}

/// Runs under every dial and looks for the secret in everything served.
async fn hides(builder: ChartBuilder, policy: RedactionPolicy) -> RunReport {
    let chart = build(builder);
    let mut last = None;
    for values in [CommitValues::Full, CommitValues::Delta] {
        for tracking in [Tracking::Full, Tracking::Summary] {
            let served = Arc::new(Served::default());
            let options = RunOptions::new()
                .redaction(policy.clone())
                .commit_values(values)
                .read_tracking(tracking)
                .write_tracking(tracking)
                .write_provenance(WriteProvenance::ReadsPrefix)
                .observe(served.clone())
                .observe(Arc::new(CombinedNarrative::new()))
                .observe(Arc::new(Debug::new()))
                .observe(Arc::new(InOut::new()));
            let report = chart.run(options).await;
            completed(&report);
            let mut text = served.0.lock().unwrap().clone();
            write_snapshot(report.snapshot_redacted(), &mut text);
            let snapshot = report.snapshot();
            let inner = snapshot.subflow_results.values().flat_map(|r| r.tree_context.history.iter());
            for bundle in snapshot.commit_log.iter().chain(inner) {
                text.push_str(&bundle.to_value().to_string());
            }
            if let Some(at) = text.find("SECRET") {
                let around: String = text.chars().skip(at.saturating_sub(300)).take(400).collect();
                panic!("{values:?} {tracking:?}: …{around}…");
            }
            let redacted = report.snapshot_redacted();
            let folded = fold(Object::new(), redacted.commit_log.iter().map(|bundle| &**bundle));
            assert_eq!(folded, redacted.shared_state);
            last = Some(report);
        }
    }
    last.unwrap()
}

fn pins() -> RedactionPolicy {
    RedactionPolicy::new().keys(["pins"])
}

fn seeded() -> Stage {
    Stage::new("a", |s: Scope| async move {
        s.set_value("pins", value!(["SECRET-1", "SECRET-2"]))?;
        Ok(s.set_value("names", value!(["Ann", "Bo"]))?)
    })
}

fn over(list: &'static str) -> ForEach {
    let inside = || {
        Stage::new("q", |s: Scope| async move {
            let item = s.value("item")?.unwrap_or_default();
            s.set_value("copy", item.as_str().map(str::len))?;
            Ok(())
        })
    };
    let items = move |s: Scope| {
        let list = s.value(list)?.and_then(|list| list.as_array().cloned()).unwrap_or_default();
        Ok(list.iter().cloned().collect::<Vec<Value>>())
    };
    ForEach::new("each", items, move |_: &Value, _| build(Chart::builder(inside())))
        .max_branches(5)
        .into("out")
}

/// Proves ENG-95, ENG-93: the items of a for-each are handed to mounts, so what was listed from a selected key stays
/// hidden in seeds, reads, boundaries and the list of results, while branches compute on it.
#[tokio::test]
async fn items_of_a_selected_list() {
    let report = hides(Chart::builder(seeded()).for_each(over("pins")).then(idle("z")), pins()).await;
    let out = report.state();
    let out = out.get("out").and_then(Value::as_array).unwrap();
    assert_eq!(out.get(0).and_then(|slot| slot.get("copy")), Some(&value!(8)));
    assert!(report.redaction_report().redacted_keys.iter().any(|key| &**key == "out"));
    // Inside a mount inside a fork, from a key that is selected only because a mapper read the secret.
    let inner = build(Chart::builder(idle("i")).for_each(over("renamed")).then(idle("j")));
    let mount = Mount::of("sf", &inner).input_keys([("pins", "renamed")]).output_keys([("out", "back")]);
    hides(Chart::builder(seeded()).fork([mount], FanOut::AllSettled).then(idle("z")), pins()).await;
}

/// Proves ENG-95: a clear list beside a selected one stays clear.
#[tokio::test]
async fn items_of_a_clear_list() {
    let report = hides(Chart::builder(seeded()).for_each(over("names")).then(idle("z")), pins()).await;
    let served = Value::Object(report.snapshot_redacted().shared_state.clone());
    assert_eq!(served["out"].at(0).and_then(|slot| slot.get("item")), Some(&value!("Ann")), "{served}");
    let seed = &report.snapshot_redacted().subflow_results["each~1"].tree_context.global_context;
    assert_eq!(seed.get("item"), Some(&value!("Bo")));
}
