//! Families: touched paths that are above or below one another. Rows of such paths can undo each other, so
//! a family is written as whole values, deepest first, whenever that could happen.

use std::collections::HashMap;

use super::bundle::{Bundle, Row};
use super::encode::Touch;
use super::fold::apply_row;
use super::path::Path;
use super::staging::Staging;
use crate::value::{Object, Str, Value};
use crate::verbs::Verb;

/// For each path the position of the highest path above it (itself when there is none).
fn tops(paths: &[&Path]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_by_key(|at| paths.get(*at));
    let mut tops: Vec<usize> = (0..paths.len()).collect();
    // In sorted order everything below a path follows it directly.
    let mut top: Option<usize> = None;
    for at in order {
        let below = match (top.and_then(|top| paths.get(top)), paths.get(at)) {
            (Some(above), Some(path)) => above.is_prefix_of(path),
            _ => false,
        };
        if !below {
            top = Some(at);
        }
        if let (Some(top), Some(slot)) = (top, tops.get_mut(at)) {
            *slot = top;
        }
    }
    tops
}

/// The whole-value row of a path.
fn whole(path: &Path, after: Option<&Value>) -> Row {
    match after {
        Some(value) => Row::new(path.clone(), Verb::Set, value.clone()),
        None => Row::new(path.clone(), Verb::Delete, Value::Null),
    }
}

/// Rewrites the rows of every family of more than one path as whole values, shallowest last. `rows` has one
/// row per survivor, in the same order; a family keeps the places its members had.
pub(super) fn as_whole_values(survivors: &[&Touch<'_>], mut rows: Vec<Row>) -> Vec<Row> {
    let paths: Vec<&Path> = survivors.iter().map(|touch| touch.path).collect();
    let tops = tops(&paths);
    let mut families: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, top) in tops.iter().enumerate() {
        families.entry(*top).or_default().push(at);
    }
    for places in families.into_values().filter(|places| places.len() > 1) {
        let mut members: Vec<&&Touch<'_>> = places.iter().filter_map(|at| survivors.get(*at)).collect();
        members.sort_by_key(|touch| std::cmp::Reverse(touch.path.len()));
        for (at, touch) in places.iter().zip(members) {
            if let Some(row) = rows.get_mut(*at) {
                *row = whole(touch.path, touch.after.as_ref());
            }
        }
    }
    rows
}

/// Makes the rows fold to what the stage read back at every path it touched. `true` when they already did.
pub(super) fn enforce(staging: &Staging, touches: &[Touch<'_>], rows: &mut Vec<Row>) -> bool {
    let paths: Vec<&Path> = touches.iter().map(|touch| touch.path).collect();
    let tops = tops(&paths);
    let mut wrong: Vec<usize> = unfaithful(staging, touches, rows);
    wrong.extend(merged_in_families(&paths, &tops, rows));
    if wrong.is_empty() {
        return true;
    }
    // First the families that went wrong.
    let wrong_tops: Vec<usize> = wrong.iter().filter_map(|at| tops.get(*at).copied()).collect();
    let in_wrong =
        |path: &Path| wrong_tops.iter().any(|top| paths.get(*top).is_some_and(|top| top.is_prefix_of(path)));
    rows.retain(|row| !in_wrong(&row.path));
    let mut members: Vec<&Touch<'_>> =
        touches.iter().filter(|touch| touch.changed && in_wrong(touch.path)).collect();
    members.sort_by_key(|touch| std::cmp::Reverse(touch.path.len()));
    rows.extend(members.iter().map(|touch| whole(touch.path, touch.after.as_ref())));
    Bundle::settle_rows(rows);
    // What is left are lists turned into objects half way; the root keys written whole are always right.
    let mut keys: Vec<&Str> = Vec::new();
    for touch in unfaithful(staging, touches, rows).iter().filter_map(|at| touches.get(*at)) {
        if let Some(key) = touch.path.segments().first()
            && !keys.contains(&key)
        {
            keys.push(key);
        }
    }
    for key in keys {
        rows.retain(|row| row.path.segments().first() != Some(key));
        rows.push(whole(&Path::key(key.clone()), staging.view().get(key)));
    }
    false
}

/// Tops of families in which one path has a merge row while another path has a row too: in the recorded form
/// the delta of the one would be part of the delta of the other.
fn merged_in_families(paths: &[&Path], tops: &[usize], rows: &[Row]) -> Vec<usize> {
    if rows.iter().all(|row| row.verb != Verb::Merge) {
        return Vec::new();
    }
    let mut merged: HashMap<&Path, bool> = HashMap::new();
    for row in rows {
        *merged.entry(&row.path).or_default() |= row.verb == Verb::Merge;
    }
    let mut families: HashMap<usize, (usize, bool)> = HashMap::new();
    for (path, top) in paths.iter().zip(tops) {
        if let Some(merged) = merged.get(path) {
            let family = families.entry(*top).or_default();
            *family = (family.0 + 1, family.1 | merged);
        }
    }
    let mut found: Vec<usize> = families
        .into_iter()
        .filter(|(_, (paths, merged))| *paths > 1 && *merged)
        .map(|(top, _)| top)
        .collect();
    found.sort_unstable();
    found
}

/// Positions of the touches whose path the rows do not bring to its final value.
fn unfaithful(staging: &Staging, touches: &[Touch<'_>], rows: &[Row]) -> Vec<usize> {
    let mut folded: Object = staging.own.clone();
    for row in rows {
        apply_row(&mut folded, row);
    }
    touches
        .iter()
        .enumerate()
        .filter(|(_, touch)| folded.walk(touch.path.segments()) != touch.after.as_ref())
        .map(|(at, _)| at)
        .collect()
}
