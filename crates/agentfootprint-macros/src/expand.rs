//! Writing the code a `#[tool]` function becomes.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{Attribute as SynAttribute, Error, Ident, ItemFn, Path, Result};

use crate::attribute::Attribute;
use crate::signature::{self, Parameter};

pub(crate) fn expand(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let attribute = Attribute::parse(attribute)?;
    let mut function: ItemFn = syn::parse2(item).map_err(|error| {
        Error::new(error.span(), "#[tool] goes on a function, whose arguments become the tool's input")
    })?;
    let parameters = signature::parameters(&mut function)?;
    let value = function.sig.ident.clone();
    let name = recorded_name(&attribute, &value)?;
    let (kept, docs) = split_attributes(&function.attrs);
    let description = description(&attribute, &docs, &value)?;
    let root = root(&attribute);

    let input = input_struct(&root, &parameters);
    let invocation = invocation(&root, &function, &parameters);
    let docs = if docs.is_empty() { vec![syn::parse_quote!(#[doc = #description])] } else { docs };
    let cfgs: Vec<&SynAttribute> = kept.iter().filter(|kept| kept.path().is_ident("cfg")).collect();

    let visibility = &function.vis;
    let mut body = function.clone();
    body.attrs = kept.clone();
    body.sig.ident = format_ident!("call");

    Ok(quote! {
        #(#docs)*
        #(#cfgs)*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug)]
        #visibility struct #value;

        #(#cfgs)*
        impl #value {
            /// Calls the function behind the tool directly, outside any agent.
            #[allow(dead_code)]
            #body

            /// A builder of the tool, for declarations beyond its name, description and input.
            #[allow(dead_code)]
            #visibility fn builder() -> #root::ToolBuilder {
                #input
                #root::ToolBuilder::new(#name)
                    .description(#description)
                    .input::<__ToolInput>()
                    .boxed_handler(|__input: __ToolInput, __context: #root::ToolContext| {
                        ::std::boxed::Box::pin(async move { #invocation })
                    })
            }
        }

        #(#cfgs)*
        impl #root::IntoTool for #value {
            fn into_tool(self) -> ::core::result::Result<#root::Tool, #root::ToolDefError> {
                Self::builder().build()
            }
        }
    })
}

fn root(attribute: &Attribute) -> TokenStream {
    let krate: Path = attribute.krate.clone().unwrap_or_else(|| syn::parse_quote!(::agentfootprint));
    quote!(#krate::__private)
}

/// Attributes that stay on the function, and the doc comment that moves to the value.
fn split_attributes(attributes: &[SynAttribute]) -> (Vec<SynAttribute>, Vec<SynAttribute>) {
    attributes.iter().cloned().partition(|attribute| !attribute.path().is_ident("doc"))
}

fn recorded_name(attribute: &Attribute, value: &Ident) -> Result<String> {
    let (name, span) = match &attribute.name {
        Some(text) => (text.value(), text.span()),
        None => (value.unraw().to_string(), value.span()),
    };
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(legal) {
        return Err(Error::new(
            span,
            format!(
                "tool name `{name}` is not usable: vendors accept 1 to 64 of the characters a-z A-Z 0-9 _ -"
            ),
        ));
    }
    Ok(name)
}

fn description(attribute: &Attribute, docs: &[SynAttribute], value: &Ident) -> Result<String> {
    let text = match &attribute.description {
        Some(text) => Some(text.value()).filter(|text| !text.trim().is_empty()),
        None => signature::doc_text(docs),
    };
    text.ok_or_else(|| {
        Error::new(
            value.span(),
            format!(
                "tool `{value}` has no description for the model: write a `///` comment above it, or \
                 #[tool(description = \"…\")]"
            ),
        )
    })
}

fn input_struct(root: &TokenStream, parameters: &[Parameter]) -> TokenStream {
    let fields = parameters.iter().filter_map(|parameter| match parameter {
        Parameter::Argument(argument) => {
            let (name, ty, attributes) = (&argument.name, &argument.decoded, &argument.attributes);
            Some(quote!(#(#attributes)* #name: #ty))
        }
        Parameter::Context { .. } => None,
    });
    let serde = quote!(#root::serde).to_string().replace(' ', "");
    let schemars = quote!(#root::schemars).to_string().replace(' ', "");
    quote! {
        #[derive(#root::serde::Deserialize, #root::schemars::JsonSchema)]
        #[serde(crate = #serde)]
        #[schemars(crate = #schemars)]
        struct __ToolInput { #(#fields),* }
    }
}

fn invocation(root: &TokenStream, function: &ItemFn, parameters: &[Parameter]) -> TokenStream {
    let arguments = parameters.iter().map(|parameter| match parameter {
        Parameter::Argument(argument) => {
            let name = &argument.name;
            if argument.lent { quote!(&__input.#name) } else { quote!(__input.#name) }
        }
        Parameter::Context { by_reference: true } => quote!(&__context),
        Parameter::Context { by_reference: false } => quote!(::core::clone::Clone::clone(&__context)),
    });
    let call = quote!(Self::call(#(#arguments),*));
    let call = if function.sig.asyncness.is_some() { quote!(#call.await) } else { call };
    let unused = quote! { let _ = (&__input, &__context); };
    if signature::returns_result(&function.sig.output) {
        quote! {
            #unused
            match #call {
                ::core::result::Result::Ok(__value) => #root::output(__value),
                ::core::result::Result::Err(__error) => {
                    #[allow(unused_imports)]
                    use #root::{DisplayKind as _, FailureKind as _};
                    ::core::result::Result::Err((&__error).failure_kind().failure(__error))
                }
            }
        }
    } else {
        quote! { #unused let __value = #call; #root::output(__value) }
    }
}
