//! Declarations as plain JSON: what travels in the `_meta` of a served tool (TOOL-8).

use agentfootprint_record::events::words::{ContextSource, Word as _};
use footprint::value::{Array, Object, Str, Value};
use indexmap::IndexMap;

use super::{
    ColumnKind, ColumnType, ResultCeiling, ResultClass, ToolDeclarations, ToolDefProblem, ToolOwner,
};

fn list(names: &[Str]) -> Value {
    Value::Array(names.iter().map(|name| Value::from(name.clone())).collect::<Array>())
}

impl ToolDeclarations {
    /// The declarations that travel to another process, in their recorded spelling.
    pub fn to_meta(&self) -> Object {
        let mut out = Object::new();
        if let Some(kind) = &self.result_kind {
            out.insert("resultKind", Value::from(kind.clone()));
        }
        if !self.result_columns.is_empty() {
            let columns: Object =
                self.result_columns.iter().map(|(name, column)| (name.clone(), column.to_value())).collect();
            out.insert("resultColumns", Value::Object(columns));
        }
        if let Some(owner) = &self.owner {
            let mut parts = Object::new();
            parts.insert("kind", Value::from(owner.kind.word()));
            parts.insert("id", Value::from(owner.id.clone()));
            out.insert("owner", Value::Object(parts));
        }
        for (field, tools) in [("argumentsFrom", &self.arguments_from), ("composedOf", &self.composed_of)] {
            if !tools.is_empty() {
                out.insert(field, list(tools));
            }
        }
        if let Some(gates) = self.gates {
            out.insert("gates", Value::from(gates));
        }
        if let Some(ceiling) = &self.result_ceiling {
            let mut parts = Object::new();
            parts.insert("maxChars", Value::from(ceiling.max_chars));
            if let Some(names) = &ceiling.narrow_by {
                parts.insert("narrowBy", list(names));
            }
            out.insert("resultCeiling", Value::Object(parts));
        }
        if let Some(class) = self.result_class {
            out.insert("resultClass", Value::from(class.as_str()));
        }
        out
    }

    /// Reads the travelling declarations of a foreign tool; whatever is malformed is a problem, never a guess.
    /// Only the shapes are judged here: the same assertions as for any tool follow when the tool is built.
    pub fn read_meta(meta: &Object) -> (Self, Vec<ToolDefProblem>) {
        let mut reader = MetaReader { meta, problems: Vec::new() };
        let declared = Self {
            result_kind: reader.text("resultKind"),
            result_columns: reader.columns().unwrap_or_default(),
            owner: reader.owner(),
            arguments_from: reader.names("argumentsFrom").unwrap_or_default(),
            composed_of: reader.names("composedOf").unwrap_or_default(),
            gates: reader.flag("gates"),
            result_ceiling: reader.ceiling(),
            result_class: reader.class(),
            ..Self::default()
        };
        (declared, reader.problems)
    }
}

impl ColumnType {
    fn to_value(self) -> Value {
        if !self.nullable {
            return Value::from(self.kind.as_str());
        }
        let mut out = Object::new();
        out.insert("type", Value::from(self.kind.as_str()));
        out.insert("nullable", Value::from(true));
        Value::Object(out)
    }

    fn read(value: &Value) -> Option<Self> {
        let kinds = [ColumnKind::Number, ColumnKind::String, ColumnKind::Boolean, ColumnKind::Date];
        let (word, nullable) = match value {
            Value::String(word) => (&**word, false),
            Value::Object(parts) => {
                let nullable = match parts.get("nullable") {
                    None => false,
                    Some(flag) => flag.as_bool()?,
                };
                (parts.get("type")?.as_str()?, nullable)
            }
            _ => return None,
        };
        kinds.into_iter().find(|kind| kind.as_str() == word).map(|kind| Self { kind, nullable })
    }
}

struct MetaReader<'a> {
    meta: &'a Object,
    problems: Vec<ToolDefProblem>,
}

impl MetaReader<'_> {
    fn read<T>(
        &mut self,
        field: &'static str,
        fix: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.meta.get(field)?;
        let read = read(value);
        if read.is_none() {
            self.problems.push(ToolDefProblem::new(field, format!("a malformed {}", value.kind()), fix));
        }
        read
    }

    fn text(&mut self, field: &'static str) -> Option<Str> {
        self.read(field, "give a text", |value| value.as_str().map(Str::from))
    }

    fn flag(&mut self, field: &'static str) -> Option<bool> {
        self.read(field, "give true or false", Value::as_bool)
    }

    fn names(&mut self, field: &'static str) -> Option<Vec<Str>> {
        self.read(field, "give a list of tool names", |value| {
            read_names(value).filter(|names| !names.is_empty())
        })
    }

    fn class(&mut self) -> Option<ResultClass> {
        self.read("resultClass", "give `triage` or `inventory`", |value| {
            [ResultClass::Triage, ResultClass::Inventory]
                .into_iter()
                .find(|class| value.as_str() == Some(class.as_str()))
        })
    }

    fn owner(&mut self) -> Option<ToolOwner> {
        self.read("owner", "give `{kind, id}` with a context source as kind", |value| {
            let kind = ContextSource::listed(value.get("kind")?.as_str()?)?;
            Some(ToolOwner { kind, id: value.get("id")?.as_str()?.into() })
        })
    }

    fn ceiling(&mut self) -> Option<ResultCeiling> {
        self.read("resultCeiling", "give `{maxChars, narrowBy?}` with a positive integer", |value| {
            let max_chars = usize::try_from(value.get("maxChars")?.as_u64()?).ok()?;
            let narrow_by = match value.get("narrowBy") {
                None => None,
                Some(names) => Some(read_names(names)?),
            };
            Some(ResultCeiling { max_chars, narrow_by })
        })
    }

    fn columns(&mut self) -> Option<IndexMap<Str, ColumnType>> {
        self.read("resultColumns", "give each column `number`, `string`, `boolean` or `date`", |value| {
            let columns = value.as_object().filter(|columns| !columns.is_empty())?.iter();
            columns.map(|(name, column)| Some((name.clone(), ColumnType::read(column)?))).collect()
        })
    }
}

fn read_names(value: &Value) -> Option<Vec<Str>> {
    value.as_array()?.iter().map(|name| name.as_str().map(Str::from)).collect()
}
