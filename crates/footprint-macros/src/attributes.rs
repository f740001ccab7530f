//! What `#[state(..)]` says on a struct and on a field.

use syn::{Attribute, LitStr, Path, Result};

/// How a field is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    #[default]
    Value,
    List,
    Map,
}

/// `#[state(list)]`, `#[state(map)]`, `#[state(rename = "..")]`, `#[state(skip)]`.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) shape: Shape,
    pub(crate) rename: Option<LitStr>,
    pub(crate) skip: bool,
}

impl FieldAttributes {
    pub(crate) fn of(attributes: &[Attribute]) -> Result<FieldAttributes> {
        let mut found = FieldAttributes::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("state")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("list") || meta.path.is_ident("map") {
                    if found.shape != Shape::Value {
                        return Err(meta.error("a field is a list or a map, not both: keep one of them"));
                    }
                    found.shape = if meta.path.is_ident("list") { Shape::List } else { Shape::Map };
                    Ok(())
                } else if meta.path.is_ident("rename") {
                    if found.rename.is_some() {
                        return Err(meta.error("a field has one recorded key: keep one `rename`"));
                    }
                    found.rename = Some(meta.value()?.parse()?);
                    Ok(())
                } else if meta.path.is_ident("skip") {
                    found.skip = true;
                    Ok(())
                } else {
                    Err(meta.error("unknown option: `list`, `map`, `rename = \"..\"` and `skip` are known"))
                }
            })?;
        }
        Ok(found)
    }
}

/// The path of the engine crate: `#[state(crate = "..")]`, else `::footprint`.
pub(crate) fn engine_path(attributes: &[Attribute]) -> Result<Path> {
    let mut path: Path = syn::parse_quote!(::footprint);
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("state")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("unknown option: `crate = \"..\"` is known"));
            }
            path = meta.value()?.parse::<LitStr>()?.parse()?;
            Ok(())
        })?;
    }
    Ok(path)
}
