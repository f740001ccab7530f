//! Recordings in gzip: the packed form still says the same keys again and again, which compression takes out.

use std::borrow::Cow;
use std::io::{ErrorKind, Read as _, Write as _};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use footprint::snapshot::OpenLimits;

use super::RecordingError;
use super::open::too_large;

/// What a gzip file starts with.
const MAGIC: &[u8] = &[0x1f, 0x8b];
/// Nearly as small as the best there is, in a third of its time.
const LEVEL: u32 = 3;

/// Compresses the text of a recording in any form, or of anything else, into a gzip file.
///
/// ```
/// use agentfootprint_record::recording::{compress, decompress};
/// use footprint::snapshot::OpenLimits;
/// let text = r#"{"snapshot":{}}"#.repeat(100);
/// let small = compress(&text);
/// assert!(small.len() < 100);
/// assert_eq!(&*decompress(&small, &OpenLimits::default())?, text.as_bytes());
/// # Ok::<(), agentfootprint_record::recording::RecordingError>(())
/// ```
#[must_use]
pub fn compress(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
    // Writing into memory never fails.
    let _infallible = encoder.write_all(text.as_bytes());
    encoder.finish().unwrap_or_default()
}

/// The content of a gzip file, at most as large as `max_bytes` allows; anything else comes back as it is.
///
/// # Errors
/// [`RecordingError`] when the content is larger, cut off, or damaged.
pub fn decompress<'a>(bytes: &'a [u8], limits: &OpenLimits) -> Result<Cow<'a, [u8]>, RecordingError> {
    if !bytes.starts_with(MAGIC) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut content = Vec::new();
    let bound = (limits.max_bytes as u64).saturating_add(1);
    match MultiGzDecoder::new(bytes).take(bound).read_to_end(&mut content) {
        Ok(_) if content.len() > limits.max_bytes => Err(too_large(limits, content.len() as u64)),
        Ok(_) => Ok(Cow::Owned(content)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Err(RecordingError::Truncated { offset: bytes.len() })
        }
        Err(error) => Err(RecordingError::DamagedCompression { problem: error.to_string() }),
    }
}
