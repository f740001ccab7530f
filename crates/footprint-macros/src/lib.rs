//! `#[derive(State)]`: typed state keys from a struct (ENG-62).
//!
//! The struct describes state; it is never built. Each field becomes an associated constant in capitals:
//!
//! | field | constant | recorded key |
//! |---|---|---|
//! | `total: f64` | `TOTAL: Key<f64>` | `total` |
//! | `line_items: Vec<Line>` with `#[state(list)]` | `LINE_ITEMS: ListKey<Line>` | `lineItems` |
//! | `by_sku: BTreeMap<String, Line>` with `#[state(map)]` | `BY_SKU: MapKey<Line>` | `bySku` |
//! | `latest: String` with `#[state(rename = "llmLatestContent")]` | `LATEST: Key<String>` | `llmLatestContent` |
//!
//! A key that could never be read back is a compile error that names the field and the reason (`UnreadableStateKey`). Crates that
//! reach the engine under another path say so with `#[state(crate = "path::to::footprint")]` on the struct.

mod attributes;
mod expand;
mod names;

use proc_macro::TokenStream;

/// Typed state keys from a struct; see the [crate documentation](crate).
#[proc_macro_derive(State, attributes(state))]
pub fn derive_state(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
