//! `present`: the model shows an artifact instead of retyping it (TOOL-99).

use footprint::value;
use footprint::value::Value;

use super::declare::ToolDefError;
use super::name::reserved;
use super::output::ToolOutput;
use super::tool::Tool;

const DESCRIPTION: &str = "Shows a stored artifact to the person. Give its reference (art_…) and how to show it, for \
     example table, bar-chart or image; the screen fetches the content itself. Use it when the answer is data that is \
     already stored, and do not write stored content out again.";

/// The tool every agent with a store has. Its answer is made by the pipeline, which knows the store (step 21).
pub(crate) fn present_tool() -> Result<Tool, ToolDefError> {
    Tool::builder(reserved::PRESENT)
        .description(DESCRIPTION)
        .input_schema(value!({
            "type": "object",
            "properties": {
                "ref": { "type": "string", "description": "The reference of the artifact, such as art_…" },
                "as": { "type": "string", "description": "How to show it, in your own word" },
                "label": { "type": "string", "description": "A title for it; optional" },
            },
            "required": ["ref", "as"],
            "additionalProperties": false,
        }))
        .handler(|_: Value, _| async { ToolOutput::None })
        .build()
}
