//! A tool that runs code the model wrote (TOOL §15).
//!
//! | file | idea |
//! |---|---|
//! | `port` | what a place that runs code is: a runner and its sessions |
//! | `tool` | the tool over such a place |
//! | `pool` | one session per key, however many calls ask for it at once |
//! | `staging` | wanted artifacts as files beside the code |
//! | `told` | what the model reads about an execution |
//! | `shape` | what the record holds of the code: its shape, never its text |
//! | `local`, `file_name` | a runner over processes of this machine |

mod file_name;
mod local;
mod pool;
mod port;
mod shape;
mod staging;
mod told;
mod tool;

pub use self::local::{LocalCodeRunner, local_code_runner};
pub use self::port::{
    CodeRequest, CodeResult, CodeRunner, CodeRunnerError, CodeSession, OutputCut, ProducedFile, SessionStart,
    StagedInput,
};
pub use self::tool::{CodeRunnerTool, code_runner_tool};
