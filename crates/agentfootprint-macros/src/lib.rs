//! The `#[tool]` attribute of agentfootprint.
//!
//! Users name this macro through the facade crate (`agentfootprint::tool`); the code it writes reaches the
//! runtime only through `::agentfootprint::__private`, so a project needs no other dependency.

mod attribute;
mod expand;
mod signature;

use proc_macro::TokenStream;

/// Turns a function into a tool an agent can be given.
///
/// ```ignore
/// use agentfootprint::prelude::*;
///
/// /// Current weather of a city.
/// #[tool]
/// async fn weather(
///     /// The city, in English.
///     city: String,
///     /// Left out means celsius.
///     unit: Option<Unit>,
/// ) -> Result<String, WeatherError> {
///     fetch(&city, unit).await
/// }
///
/// let agent = Agent::builder(provider, "gpt-5-mini").tool(weather).build()?;
/// ```
///
/// - The function's doc comment is the description the model reads; `description = "…"` replaces it.
/// - Every argument becomes a property of the input schema, described by its own doc comment. `Option<T>` is
///   not required; `#[serde(..)]` and `#[schemars(..)]` on an argument are kept. `&str` is allowed.
/// - One argument of type `&ToolContext` (or `ToolContext`) is not part of the schema: it receives the call's
///   context.
/// - Sync and async functions both work. A returned `Result` becomes the tool's result or its error; the error
///   may be any `std::error::Error`, a text, or a `ToolFailure` (which can also ask a person).
/// - The function's name becomes a value: `.tool(weather)`. `weather::builder()` gives the tool builder, for
///   declarations such as check-in or credentials; `weather::call(..)` calls the function directly.
///
/// Options: `name = "…"`, `description = "…"`, `crate = "…"` (where `__private` is found; only needed inside
/// the agentfootprint workspace).
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let item = proc_macro2::TokenStream::from(item);
    match expand::expand(attribute.into(), item) {
        Ok(tokens) => tokens.into(),
        Err(error) => error.to_compile_error().into(),
    }
}
