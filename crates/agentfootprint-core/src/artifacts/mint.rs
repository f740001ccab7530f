//! What every store checks and computes before it keeps a payload (MEM-124).

use std::sync::Arc;

use agentfootprint_record::text::artifact_digest;
use footprint::value::Str;

use super::port::{ArtifactError, DigestAlgorithm, PutArtifact};
use super::shape::{ArtifactRef, PREFIX};

/// Letters and digits of a reference, behind `art_`.
pub const ARTIFACT_REF_CHARS: usize = 22;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Bytes at or above this would favour the first letters: they are drawn again.
const UNBIASED: u8 = 248; // 4 * 62

/// Where random bytes come from; the operating system, unless a test or a durable host injects another source.
pub type Entropy = Arc<dyn Fn(&mut [u8]) -> Result<(), ArtifactError> + Send + Sync>;

/// The operating system's random bytes.
pub(super) fn system_entropy() -> Entropy {
    Arc::new(|bytes| {
        getrandom::fill(bytes)
            .map_err(|_| ArtifactError::Store { operation: "put", class: "no entropy".to_owned() })
    })
}

/// Draws a reference. Every letter is equally likely.
///
/// # Errors
/// What `entropy` answers.
pub fn mint_ref(entropy: &Entropy) -> Result<ArtifactRef, ArtifactError> {
    let mut text = String::with_capacity(PREFIX.len() + ARTIFACT_REF_CHARS);
    text.push_str(PREFIX);
    let mut drawn = [0_u8; 32];
    while text.len() < PREFIX.len() + ARTIFACT_REF_CHARS {
        entropy(&mut drawn)?;
        let letters = drawn.iter().filter(|byte| **byte < UNBIASED);
        let letters = letters.filter_map(|byte| ALPHABET.get(usize::from(byte % 62)));
        let room = PREFIX.len() + ARTIFACT_REF_CHARS - text.len();
        text.extend(letters.take(room).map(|letter| char::from(*letter)));
    }
    Ok(ArtifactRef::minted(text))
}

/// Checks what can be known without the store: blank words, an expiry in the past.
///
/// # Errors
/// [`ArtifactError::Invalid`], naming the field.
pub fn prove_input(input: &PutArtifact, now_ms: u64) -> Result<(), ArtifactError> {
    let invalid = |what: &str| Err(ArtifactError::Invalid(what.to_owned()));
    if input.kind.trim().is_empty() {
        return invalid("`kind` is blank; name what it is");
    }
    if input.media_type.trim().is_empty() {
        return invalid("`mediaType` is blank; name its media type");
    }
    if input.expires_at.is_some_and(|at| at <= now_ms) {
        return invalid("`expiresAt` is not in the future");
    }
    Ok(())
}

/// Size and digest of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Bytes of its canonical form.
    pub bytes: u64,
    /// The digest over them, when one was asked for.
    pub digest: Option<Str>,
}

/// Measures a payload.
pub fn measure(input: &PutArtifact) -> Measured {
    let canonical = input.data.canonical_bytes();
    let digest = input.digest.map(|DigestAlgorithm::Sha256| Str::from(artifact_digest(&canonical)));
    Measured { bytes: u64::try_from(canonical.len()).unwrap_or(u64::MAX), digest }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;
    use crate::artifacts::ArtifactData;

    /// Proves MEM-124: bytes that would favour some letters are drawn again, and the alphabet is exactly 62 letters.
    #[test]
    fn references_are_drawn_without_bias() {
        let rounds = AtomicU8::new(0);
        let biased_first: Entropy = Arc::new(move |bytes| {
            // The first draw is all rejected; the second gives 61, the last letter.
            let byte = if rounds.fetch_add(1, Ordering::Relaxed) == 0 { 248 } else { 61 };
            bytes.fill(byte);
            Ok(())
        });
        assert_eq!(mint_ref(&biased_first).unwrap().as_str(), format!("art_{}", "z".repeat(22)));
        let one = mint_ref(&system_entropy()).unwrap();
        assert!(ArtifactRef::parse(one.as_str()).is_some());
        assert_ne!(one, mint_ref(&system_entropy()).unwrap());
    }

    /// Proves MEM-124.
    #[test]
    fn malformed_puts_are_refused_by_name() {
        let put = |kind: &str, media: &str| PutArtifact::new(kind, media, ArtifactData::text("x"));
        let said = |input: &PutArtifact| prove_input(input, 10).unwrap_err().to_string();
        assert!(said(&put(" ", "text/plain")).contains("`kind` is blank"));
        assert!(said(&put("k", "")).contains("`mediaType` is blank"));
        assert!(said(&put("k", "m").expires_at(10)).contains("`expiresAt` is not in the future"));
        assert_eq!(prove_input(&put("k", "m").expires_at(11), 10), Ok(()));
        assert_eq!(measure(&put("k", "m")), Measured { bytes: 1, digest: None });
        let digest = artifact_digest("x");
        assert_eq!(measure(&put("k", "m").with_digest()).digest.as_deref(), Some(&*digest));
    }
}
