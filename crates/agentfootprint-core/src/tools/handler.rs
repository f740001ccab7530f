//! Handlers over decoded arguments.

use std::any::Any;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use async_trait::async_trait;
use footprint::value::{Object, Str, Value};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;

use super::context::ToolContext;
use super::failure::ToolFailure;
use super::output::ToolOutput;
use super::tool::ToolHandler;
use super::validate::first_misfit;

/// What a boxed handler returns.
pub type BoxedCall = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolFailure>> + Send>>;

/// Decodes the arguments and calls a closure.
pub(super) struct TypedHandler<A, F> {
    tool: Str,
    schema: Option<Value>,
    call: F,
    input: PhantomData<fn() -> A>,
}

impl<A, F> TypedHandler<A, F> {
    pub(super) fn new(tool: Str, schema: Option<Value>, call: F) -> Self {
        Self { tool, schema, call, input: PhantomData }
    }
}

#[async_trait]
impl<A, F> ToolHandler for TypedHandler<A, F>
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A, ToolContext) -> BoxedCall + Send + Sync + 'static,
{
    async fn execute(&self, args: Value, ctx: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let answer = match decode::<A>(args, &self.tool, self.schema.as_ref()) {
            Ok(args) => (self.call)(args, ctx.clone()),
            Err(failure) => return Err(failure),
        };
        answer.await
    }
}

/// Decodes arguments that passed the enforced part of the schema. What still does not fit is reported by path alone:
/// serde's own message quotes values (T-28).
fn decode<A: DeserializeOwned + 'static>(
    args: Value,
    tool: &str,
    schema: Option<&Value>,
) -> Result<A, ToolFailure> {
    let args = if matches!(args, Value::Null) { Value::Object(Object::new()) } else { args };
    let mut plain = Some(args);
    // A handler over plain JSON takes the shared value itself.
    if let Some(same) = (&mut plain as &mut dyn Any).downcast_mut::<Option<A>>()
        && let Some(args) = same.take()
    {
        return Ok(args);
    }
    let args = plain.unwrap_or_default();
    args.decode::<A>().map_err(|_| {
        let place = match schema.and_then(|schema| first_misfit(schema, &args)) {
            Some(path) if path.is_empty() => "the arguments as a whole do not fit".to_owned(),
            Some(path) => format!("`{path}` does not fit"),
            None => "they do not have the declared form".to_owned(),
        };
        ToolFailure::message(format!(
            "The arguments of `{tool}` could not be read: {place}. Correct them to match the input schema."
        ))
    })
}

/// The schema of a type as vendors take it: one self-contained object schema, without a title.
pub(super) fn derived_schema<A: JsonSchema>() -> Result<Value, String> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>();
    schema.remove("title");
    schema.remove("description");
    let is_object = schema.get("type").and_then(serde_json::Value::as_str) == Some("object");
    let is_choice = ["oneOf", "anyOf", "allOf", "$ref"].into_iter().any(|key| schema.get(key).is_some());
    if is_object {
        if schema.get("properties").is_none() {
            schema.insert("properties".to_owned(), serde_json::Value::Object(serde_json::Map::new()));
        }
        return Ok(Value::from(schema.to_value()));
    }
    if is_choice {
        return Ok(Value::from(schema.to_value()));
    }
    if schema.get("type").and_then(serde_json::Value::as_str) == Some("null") {
        return Ok(super::schema::ToolSchema::no_input());
    }
    Err(format!("the schema of `{}`, which is not an object", short_name::<A>()))
}

fn short_name<A>() -> &'static str {
    let name = std::any::type_name::<A>();
    let name = name.split('<').next().unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name)
}
