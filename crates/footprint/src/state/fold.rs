use super::bundle::{Bundle, Row};
use crate::value::Object;
use crate::verbs::apply;

/// Replays one row. The one way rows change anything: live commits, folds and the mirror all come here.
///
/// A row that only repeats an accumulated merge ([`Row::is_echo`]) changes nothing. Unknown verbs cannot
/// arrive: they are refused where rows are read ([`Bundle::from_value`]).
pub fn apply_row(state: &mut Object, row: &Row) {
    if !row.echo {
        apply(state, row.path.segments(), row.verb, &row.value);
    }
}

/// Replays one bundle.
pub fn apply_bundle(state: &mut Object, bundle: &Bundle) {
    for row in &bundle.rows {
        apply_row(state, row);
    }
}

/// The state after a sequence of bundles (ENG-4).
///
/// ```
/// use footprint::ids::{CommitIdx, RuntimeStageId};
/// use footprint::state::{fold, Bundle, Path, Row};
/// use footprint::value;
/// use footprint::value::Object;
/// use footprint::verbs::Verb;
///
/// let mut seed = Bundle::empty(CommitIdx(0), "Seed", "seed", RuntimeStageId::parse("seed#0"));
/// seed.rows = vec![Row::new(Path::key("total"), Verb::Set, value!(40))].into();
/// assert_eq!(fold(Object::new(), [&seed]).get("total"), Some(&value!(40)));
/// ```
pub fn fold<'a>(base: Object, bundles: impl IntoIterator<Item = &'a Bundle>) -> Object {
    let mut state = base;
    for bundle in bundles {
        apply_bundle(&mut state, bundle);
    }
    state
}
