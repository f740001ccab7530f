//! The screen a question is shown on.

use footprint::value::{Object, Str, Value};

/// A component of the frontend, named by id: ids and data only, never markup or code (TOOL-68).
///
/// ```
/// use agentfootprint_core::tools::AskComponent;
/// let component = AskComponent::new("seat-picker").props(footprint::value!({ "rows": 4 }));
/// assert_eq!(component.to_value().to_string(), r#"{"componentId":"seat-picker","props":{"rows":4}}"#);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AskComponent {
    /// The id the frontend registered.
    pub component_id: Str,
    /// Data for it; an object.
    pub props: Option<Value>,
    /// An artifact that holds more data than fits a question.
    pub props_ref: Option<Str>,
}

impl AskComponent {
    /// A component without data.
    pub fn new(component_id: impl Into<Str>) -> Self {
        Self { component_id: component_id.into(), props: None, props_ref: None }
    }

    /// Gives it data; an object.
    #[must_use]
    pub fn props(mut self, props: impl Into<Value>) -> Self {
        self.props = Some(props.into());
        self
    }

    /// Points it to an artifact.
    #[must_use]
    pub fn props_ref(mut self, reference: impl Into<Str>) -> Self {
        self.props_ref = Some(reference.into());
        self
    }

    /// The recorded form.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("componentId", Value::from(self.component_id.clone()));
        if let Some(props) = &self.props {
            out.insert("props", props.clone());
        }
        if let Some(reference) = &self.props_ref {
            out.insert("propsRef", Value::from(reference.clone()));
        }
        Value::Object(out)
    }

    /// Reads the recorded form; `Err` says what is wrong with its shape.
    pub fn read(value: &Value) -> Result<Self, String> {
        let Value::Object(members) = value else {
            return Err(format!("a component that is a {}", value.kind()));
        };
        let Some(component_id) = members.get("componentId").and_then(Value::as_str) else {
            return Err("a component without an id".to_owned());
        };
        let props_ref = match members.get("propsRef") {
            None => None,
            Some(Value::String(reference)) => Some(reference.clone()),
            Some(other) => return Err(format!("a propsRef that is a {}", other.kind())),
        };
        let component =
            Self { component_id: component_id.into(), props: members.get("props").cloned(), props_ref };
        component.shape_fault().map_or(Ok(component), Err)
    }

    /// What is wrong with its shape, if anything.
    pub(crate) fn shape_fault(&self) -> Option<String> {
        if self.component_id.trim().is_empty() {
            return Some("a component with a blank id".to_owned());
        }
        match &self.props {
            None | Some(Value::Object(_)) => {}
            Some(other) => return Some(format!("props that are a {}", other.kind())),
        }
        self.props_ref
            .as_ref()
            .is_some_and(|reference| reference.trim().is_empty())
            .then(|| "a blank propsRef".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    /// Proves TOOL-68.
    #[test]
    fn malformed_components_are_refused_by_shape() {
        let fault = |value: Value| AskComponent::read(&value).unwrap_err();
        assert_eq!(fault(value!([1])), "a component that is a array");
        assert_eq!(fault(value!({ "componentId": " " })), "a component with a blank id");
        assert_eq!(fault(value!({})), "a component without an id");
        assert_eq!(fault(value!({ "componentId": "x", "props": [1] })), "props that are a array");
        assert_eq!(fault(value!({ "componentId": "x", "propsRef": "" })), "a blank propsRef");
        let good = value!({ "componentId": "x", "props": { "a": 1 }, "propsRef": "art_1" });
        assert_eq!(AskComponent::read(&good).unwrap().to_value(), good);
    }
}
