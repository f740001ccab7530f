//! The page the command embeds is the one the viewer's sources build.
#![allow(clippy::unwrap_used)]

#[test]
fn the_embedded_page_is_the_built_one() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = std::fs::read_to_string(here.join("../../viewer/dist/index.html")).unwrap();
    let embedded = std::fs::read_to_string(here.join("assets/viewer.html")).unwrap();
    assert!(
        built == embedded,
        "copy viewer/dist/index.html to crates/agentfootprint-cli/assets/viewer.html: the command embeds an older page"
    );
}
