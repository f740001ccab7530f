//! The shape of a piece of code: what the record may hold of it (TOOL-97).
//!
//! Two programs that differ in their texts, numbers and names of variables have one shape; what they call and how they are
//! built stays. So a reader sees that the model wrote the same program again, and never a word of it.

use agentfootprint_record::text::content_hash;

/// Words of Python and JavaScript that are structure, not names.
const KEYWORDS: [&str; 66] = [
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "def",
    "default",
    "del",
    "delete",
    "do",
    "elif",
    "else",
    "enum",
    "except",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "from",
    "function",
    "global",
    "if",
    "import",
    "in",
    "instanceof",
    "is",
    "lambda",
    "let",
    "match",
    "new",
    "nonlocal",
    "not",
    "null",
    "of",
    "or",
    "pass",
    "raise",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
    "self",
    "print",
    "require",
];

/// FNV-1a-32 of the shape, lower-case hex without padding.
pub(super) fn shape_hash(code: &str, language: &str) -> String {
    content_hash(&shape(code, language))
}

/// Comments dropped, texts as `S`, numbers as `N`, names that are neither called nor keywords as `V`, blanks collapsed.
pub(super) fn shape(code: &str, language: &str) -> String {
    let hash_comments = !matches!(language, "javascript" | "typescript" | "js" | "ts");
    let mut rest = code;
    let mut out = String::new();
    while let Some(first) = rest.chars().next() {
        if let Some(after) = comment(rest, hash_comments) {
            rest = after;
            gap(&mut out);
        } else if let Some(after) = text(rest) {
            rest = after;
            out.push('S');
        } else if first.is_whitespace() {
            rest = rest.trim_start();
            gap(&mut out);
        } else if first.is_ascii_digit() {
            rest = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '.' || c == '_');
            out.push('N');
        } else if is_name(first) {
            let after = rest.trim_start_matches(|c: char| is_name(c) || c.is_ascii_digit());
            let name = rest.get(..rest.len() - after.len()).unwrap_or_default();
            let called = after.trim_start_matches([' ', '\t']).starts_with('(');
            out.push_str(if called || KEYWORDS.contains(&name) { name } else { "V" });
            rest = after;
        } else {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    out.trim().to_owned()
}

fn is_name(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

fn gap(out: &mut String) {
    if !out.is_empty() && !out.ends_with(' ') {
        out.push(' ');
    }
}

/// What follows a comment that begins here.
fn comment(rest: &str, hash_comments: bool) -> Option<&str> {
    let line = |body: &'_ str| body.find('\n').map_or(body.len(), |at| at);
    if hash_comments {
        let body = rest.strip_prefix('#')?;
        return body.get(line(body)..);
    }
    if let Some(body) = rest.strip_prefix("//") {
        return body.get(line(body)..);
    }
    let body = rest.strip_prefix("/*")?;
    Some(body.find("*/").and_then(|at| body.get(at + 2..)).unwrap_or_default())
}

/// What follows a text that begins here. One that never ends goes on to the end of the code.
fn text(rest: &str) -> Option<&str> {
    let quote = ["\"\"\"", "'''", "\"", "'", "`"].into_iter().find(|quote| rest.starts_with(quote))?;
    let mut body = rest.get(quote.len()..).unwrap_or_default();
    while !body.is_empty() {
        if let Some(after) = body.strip_prefix(quote) {
            return Some(after);
        }
        let mut chars = body.chars();
        if chars.next() == Some('\\') {
            chars.next();
        }
        body = chars.as_str();
    }
    Some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves TOOL-97.
    #[test]
    fn the_shape_holds_structure_and_no_words() {
        let code =
            "# totals\nrows = load('sales.csv')\nfor r in rows:\n    print(r[\"net\"] * 1.19)  # with tax";
        assert_eq!(shape(code, "python"), "V = load(S) for V in V: print(V[S] * N)");
        let same = "items = load(\"other.csv\")\n\nfor it in items:\n  print(it['x'] * 2)";
        assert_eq!(shape_hash(code, "python"), shape_hash(same, "python"));
        assert_ne!(shape_hash(code, "python"), shape_hash("rows = drop('sales.csv')", "python"));
    }

    /// Proves TOOL-97: comments and texts as each language writes them.
    #[test]
    fn each_language_has_its_comments() {
        assert_eq!(
            shape("const a = `x ${y} \\` z`; // c\n/* gone\n */ go(a, 0x1F)", "javascript"),
            "const V = S; go(V, N)"
        );
        assert_eq!(shape("a // 2", "python"), "V // N");
        assert_eq!(shape("x = '''a 'quoted' b'''\ny=\"it\\\"s\"", "python"), "V = S V=S");
        assert_eq!(shape("s = 'never closed", "python"), "V = S");
        assert_eq!(shape("# only a comment", "python"), "");
        assert_eq!(shape("größe = 3", "python"), "V = N");
        assert_eq!(shape_hash("", "python"), "811c9dc5");
    }
}
