//! Texts that hold texts: tagged sections with escaped content, so that what a model wrote can never pass for a boundary.

/// `<tag id="…">` escaped content `</tag>`.
pub(crate) fn section(tag: &str, id: Option<&str>, content: &str) -> String {
    let id = id.map(|id| format!(" id=\"{}\"", escaped(id))).unwrap_or_default();
    format!("<{tag}{id}>\n{}\n</{tag}>", escaped(content))
}

/// The text with a section behind it.
pub(crate) fn appended(text: &str, tag: &str, content: &str) -> String {
    format!("{text}\n\n{}", section(tag, None, content))
}

/// The content of the last section of this tag. Content is escaped, so the last opening tag is one of ours.
pub(crate) fn last_section(text: &str, tag: &str) -> Option<String> {
    let (_, rest) = text.rsplit_once(&format!("<{tag}>\n"))?;
    let (content, _) = rest.split_once(&format!("\n</{tag}>"))?;
    Some(unescaped(content))
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}

fn unescaped(text: &str) -> String {
    text.replace("&quot;", "\"").replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Proves AGT-123: content never passes for a boundary, and comes back as it was.
        #[test]
        fn what_goes_into_a_section_comes_out_of_it(before in ".*", content in "[<>&\"a-z/ \n]*", tag in "[a-z]{1,8}") {
            let text = appended(&before, &tag, &content);
            prop_assert_eq!(last_section(&text, &tag), Some(content.clone()));
            let closing = format!("</{tag}>");
            let body = section(&tag, Some("x\"y"), &content);
            prop_assert_eq!(body.matches(closing.as_str()).count(), 1);
        }
    }

    #[test]
    fn a_missing_section_is_none() {
        assert_eq!(last_section("<a>\nx", "a"), None);
        assert_eq!(last_section("x", "a"), None);
    }
}
