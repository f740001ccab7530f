//! The structure of a chart: its JSON shape, and everything that is generated from it or watches it being built.
//!
//! A [`Structure`] is a flat arena, so that a chain of 100 000 nodes is read, written, compared and dropped without recursion
//! (ENG-48). Inner charts of mounts share the structure of the mounted chart; a structure read from text holds everything itself.
//! [`StructureRef`] hides the difference.
//!
//! | file | tells |
//! |---|---|
//! | `doc` | the arena, one node, and the cursor over it |
//! | `of_chart` | a chart's structure |
//! | `json_in`, `json_out` | the JSON text (ENG §4.1) |
//! | `walk` | stages, edges, loops and mounts in order, for offline readers (ENG-53) |
//! | `recorder`, `observe` | observers of the build (ENG-50…52) |
//! | `describe`, `mermaid`, `documents` | description, diagram, OpenAPI and MCP tool (ENG-54…57) |
//! | `runtime` | structure plus what a run discovered (ENG-59) |

mod describe;
mod doc;
mod documents;
mod json_in;
mod json_out;
mod mermaid;
mod observe;
mod of_chart;
mod recorder;
mod runtime;
mod walk;

pub use doc::{
    NodeType, Structure, StructureBuilder, StructureChildren, StructureNode, StructureNodeId, StructureRef,
};
pub use documents::{InvalidToolName, McpTool, OpenApi};
pub use json_in::StructureError as StructureReadError;
pub use mermaid::{mermaid_id, mermaid_label};
pub use recorder::{
    DeciderComplete, EdgeAdded, EdgeKind, LoopEdgeAdded, StageAdded, StructureError, StructureRecorder,
    SubflowMounted,
};
pub use runtime::RuntimeFacts;
pub use walk::{StructureItem, StructureWalk, walk_structure};

pub(crate) use observe::observe;

#[cfg(test)]
mod tests;
