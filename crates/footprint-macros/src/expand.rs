//! From a struct to its keys. All problems are reported at once.

use std::collections::HashMap;

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Field, Fields, GenericArgument, PathArguments, Result, Type};

use crate::attributes::{FieldAttributes, Shape, engine_path};
use crate::names::{camel_case, constant, plain, unreadable};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let fields = named_fields(input)?;
    let engine = engine_path(&input.attrs)?;
    let mut problems = Problems::default();
    let mut keys: HashMap<String, String> = HashMap::new();
    let mut constants = Vec::new();
    for field in fields {
        let described = problems.catch(|| describe(field));
        let Some(Some(described)) = described else { continue };
        if let Some(earlier) = keys.insert(described.key.clone(), described.field.clone()) {
            let reason = format!("field `{earlier}` has the same key `{}`", described.key);
            problems.push(refusal(described.span, &described.field, &reason));
        }
        constants.push(described);
    }
    problems.finish()?;

    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let items = constants.iter().map(|described| {
        let Described { field, key, constant, visibility, type_name, inner, span, docs, .. } = described;
        let type_name = format_ident!("{type_name}");
        let constant = format_ident!("{constant}", span = *span);
        let text = format!("State key `{key}` of the field `{field}`.");
        quote_spanned! {*span=>
            #[doc = #text]
            #(#docs)*
            #visibility const #constant: #engine::state::#type_name<#inner> = #engine::state::#type_name::new(#key);
        }
    });
    Ok(quote! {
        #[automatically_derived]
        #[allow(dead_code)]
        impl #generics #name #arguments #bounds {
            #(#items)*
        }
    })
}

/// One field, ready to be written out.
struct Described<'a> {
    field: String,
    key: String,
    constant: String,
    visibility: &'a syn::Visibility,
    type_name: &'static str,
    inner: Type,
    span: Span,
    docs: Vec<&'a syn::Attribute>,
}

fn named_fields(input: &DeriveInput) -> Result<impl Iterator<Item = &Field>> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "`State` describes state by the fields of a struct"));
    };
    match &data.fields {
        Fields::Named(fields) => Ok(fields.named.iter()),
        Fields::Unnamed(_) | Fields::Unit => {
            Err(Error::new_spanned(&input.ident, "`State` needs named fields: each name becomes a state key"))
        }
    }
}

fn describe(field: &Field) -> Result<Option<Described<'_>>> {
    let attributes = FieldAttributes::of(&field.attrs)?;
    let Some(ident) = &field.ident else { return Ok(None) };
    if attributes.skip {
        return Ok(None);
    }
    let name = plain(ident);
    let (key, span) = match &attributes.rename {
        Some(key) => (key.value(), key.span()),
        None => (camel_case(&name), ident.span()),
    };
    if let Some(reason) = unreadable(&key) {
        return Err(refusal(span, &name, &reason));
    }
    let (type_name, inner) = match attributes.shape {
        Shape::Value => ("Key", field.ty.clone()),
        Shape::List => ("ListKey", list_item(field, &name)?),
        Shape::Map => ("MapKey", map_value(field, &name)?),
    };
    let docs = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).collect();
    Ok(Some(Described {
        constant: constant(&name),
        field: name,
        key,
        visibility: &field.vis,
        type_name,
        inner,
        span: ident.span(),
        docs,
    }))
}

/// `Vec<Line>` → `Line`.
fn list_item(field: &Field, name: &str) -> Result<Type> {
    match generic_types(&field.ty).as_slice() {
        [item] => Ok((*item).clone()),
        _ => Err(refusal(
            field.ty.span(),
            name,
            "`#[state(list)]` needs a list type with one item type, such as `Vec<Line>`",
        )),
    }
}

/// `BTreeMap<String, Line>` → `Line`.
fn map_value(field: &Field, name: &str) -> Result<Type> {
    match generic_types(&field.ty).as_slice() {
        [_, value] => Ok((*value).clone()),
        _ => Err(refusal(
            field.ty.span(),
            name,
            "`#[state(map)]` needs a map type with a text key, such as `BTreeMap<String, Line>`",
        )),
    }
}

fn generic_types(whole: &Type) -> Vec<&Type> {
    let Type::Path(path) = whole else { return Vec::new() };
    let Some(last) = path.path.segments.last() else { return Vec::new() };
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return Vec::new() };
    arguments
        .args
        .iter()
        .filter_map(|argument| match argument {
            GenericArgument::Type(inner) => Some(inner),
            _ => None,
        })
        .collect()
}

fn refusal(span: Span, field: &str, reason: &str) -> Error {
    Error::new(span, format!("UnreadableStateKey: field `{field}`: {reason}"))
}

/// Collects errors, so that one compilation shows them all.
#[derive(Default)]
struct Problems(Option<Error>);

impl Problems {
    fn push(&mut self, problem: Error) {
        match &mut self.0 {
            Some(known) => known.combine(problem),
            None => self.0 = Some(problem),
        }
    }

    fn catch<T>(&mut self, attempt: impl FnOnce() -> Result<T>) -> Option<T> {
        match attempt() {
            Ok(value) => Some(value),
            Err(problem) => {
                self.push(problem);
                None
            }
        }
    }

    fn finish(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
#[path = "expand_tests.rs"]
mod tests;
