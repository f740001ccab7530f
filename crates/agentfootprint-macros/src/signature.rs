//! Reading the function under `#[tool]`: what is an argument, what is the context, what is refused.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, FnArg, Ident, ItemFn, Lit, Meta, Pat, Result, ReturnType, Type};

/// One parameter of the function, in order.
pub(crate) enum Parameter {
    /// A property of the input schema.
    Argument(Box<Argument>),
    /// The call's context; `by_reference` tells how the function takes it.
    Context { by_reference: bool },
}

pub(crate) struct Argument {
    pub(crate) name: Ident,
    /// The type decoded from JSON.
    pub(crate) decoded: Type,
    /// The function takes `&str`; it is decoded as a text and lent.
    pub(crate) lent: bool,
    /// Doc, serde and schemars attributes, kept on the input struct's field.
    pub(crate) attributes: Vec<Attribute>,
}

/// Reads the parameters and strips their attributes from the function.
pub(crate) fn parameters(function: &mut ItemFn) -> Result<Vec<Parameter>> {
    refuse_shape(function)?;
    let mut seen_context = false;
    let mut parameters = Vec::new();
    let mut problems: Option<Error> = None;
    for input in &mut function.sig.inputs {
        match parameter(input) {
            Ok(Parameter::Context { .. }) if seen_context => {
                note(
                    &mut problems,
                    Error::new(input.span(), "a tool function takes one ToolContext, not two"),
                );
            }
            Ok(parameter) => {
                seen_context |= matches!(parameter, Parameter::Context { .. });
                parameters.push(parameter);
            }
            Err(error) => note(&mut problems, error),
        }
    }
    match problems {
        Some(error) => Err(error),
        None => Ok(parameters),
    }
}

fn note(problems: &mut Option<Error>, error: Error) {
    match problems {
        Some(first) => first.combine(error),
        None => *problems = Some(error),
    }
}

fn refuse_shape(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    let refuse = |span: Span, what: &str| Err(Error::new(span, what));
    if let Some(receiver) = signature.receiver() {
        return refuse(
            receiver.span(),
            "#[tool] goes on a free function: a method has no value to be called on",
        );
    }
    if !signature.generics.params.is_empty() {
        return refuse(
            signature.generics.span(),
            "a tool function cannot be generic: its input schema is one concrete shape",
        );
    }
    if let Some(token) = &signature.unsafety {
        return refuse(token.span(), "a tool function cannot be unsafe: the model decides when it runs");
    }
    if let Some(token) = &signature.constness {
        return refuse(token.span(), "a tool function cannot be const");
    }
    if let Some(abi) = &signature.abi {
        return refuse(abi.span(), "a tool function cannot be extern");
    }
    if let Some(variadic) = &signature.variadic {
        return refuse(variadic.span(), "a tool function cannot take a variable number of arguments");
    }
    if let ReturnType::Type(_, ty) = &signature.output
        && let Type::ImplTrait(opaque) = ty.as_ref()
    {
        return refuse(
            opaque.span(),
            "a tool function returns a named type: a value that serialises, or a Result",
        );
    }
    Ok(())
}

fn parameter(input: &mut FnArg) -> Result<Parameter> {
    let FnArg::Typed(typed) = input else {
        return Err(Error::new(input.span(), "#[tool] goes on a free function"));
    };
    let attributes = std::mem::take(&mut typed.attrs);
    if let Some(by_reference) = context_kind(&typed.ty) {
        return Ok(Parameter::Context { by_reference });
    }
    let Pat::Ident(pattern) = typed.pat.as_ref() else {
        return Err(Error::new(
            typed.pat.span(),
            "a tool argument is one plain name: the name becomes a property of the input schema",
        ));
    };
    let name = pattern.ident.clone();
    if name == "_" {
        return Err(Error::new(name.span(), "a tool argument needs a name"));
    }
    for attribute in &attributes {
        if !["doc", "serde", "schemars"].iter().any(|kept| attribute.path().is_ident(kept)) {
            return Err(Error::new(
                attribute.span(),
                "only doc comments, #[serde(..)] and #[schemars(..)] are kept on a tool argument",
            ));
        }
    }
    let (decoded, lent) = decoded_type(&name, &typed.ty)?;
    Ok(Parameter::Argument(Box::new(Argument { name, decoded, lent, attributes })))
}

/// `Some(by_reference)` when the type is the call's context.
fn context_kind(ty: &Type) -> Option<bool> {
    match ty {
        Type::Reference(reference) if reference.mutability.is_none() => {
            context_kind(&reference.elem).filter(|by_reference| !by_reference).map(|_| true)
        }
        Type::Path(path) => {
            path.path.segments.last().is_some_and(|last| last.ident == "ToolContext").then_some(false)
        }
        _ => None,
    }
}

fn decoded_type(name: &Ident, ty: &Type) -> Result<(Type, bool)> {
    match ty {
        Type::Reference(reference) => match reference.elem.as_ref() {
            Type::Path(path) if path.path.is_ident("str") && reference.mutability.is_none() => {
                Ok((syn::parse_quote!(::std::string::String), true))
            }
            _ => Err(Error::new(
                ty.span(),
                format!(
                    "argument `{name}` borrows: arguments are decoded from JSON, so take an owned type (or &str)"
                ),
            )),
        },
        Type::ImplTrait(_) => Err(Error::new(
            ty.span(),
            format!("argument `{name}` needs a named type: the input schema is derived from it"),
        )),
        other => Ok((other.clone(), false)),
    }
}

/// The text of the doc comment: lines joined, one leading space taken off, blank ends trimmed.
pub(crate) fn doc_text(attributes: &[Attribute]) -> Option<String> {
    let lines: Vec<String> = attributes.iter().filter_map(doc_line).collect();
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn doc_line(attribute: &Attribute) -> Option<String> {
    if !attribute.path().is_ident("doc") {
        return None;
    }
    match &attribute.meta {
        Meta::NameValue(pair) => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => {
                    let text = text.value();
                    Some(text.strip_prefix(' ').unwrap_or(&text).trim_end().to_owned())
                }
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// The function visibly returns some `Result`, so its two arms can be told apart by value.
pub(crate) fn returns_result(output: &ReturnType) -> bool {
    match output {
        ReturnType::Type(_, ty) => match ty.as_ref() {
            Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "Result"),
            _ => false,
        },
        ReturnType::Default => false,
    }
}
