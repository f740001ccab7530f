//! Arguments, checked against the same table the schemas are made from.

use footprint::value::{Object, Value, utf16};

use super::specs::{Field, Kind, TRACE_TOOL_NAMES, Tool};

/// Why a tool was not asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceToolRefused {
    /// There is no such tool.
    #[error("there is no trace tool `{}`; there are {}", crate::plain::excerpt(name, 64), TRACE_TOOL_NAMES.join(", "))]
    UnknownTool {
        /// As asked for.
        name: String,
    },
    /// The arguments do not fit the tool's input schema.
    #[error("`{tool}` cannot be asked like this: {}", problems.join("; "))]
    Arguments {
        /// The tool.
        tool: &'static str,
        /// Everything that is wrong.
        problems: Vec<String>,
    },
}

/// Arguments that fit their schema.
#[derive(Clone, Debug, Default)]
pub(super) struct Args(Object);

impl Args {
    pub(super) fn check(tool: Tool, args: &Value) -> Result<Self, TraceToolRefused> {
        let fields = tool.fields();
        let mut problems = Vec::new();
        let object = match args {
            Value::Null => Object::new(),
            Value::Object(object) => object.clone(),
            other => {
                problems.push(format!("the arguments are {}, not an object", other.kind()));
                Object::new()
            }
        };
        for (name, value) in object.iter() {
            match fields.iter().find(|field| field.name == &**name) {
                Some(field) => problems.extend(problem(field, value)),
                None => {
                    let known: Vec<_> = fields.iter().map(|field| field.name).collect();
                    let takes = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
                    problems.push(format!(
                        "`{}` is not an argument; it takes {takes}",
                        crate::plain::excerpt(name, 64)
                    ));
                }
            }
        }
        let missing = fields.iter().filter(|field| field.required && !object.contains_key(field.name));
        problems.extend(missing.map(|field| format!("`{}` is missing ({})", field.name, field.says)));
        if problems.is_empty() {
            Ok(Self(object))
        } else {
            Err(TraceToolRefused::Arguments { tool: tool.name(), problems })
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// A required text; the schema has seen to it that it is there.
    pub(super) fn required(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }

    pub(super) fn count(&self, name: &str, default: usize) -> usize {
        self.given(name).unwrap_or(default)
    }

    pub(super) fn given(&self, name: &str) -> Option<usize> {
        self.0.get(name).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok())
    }

    /// The same arguments for another tool: those of these names.
    pub(super) fn only(&self, names: &[(&str, &str)]) -> Self {
        let mut out = Object::new();
        for (from, to) in names {
            if let Some(value) = self.0.get(from) {
                out.insert(*to, value.clone());
            }
        }
        Self(out)
    }
}

fn problem(field: &Field, value: &Value) -> Option<String> {
    let name = field.name;
    match field.kind {
        Kind::Text { min, max } | Kind::Step { min, max } | Kind::Finding { min, max } => {
            match value.as_str() {
                None => Some(format!("`{name}` is {}, not a string", value.kind())),
                Some(text) if !(min..=max).contains(&utf16::len(text)) => {
                    Some(format!("`{name}` has {} characters; it takes {min} to {max}", utf16::len(text)))
                }
                Some(_) => None,
            }
        }
        Kind::Count { min, max } => match value.as_u64() {
            None => {
                Some(format!("`{name}` is {value_shape}, not a whole number", value_shape = shape(value)))
            }
            Some(count) if !(min..=max).contains(&count) => {
                Some(format!("`{name}` is {count}; it takes {min} to {max}"))
            }
            Some(_) => None,
        },
    }
}

fn shape(value: &Value) -> String {
    value.as_number().map_or_else(|| value.kind().to_string(), ToString::to_string)
}
