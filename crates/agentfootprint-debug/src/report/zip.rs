//! Stored zip archives: written so that the same input gives the same bytes, and read back.

/// One file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// Stored, version 2.0, names in UTF-8.
const VERSION: u16 = 20;
const UTF8: u16 = 0x0800;

/// Why there is no archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ZipLimit {
    Entries,
    Bytes,
}

/// Writes an archive; `moment` is date and time in DOS form.
pub(super) fn write(entries: &[Entry], moment: (u16, u16)) -> Result<Vec<u8>, ZipLimit> {
    let count = u16::try_from(entries.len()).map_err(|_| ZipLimit::Entries)?;
    let mut out = Vec::new();
    let mut central = Vec::new();
    for entry in entries {
        let offset = u32::try_from(out.len()).map_err(|_| ZipLimit::Bytes)?;
        let size = u32::try_from(entry.bytes.len()).map_err(|_| ZipLimit::Bytes)?;
        let name_size = u16::try_from(entry.name.len()).map_err(|_| ZipLimit::Bytes)?;
        let mut facts = Vec::new();
        for half in [VERSION, UTF8, 0, moment.1, moment.0] {
            facts.extend(half.to_le_bytes());
        }
        for word in [crc32fast::hash(&entry.bytes), size, size] {
            facts.extend(word.to_le_bytes());
        }
        facts.extend(name_size.to_le_bytes());
        facts.extend(0_u16.to_le_bytes());
        out.extend(LOCAL.to_le_bytes());
        out.extend(&facts);
        out.extend(entry.name.as_bytes());
        out.extend(&entry.bytes);
        central.extend(CENTRAL.to_le_bytes());
        central.extend(VERSION.to_le_bytes());
        central.extend(&facts);
        // Comment, disk and attributes: none.
        central.extend([0_u8; 10]);
        central.extend(offset.to_le_bytes());
        central.extend(entry.name.as_bytes());
    }
    let start = u32::try_from(out.len()).map_err(|_| ZipLimit::Bytes)?;
    let size = u32::try_from(central.len()).map_err(|_| ZipLimit::Bytes)?;
    out.extend(central);
    out.extend(END.to_le_bytes());
    out.extend([0_u8; 4]);
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(size.to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend(0_u16.to_le_bytes());
    Ok(out)
}

/// Reads the files of a stored archive; `None` for anything else or anything damaged.
pub(super) fn read(bytes: &[u8]) -> Option<Vec<Entry>> {
    let end = bytes.len().checked_sub(22)?;
    // The end record may be followed by a comment.
    let end = (end.saturating_sub(65_535)..=end).rev().find(|at| word(bytes, *at) == Some(END))?;
    let count = half(bytes, end + 10)?;
    let mut at = word(bytes, end + 16)? as usize;
    let mut entries = Vec::new();
    for _ in 0..count {
        if word(bytes, at)? != CENTRAL || half(bytes, at + 10)? != 0 {
            return None;
        }
        let (crc, size) = (word(bytes, at + 16)?, word(bytes, at + 24)? as usize);
        let names = [28, 30, 32].map(|offset| half(bytes, at + offset).map(usize::from));
        let [Some(name_size), Some(extra), Some(comment)] = names else { return None };
        let local = word(bytes, at + 42)? as usize;
        let name = bytes.get(at + 46..(at + 46).checked_add(name_size)?)?;
        at = (at + 46).checked_add(name_size + extra + comment)?;
        if word(bytes, local)? != LOCAL {
            return None;
        }
        let skipped = usize::from(half(bytes, local + 26)?) + usize::from(half(bytes, local + 28)?);
        let start = (local + 30).checked_add(skipped)?;
        let content = bytes.get(start..start.checked_add(size)?)?;
        if crc32fast::hash(content) != crc {
            return None;
        }
        entries.push(Entry { name: std::str::from_utf8(name).ok()?.to_owned(), bytes: content.to_vec() });
    }
    Some(entries)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at.checked_add(2)?)?.try_into().ok().map(u16::from_le_bytes)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn what_is_written_is_read(files in prop::collection::vec(("[a-zé/.]{1,20}", prop::collection::vec(any::<u8>(), 0..200)), 0..6), at in any::<usize>(), byte in any::<u8>()) {
            let entries: Vec<Entry> = files.into_iter().map(|(name, bytes)| Entry { name, bytes }).collect();
            let mut archive = write(&entries, (0x5d7e, 0)).unwrap_or_default();
            prop_assert_eq!(read(&archive), Some(entries));
            let at = at % archive.len();
            if let Some(changed) = archive.get_mut(at) {
                *changed = byte;
            }
            let _ = read(&archive);
            let _ = read(archive.get(..at).unwrap_or_default());
        }
    }
}
