//! File names for anything a caller may call an input (TOOL-98, T-20).
//!
//! A plain name stays as it is. Any other is encoded so that two different names never become one file, whatever they hold.

use std::fmt::Write as _;

use agentfootprint_record::text::sha256_hex;

/// The longest file name.
const LONGEST: usize = 120;
/// What an encoded name begins with.
const MARK: &str = "_enc_";
/// Hex digits of a name that did not fit.
const DIGITS: usize = 32;

/// The file name for an input name.
pub(super) fn file_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let fits = !name.is_empty() && name.len() <= LONGEST;
    if fits && name.chars().all(plain) && !name.chars().all(|c| c == '.') && !name.starts_with(MARK) {
        return name.to_owned();
    }
    let mut whole = MARK.to_owned();
    let mut prefix = 0;
    for c in name.chars() {
        push(&mut whole, c);
        // A cut inside an escape could be read as the end of another name.
        if whole.len() <= LONGEST - 2 - DIGITS {
            prefix = whole.len();
        }
    }
    if whole.len() <= LONGEST {
        return whole;
    }
    let kept = whole.get(..prefix).unwrap_or(MARK);
    let digest = sha256_hex(name);
    format!("{kept}_z{}", digest.get(..DIGITS).unwrap_or(&digest))
}

fn push(out: &mut String, c: char) {
    if c == '_' {
        out.push_str("__");
    } else if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') {
        out.push(c);
    } else {
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a text does not fail.
            let _ = write!(out, "_u{unit:04x}");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Proves TOOL-98.
    #[test]
    fn names_by_case() {
        assert_eq!(file_name("sales-2024_q1.csv"), "sales-2024_q1.csv");
        assert_eq!(file_name(".."), "_enc_..");
        assert_eq!(file_name(""), "_enc_");
        assert_eq!(file_name("../etc/passwd"), "_enc_.._u002fetc_u002fpasswd");
        assert_eq!(file_name("_enc_a"), "_enc___enc__a");
        assert_eq!(file_name("a b_c"), "_enc_a_u0020b__c");
        assert_eq!(file_name("😀"), "_enc__ud83d_ude00");
        let (long, other) = ("ä".repeat(200), format!("{}b", "ä".repeat(199)));
        assert_eq!(file_name(&"a".repeat(121)).len(), 5 + 81 + 2 + 32);
        assert!(file_name(&long).len() <= LONGEST && file_name(&long).contains("_z"));
        assert_ne!(file_name(&long), file_name(&other));
    }

    proptest! {
        /// Proves TOOL-98: no two names share a file, and none leaves its directory.
        #[test]
        fn names_never_collide(a in "[_zuenc./ a-f0-9é😀]{0,140}", b in "[_zuenc./ a-f0-9é😀]{0,140}") {
            let (one, two) = (file_name(&a), file_name(&b));
            prop_assert_eq!(a == b, one == two);
            prop_assert!(!one.is_empty() && one.len() <= LONGEST && !one.contains('/') && one != "..");
            // An encoded name is no plain one.
            prop_assert_eq!(file_name(&one) == one, !one.starts_with(MARK));
        }
    }
}
