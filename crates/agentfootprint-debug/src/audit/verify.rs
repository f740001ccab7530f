//! Verifying a chain offline (REC-80).

use agentfootprint_record::text::{CANONICALIZATION, sha256_hex};
use footprint::value::{Object, Value};

use super::raw::Raw;
use super::{AUDIT_FORMAT, HASH_ALGORITHM, ZERO_HASH};
use crate::plain::excerpt;

/// What was found. An invalid bundle is an answer, not an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditVerdict {
    /// Whether the chain holds.
    pub valid: bool,
    /// Records that were checked and hold.
    pub records_checked: u64,
    /// The sequence number at which it breaks.
    pub broken_at: Option<u64>,
    /// What is wrong there.
    pub reason: Option<String>,
    /// The hash to compare with the one that was anchored; known when the chain holds.
    pub final_hash: Option<String>,
}

impl AuditVerdict {
    /// The JSON object `{valid, recordsChecked, brokenAt?, reason?, finalHash?}`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("valid", self.valid.into());
        out.insert("recordsChecked", self.records_checked.into());
        if let Some(at) = self.broken_at {
            out.insert("brokenAt", at.into());
        }
        if let Some(reason) = &self.reason {
            out.insert("reason", Value::from(reason));
        }
        if let Some(hash) = &self.final_hash {
            out.insert("finalHash", Value::from(hash));
        }
        Value::Object(out)
    }
}

struct Broken {
    at: Option<u64>,
    reason: String,
}

fn broken<T>(at: impl Into<Option<u64>>, reason: impl Into<String>) -> Result<T, Broken> {
    Err(Broken { at: at.into(), reason: reason.into() })
}

/// Verifies one bundle.
#[must_use]
pub fn verify_audit_bundle(bytes: &[u8]) -> AuditVerdict {
    verify_audit_bundles([bytes])
}

/// Verifies bundles that follow one another in one chain.
#[must_use]
pub fn verify_audit_bundles<'a>(bundles: impl IntoIterator<Item = &'a [u8]>) -> AuditVerdict {
    let mut verdict = AuditVerdict::default();
    let mut end: Option<(u64, String)> = None;
    for (number, bytes) in bundles.into_iter().enumerate() {
        let found = bundle(bytes, end.as_ref(), number, &mut verdict.records_checked);
        match found {
            Ok(next) => end = Some(next),
            Err(Broken { at, reason }) => {
                verdict.broken_at = at;
                verdict.reason =
                    Some(if number > 0 { format!("segment {}: {reason}", number + 1) } else { reason });
                return verdict;
            }
        }
    }
    match end {
        Some((_, hash)) => {
            verdict.valid = true;
            verdict.final_hash = Some(hash);
        }
        None => verdict.reason = Some("there is no bundle".to_owned()),
    }
    verdict
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Checks one bundle and returns where the chain stands after it.
fn bundle(
    bytes: &[u8],
    before: Option<&(u64, String)>,
    number: usize,
    checked: &mut u64,
) -> Result<(u64, String), Broken> {
    let raw = match Raw::parse(bytes) {
        Ok(raw) => raw,
        Err(problem) => return broken(None, format!("not JSON: {problem}")),
    };
    let Some(header) = raw.get("header") else { return broken(None, "no `header`: not an audit bundle") };
    let word = |key: &str| header.get(key).and_then(Raw::text).unwrap_or_default();
    for (key, known) in
        [("format", AUDIT_FORMAT), ("hashAlgorithm", HASH_ALGORITHM), ("canonicalization", CANONICALIZATION)]
    {
        if word(key) != known {
            return broken(
                None,
                format!("header.{key} is `{}`; this version verifies `{known}`", excerpt(&word(key), 60)),
            );
        }
    }
    let Some(records) = raw.get("records").and_then(Raw::list) else { return broken(None, "no `records`") };
    let stated = header.get("recordCount").and_then(Raw::count);
    let Some(first) = header.get("firstSeq").and_then(Raw::count) else {
        return broken(None, "header.firstSeq is no number");
    };
    if stated != Some(records.len() as u64) {
        let stated = stated.map_or_else(|| "nothing".to_owned(), |count| count.to_string());
        return broken(
            None,
            format!(
                "header.recordCount says {stated}, there are {} records: records were removed or added, or the header was edited",
                records.len()
            ),
        );
    }
    let chain_head = word("chainHead");
    if !is_hash(&chain_head) {
        return broken(None, "header.chainHead is no SHA-256 hash");
    }
    if (first == 0) != (chain_head == ZERO_HASH) {
        return broken(
            first,
            "header.firstSeq and header.chainHead disagree about whether this is the start of the chain: the head was removed or the header was edited",
        );
    }
    match before {
        Some((next, hash)) if first != *next || chain_head != *hash => {
            return broken(
                first,
                format!("it does not continue the segment before it, which ends before {next}"),
            );
        }
        None if number == 0 => {}
        _ => {}
    }
    let mut hash = chain_head;
    for (at, record) in records.iter().enumerate() {
        let seq = first + at as u64;
        hash = one(record, seq, at, &hash, records)?;
        *checked += 1;
    }
    let last = raw.get("finalHash").and_then(Raw::text).unwrap_or_default();
    if last != hash {
        return broken(
            first + records.len() as u64,
            "finalHash is not the hash of the last record: the tail was removed, or the last record was re-hashed",
        );
    }
    Ok((first + records.len() as u64, hash))
}

/// Checks one record; returns its hash.
fn one(record: &Raw, seq: u64, at: usize, previous: &str, records: &[Raw]) -> Result<String, Broken> {
    let said = record.get("seq").and_then(Raw::count);
    if said != Some(seq) {
        let later = records.iter().skip(at).any(|other| other.get("seq").and_then(Raw::count) == Some(seq));
        return match said {
            Some(said) if later => {
                broken(seq, format!("record {seq} was reordered: record {said} stands in its place"))
            }
            Some(said) => broken(seq, format!("record {seq} was removed: record {said} stands in its place")),
            None => broken(seq, format!("record {seq} has no sequence number")),
        };
    }
    let stated = record.get("hash").and_then(Raw::text).unwrap_or_default();
    let hash = sha256_hex(record.canonical_without(Some("hash")).as_bytes());
    if record.get("prevHash").and_then(Raw::text).as_deref() != Some(previous) {
        let reason = if stated == hash && at > 0 {
            format!(
                "record {} was re-hashed after it was edited: record {seq} continues from another hash",
                seq - 1
            )
        } else {
            format!("record {seq} does not continue from the record before it")
        };
        return broken(seq, reason);
    }
    if stated != hash {
        return broken(seq, format!("record {seq} was edited: its hash is not that of its content"));
    }
    Ok(hash)
}
