//! Making the form of a value that may be kept or shown. Untouched subtrees stay shared.

use super::{Cover, LOG_PLACEHOLDER, Redaction, SERVED_PLACEHOLDER, WILDCARD};
use crate::state::Path;
use crate::state::keys::RUNS_KEY;
use crate::state::staging::inside_namespaces;
use crate::value::{Object, Str, Value};

/// Places one walk visits before it gives up and replaces everything (ENG-93).
const BUDGET: usize = 1_000_000;

/// Which placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Log,
    Served,
}

/// One walk.
pub(super) struct Scrub<'r, 'f> {
    redaction: Redaction<'r>,
    form: Form,
    found: &'f mut dyn FnMut(Path),
    left: usize,
    /// Length of the path the walk began at.
    began_at: usize,
    whole: bool,
}

/// The walk ran out of budget.
struct Exhausted;

type Changed = Result<Option<Value>, Exhausted>;

impl<'r, 'f> Scrub<'r, 'f> {
    pub(super) fn new(redaction: Redaction<'r>, form: Form, found: &'f mut dyn FnMut(Path)) -> Self {
        Self { redaction, form, found, left: BUDGET, began_at: 0, whole: false }
    }

    /// Whether the last walk replaced its whole value.
    pub(super) fn was_whole(&self) -> bool {
        self.whole
    }

    fn placeholder(&self) -> Value {
        match self.form {
            Form::Log => LOG_PLACEHOLDER.into(),
            Form::Served => SERVED_PLACEHOLDER.into(),
        }
    }

    fn visit(&mut self) -> Result<(), Exhausted> {
        self.left = self.left.checked_sub(1).ok_or(Exhausted)?;
        Ok(())
    }

    fn all_of(&mut self, path: &[Str]) -> Option<Value> {
        self.whole |= path.len() == self.began_at;
        (self.found)(Path::new(path.iter().cloned()));
        Some(self.placeholder())
    }

    /// The value under a state path; `None` when it may stay as it is.
    pub(super) fn at(&mut self, path: &[Str], value: &Value) -> Option<Value> {
        self.began_at = path.len();
        match self.try_at(path, value) {
            Ok(changed) => changed,
            Err(Exhausted) => self.all_of(path),
        }
    }

    fn try_at(&mut self, path: &[Str], value: &Value) -> Changed {
        let inside = inside_namespaces(path);
        match inside {
            // What branches wrote, read from above them.
            [runs] if **runs == *RUNS_KEY => return self.each_branch(path, value),
            [runs, _child] if **runs == *RUNS_KEY => return self.branch(path, value),
            [key, ..] if self.redaction.selects_key(key) => return Ok(self.all_of(path)),
            _ => {}
        }
        match self.redaction.covers(inside) {
            Cover::Nothing => Ok(None),
            Cover::Whole => Ok(self.all_of(path)),
            Cover::Below(patterns) => {
                let mut at = path.to_vec();
                let mut changed: Option<Value> = None;
                for pattern in patterns {
                    if let Some(next) = self.pattern(changed.as_ref().unwrap_or(value), pattern, &mut at)? {
                        changed = Some(next);
                    }
                }
                Ok(changed)
            }
        }
    }

    fn each_branch(&mut self, path: &[Str], value: &Value) -> Changed {
        let Value::Object(branches) = value else { return Ok(None) };
        let mut at = path.to_vec();
        self.rebuild(branches, |this, child, state| {
            at.push(child.clone());
            let changed = this.branch(&at, state);
            at.pop();
            changed
        })
    }

    fn branch(&mut self, path: &[Str], value: &Value) -> Changed {
        let Value::Object(state) = value else { return Ok(None) };
        let mut at = path.to_vec();
        self.rebuild(state, |this, key, value| {
            at.push(key.clone());
            let changed = this.try_at(&at, value);
            at.pop();
            changed
        })
    }

    /// A level's whole state; `None` when it may stay as it is.
    pub(super) fn state(&mut self, state: &Object) -> Option<Object> {
        let mut next = state.clone();
        let mut any = false;
        for (key, value) in state {
            self.left = BUDGET;
            if let Some(changed) = self.at(std::slice::from_ref(key), value) {
                next.insert(key.clone(), changed);
                any = true;
            }
        }
        any.then_some(next)
    }

    /// Dotted fields below a value; `None` when it may stay as it is.
    pub(super) fn fields(&mut self, value: &Value, fields: &[Path]) -> Option<Value> {
        let mut changed: Option<Value> = None;
        for field in fields {
            let current = changed.as_ref().unwrap_or(value);
            match self.pattern(current, field.segments(), &mut Vec::new()) {
                Ok(Some(next)) => changed = Some(next),
                Ok(None) => {}
                Err(Exhausted) => return self.all_of(&[]),
            }
        }
        changed
    }

    /// Replaces what a pattern selects below a value.
    fn pattern(&mut self, value: &Value, pattern: &[Str], at: &mut Vec<Str>) -> Changed {
        self.visit()?;
        let Some((segment, rest)) = pattern.split_first() else {
            (self.found)(Path::new(at.iter().cloned()));
            return Ok(Some(self.placeholder()));
        };
        let wild = &**segment == WILDCARD;
        match value {
            Value::Object(entries) if wild => self.rebuild(entries, |this, key, child| {
                at.push(key.clone());
                let changed = this.pattern(child, rest, at);
                at.pop();
                changed
            }),
            Value::Array(items) if wild => {
                let mut next = items.clone();
                let mut any = false;
                for (position, child) in items.iter().enumerate() {
                    at.push(position.to_string().into());
                    let changed = self.pattern(child, rest, at);
                    at.pop();
                    if let Some(changed) = changed? {
                        any |= next.set(position, changed);
                    }
                }
                Ok(any.then_some(Value::Array(next)))
            }
            Value::Object(entries) => {
                let Some(child) = entries.get(segment) else { return Ok(None) };
                at.push(segment.clone());
                let changed = self.pattern(child, rest, at);
                at.pop();
                Ok(changed?.map(|changed| {
                    let mut next = entries.clone();
                    next.insert(segment.clone(), changed);
                    Value::Object(next)
                }))
            }
            Value::Array(items) => {
                let Some(position) = crate::value::list_position(segment) else { return Ok(None) };
                let Some(child) = items.get(position) else { return Ok(None) };
                at.push(segment.clone());
                let changed = self.pattern(child, rest, at);
                at.pop();
                Ok(changed?.map(|changed| {
                    let mut next = items.clone();
                    next.set(position, changed);
                    Value::Array(next)
                }))
            }
            _ => Ok(None),
        }
    }

    /// Data judged by name at every depth; `None` when it may stay as it is.
    pub(super) fn payload(&mut self, value: &Value) -> Option<Value> {
        match self.try_payload(value) {
            Ok(changed) => changed,
            Err(Exhausted) => self.all_of(&[]),
        }
    }

    fn try_payload(&mut self, value: &Value) -> Changed {
        self.visit()?;
        match value {
            Value::Object(entries) => self.rebuild(entries, |this, key, child| {
                if this.redaction.selects_key(key) {
                    return Ok(Some(this.placeholder()));
                }
                let by_field = match this.redaction.covers(std::slice::from_ref(key)) {
                    Cover::Nothing => None,
                    _ => this.try_at(std::slice::from_ref(key), child)?,
                };
                let deeper = this.try_payload(by_field.as_ref().unwrap_or(child))?;
                Ok(deeper.or(by_field))
            }),
            Value::Array(items) => {
                let mut next = items.clone();
                let mut any = false;
                for (position, child) in items.iter().enumerate() {
                    if let Some(changed) = self.try_payload(child)? {
                        any |= next.set(position, changed);
                    }
                }
                Ok(any.then_some(Value::Array(next)))
            }
            _ => Ok(None),
        }
    }

    fn rebuild(
        &mut self,
        entries: &Object,
        mut each: impl FnMut(&mut Self, &Str, &Value) -> Changed,
    ) -> Changed {
        let mut next: Option<Object> = None;
        for (key, child) in entries {
            self.visit()?;
            if let Some(changed) = each(self, key, child)? {
                next.get_or_insert_with(|| entries.clone()).insert(key.clone(), changed);
            }
        }
        Ok(next.map(Value::Object))
    }
}
