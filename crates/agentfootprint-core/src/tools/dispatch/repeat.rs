//! Noticing a call that was made before (TOOL-74). Counters are the run's memory, never state.

use std::collections::HashMap;
use std::sync::Mutex;

use agentfootprint_record::text::{canonical_json, padded_fingerprint};
use footprint::value::{Str, Value};

use crate::run::lock;
use crate::tools::declare::RepeatedWhen;

/// How often each call landed in this turn.
#[derive(Default)]
pub(super) struct Landings(Mutex<HashMap<(Str, String, String), u32>>);

/// A call that landed for the second time.
pub(super) struct Repetition {
    pub(super) occurrences: u32,
    pub(super) args_fingerprint: String,
    pub(super) result_fingerprint: String,
}

impl Landings {
    /// Counts a landing; answers exactly at the second one of a key.
    pub(super) fn count(
        &self,
        tool: &Str,
        args: &Value,
        delivered: &str,
        when: RepeatedWhen,
    ) -> Option<Repetition> {
        let args_fingerprint = padded_fingerprint(&canonical_json(args));
        let result_fingerprint = match when {
            RepeatedWhen::CallAndResult => padded_fingerprint(delivered),
            RepeatedWhen::Arguments => "*".to_owned(),
        };
        let key = (tool.clone(), args_fingerprint.clone(), result_fingerprint.clone());
        let mut counts = lock(&self.0);
        let occurrences = counts.entry(key).and_modify(|count| *count = count.saturating_add(1)).or_insert(1);
        (*occurrences == 2).then_some(Repetition { occurrences: 2, args_fingerprint, result_fingerprint })
    }
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    fn count(landings: &Landings, args: Value, result: &str, when: RepeatedWhen) -> bool {
        landings.count(&"poll".into(), &args, result, when).is_some()
    }

    /// Proves TOOL-74.
    #[test]
    fn exactly_the_second_landing_of_equal_call_and_result_is_noticed() {
        use RepeatedWhen::{Arguments, CallAndResult};
        let landings = Landings::default();
        assert!(!count(&landings, value!({ "a": 1, "b": { "c": 2, "d": 3 } }), "x", CallAndResult));
        assert!(!count(&landings, value!({ "a": 1, "b": { "c": 2, "d": 3 } }), "y", CallAndResult));
        assert!(count(&landings, value!({ "b": { "d": 3, "c": 2 }, "a": 1 }), "x", CallAndResult));
        assert!(!count(&landings, value!({ "a": 1, "b": { "c": 2, "d": 3 } }), "x", CallAndResult));
        assert!(!count(&landings, value!({ "a": 1 }), "x", Arguments));
        assert!(count(&landings, value!({ "a": 1 }), "another", Arguments));
    }

    /// Proves TOOL-74: the recorded fingerprints.
    #[test]
    fn fingerprints_are_those_of_the_recordings() {
        let landings = Landings::default();
        let (args, result) = (value!({ "job": "j1" }), r#"{"state":"running"}"#);
        landings.count(&"poll".into(), &args, result, RepeatedWhen::CallAndResult);
        let again = landings.count(&"poll".into(), &args, result, RepeatedWhen::CallAndResult).unwrap();
        assert_eq!((&*again.args_fingerprint, &*again.result_fingerprint), ("b6afb9eb", "b335c175"));
    }
}
