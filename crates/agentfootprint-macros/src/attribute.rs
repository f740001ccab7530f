//! The arguments of `#[tool(..)]`.

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, Lit, LitStr, Meta, Path, Result, Token};

/// What `#[tool(..)]` was told.
#[derive(Default)]
pub(crate) struct Attribute {
    /// The recorded tool name, when it is not the function's name.
    pub(crate) name: Option<LitStr>,
    /// The description, when it is not the doc comment.
    pub(crate) description: Option<LitStr>,
    /// The crate whose `__private` module the generated code uses.
    pub(crate) krate: Option<Path>,
}

impl Attribute {
    pub(crate) fn parse(tokens: TokenStream) -> Result<Self> {
        let metas = Punctuated::<Meta, Token![,]>::parse_terminated.parse2(tokens)?;
        let mut attribute = Self::default();
        for meta in metas {
            let Meta::NameValue(pair) = &meta else {
                return Err(Error::new(meta.span(), UNKNOWN));
            };
            if pair.path.is_ident("name") {
                once(&attribute.name, &meta)?;
                attribute.name = Some(text(&pair.value)?);
            } else if pair.path.is_ident("description") {
                once(&attribute.description, &meta)?;
                attribute.description = Some(text(&pair.value)?);
            } else if pair.path.is_ident("crate") {
                once(&attribute.krate, &meta)?;
                attribute.krate = Some(path(&pair.value)?);
            } else {
                return Err(Error::new(pair.path.span(), UNKNOWN));
            }
        }
        Ok(attribute)
    }
}

const UNKNOWN: &str = "#[tool] takes `name = \"…\"`, `description = \"…\"` and `crate = \"…\"`, nothing else";

fn once<T>(slot: &Option<T>, meta: &Meta) -> Result<()> {
    match slot {
        Some(_) => Err(Error::new(meta.span(), "this #[tool] option is given twice")),
        None => Ok(()),
    }
}

fn text(value: &Expr) -> Result<LitStr> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text.clone()),
        other => Err(Error::new(other.span(), "this #[tool] option takes a text in quotes")),
    }
}

fn path(value: &Expr) -> Result<Path> {
    match value {
        Expr::Path(path) => Ok(path.path.clone()),
        other => text(other)?.parse(),
    }
}
