//! Packing what is written: the text between the values stays text, the values are taken as they are in memory.

use footprint::json::JsonSink;
use footprint::value::Value;

use super::emit;
use super::packer::Packer;
use crate::recording::RecordingError;

/// What all reserved keys begin with, as it stands in text.
const RESERVED: &[u8] = b"$af:";

/// A sink that packs what is written to it.
#[derive(Debug, Default)]
pub(in crate::recording) struct PackSink {
    packer: Packer,
    problem: Option<RecordingError>,
}

impl PackSink {
    /// Bytes that the same recording would take as plain JSON.
    pub(in crate::recording) fn plain_bytes(&self) -> u64 {
        self.packer.plain
    }

    /// The packed text. `None` when a reserved key stands outside of the values, where no escape can be put around
    /// its map: such a recording has to be packed from its text.
    pub(in crate::recording) fn finish(self) -> Result<Option<String>, RecordingError> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        Ok((!holds_reserved(&self.packer.work)).then(|| emit::packed(self.packer)))
    }
}

fn holds_reserved(mut text: &[u8]) -> bool {
    while let Some(at) = text.iter().position(|byte| Some(byte) == RESERVED.first()) {
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with(RESERVED) {
            return true;
        }
        text = rest.get(1..).unwrap_or_default();
    }
    false
}

impl JsonSink for PackSink {
    fn put(&mut self, text: &str) {
        self.packer.outside(text);
    }

    fn put_value(&mut self, value: &Value) -> bool {
        self.packer.value(value);
        true
    }

    fn put_raw(&mut self, json: &str) -> bool {
        if let Err(problem) = self.packer.json(json.as_bytes()) {
            self.problem.get_or_insert(problem);
        }
        true
    }
}
