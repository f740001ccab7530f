//! From a field's name to its constant and its recorded key.

use syn::Ident;

/// Keys a state key must not be (ENG-63).
const RESERVED: &[(&str, &str)] = &[
    ("runs", "`runs` holds the results of parallel branches"),
    ("__proto__", "a JavaScript reader drops this key silently"),
    ("constructor", "a JavaScript reader drops this key silently"),
    ("prototype", "a JavaScript reader drops this key silently"),
];

/// The field's name without `r#`.
pub(crate) fn plain(field: &Ident) -> String {
    let text = field.to_string();
    text.strip_prefix("r#").unwrap_or(&text).to_owned()
}

/// `line_items` → `LINE_ITEMS`.
pub(crate) fn constant(field: &str) -> String {
    field.to_uppercase()
}

/// `line_items` → `lineItems`. Leading underscores stay, so that `_a` and `a` are two keys.
pub(crate) fn camel_case(field: &str) -> String {
    let body = field.trim_start_matches('_');
    let (lead, _) = field.split_at(field.len() - body.len());
    let mut key = lead.to_owned();
    let mut capital = false;
    for character in body.chars() {
        if character == '_' {
            capital = true;
        } else if capital {
            key.extend(character.to_uppercase());
            capital = false;
        } else {
            key.push(character);
        }
    }
    key
}

/// Why a key could never be read back, if so.
pub(crate) fn unreadable(key: &str) -> Option<String> {
    if key.trim().is_empty() {
        return Some("the key is empty".to_owned());
    }
    if key.contains('\u{1f}') {
        return Some("the key contains U+001F, which separates path segments in the commit log".to_owned());
    }
    let (name, reason) = RESERVED.iter().find(|(name, _)| *name == key)?;
    Some(format!("the key `{name}` is reserved: {reason}"))
}
