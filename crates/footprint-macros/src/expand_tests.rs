use syn::{DeriveInput, parse_quote};

use super::expand;

fn written(input: &DeriveInput) -> String {
    expand(input).unwrap().to_string()
}

fn refused(input: &DeriveInput) -> Vec<String> {
    expand(input).unwrap_err().into_iter().map(|error| error.to_string()).collect()
}

/// Proves ENG-62.
#[test]
fn each_field_becomes_a_typed_key_with_its_recorded_name() {
    let text = written(&parse_quote! {
        pub struct Order {
            pub total: f64,
            #[state(list)]
            line_items: Vec<Message>,
            #[state(map)]
            by_sku: std::collections::BTreeMap<String, Line>,
            #[state(rename = "llmLatestContent")]
            latest: Option<String>,
            r#type: String,
            #[state(skip)]
            scratch: u8,
        }
    });
    for expected in [
        "pub const TOTAL : :: footprint :: state :: Key < f64 > = :: footprint :: state :: Key :: new (\"total\")",
        "const LINE_ITEMS : :: footprint :: state :: ListKey < Message > = :: footprint :: state :: ListKey :: new (\"lineItems\")",
        "const BY_SKU : :: footprint :: state :: MapKey < Line > = :: footprint :: state :: MapKey :: new (\"bySku\")",
        "const LATEST : :: footprint :: state :: Key < Option < String > >",
        "new (\"llmLatestContent\")",
        "const TYPE : :: footprint :: state :: Key < String > = :: footprint :: state :: Key :: new (\"type\")",
    ] {
        assert!(text.contains(expected), "{expected}\nnot in\n{text}");
    }
    assert!(!text.contains("SCRATCH"));
}

#[test]
fn the_engine_may_live_under_another_path() {
    let text = written(&parse_quote! {
        #[state(crate = "agentfootprint::engine")]
        struct S { a: u8 }
    });
    assert!(text.contains("agentfootprint :: engine :: state :: Key < u8 >"), "{text}");
}

/// Proves ENG-62, ENG-63 (the derive's part of ENG 3.6: `UnreadableStateKey` names field and reason).
#[test]
fn keys_that_could_not_be_read_back_are_refused_all_at_once() {
    let errors = refused(&parse_quote! {
        struct Bad {
            runs: u8,
            #[state(rename = "")]
            nothing: u8,
            #[state(rename = "a\u{1f}b")]
            split: u8,
            constructor: u8,
            #[state(rename = "__proto__")]
            poison: u8,
            #[state(list)]
            no_list: u8,
            #[state(map)]
            no_map: Vec<u8>,
            first: u8,
            #[state(rename = "first")]
            second: u8,
        }
    });
    let fields = ["runs", "nothing", "split", "constructor", "poison", "no_list", "no_map", "second"];
    assert_eq!(errors.len(), fields.len(), "{errors:#?}");
    for (error, field) in errors.iter().zip(fields) {
        assert!(error.starts_with(&format!("UnreadableStateKey: field `{field}`: ")), "{error}");
    }
}

#[test]
fn shapes_without_field_names_and_unknown_options_are_refused() {
    assert!(refused(&parse_quote! { enum E { A } })[0].contains("fields of a struct"));
    assert!(refused(&parse_quote! { struct T(u8); })[0].contains("named fields"));
    assert!(refused(&parse_quote! { struct U; })[0].contains("named fields"));
    assert!(refused(&parse_quote! { struct S { #[state(lost)] a: u8 } })[0].contains("unknown option"));
    assert!(refused(&parse_quote! { struct S { #[state(list, map)] a: Vec<u8> } })[0].contains("not both"));
    assert!(refused(&parse_quote! { #[state(list)] struct S { a: u8 } })[0].contains("unknown option"));
}

#[test]
fn field_names_become_camel_case() {
    use crate::names::camel_case;
    for (field, key) in [
        ("total", "total"),
        ("line_items", "lineItems"),
        ("a__b", "aB"),
        ("_hidden_one", "_hiddenOne"),
        ("x_1", "x1"),
    ] {
        assert_eq!(camel_case(field), key);
    }
}
