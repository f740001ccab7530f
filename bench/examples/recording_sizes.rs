//! What takes the room in a packed recording: bytes by kind, of a run of as many model calls as the first argument says.
//!
//! `cargo run -p agentfootprint-bench --example recording_sizes --release -- 200`
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::time::Instant;

use agentfootprint::footprint::json::{JsonError, JsonReader, Raw, TokenKind};
use agentfootprint::footprint::value;
use agentfootprint::prelude::*;
use agentfootprint::record::Recording;

/// Looks up an order.
#[tool]
fn get_order(order_id: String) -> Result<String, ToolError> {
    Ok(result_of(&order_id))
}

fn result_of(order: &str) -> String {
    format!("order {order}: delivered, {}", "kettle and cups, ".repeat(12))
}

#[derive(Default)]
struct Sizes(BTreeMap<String, (usize, usize)>);

impl Sizes {
    fn add(&mut self, kind: impl Into<String>, bytes: usize) {
        let entry = self.0.entry(kind.into()).or_default();
        entry.0 += 1;
        entry.1 += bytes;
    }
}

/// The members of a map, or the items of a list under no name.
fn parts<'a>(raw: &Raw<'a>) -> Result<Vec<(String, Raw<'a>)>, JsonError> {
    let mut reader = JsonReader::of(raw, None);
    let mut parts = Vec::new();
    match reader.peek()? {
        TokenKind::Object => {
            reader.begin_object()?;
            while let Some(key) = reader.next_key()? {
                parts.push((key.into_owned(), reader.next_raw()?));
                reader.skip_value()?;
            }
        }
        TokenKind::Array => {
            reader.begin_array()?;
            while reader.next_item()? {
                parts.push((String::new(), reader.next_raw()?));
                reader.skip_value()?;
            }
        }
        _ => {}
    }
    Ok(parts)
}

fn text_under(raw: &Raw<'_>, key: &str) -> Result<String, JsonError> {
    for (name, part) in parts(raw)? {
        if name == key {
            return Ok(String::from_utf8_lossy(part.text()).trim_matches('"').to_owned());
        }
    }
    Ok("?".to_owned())
}

fn sizes(text: &str) -> Result<Sizes, JsonError> {
    let mut sizes = Sizes::default();
    for (name, part) in parts(&Raw::of(text.as_bytes()))? {
        match &*name {
            "values" => {
                for (_, value) in parts(&part)? {
                    let text = value.text();
                    let kind = match text.first() {
                        Some(b'"') => "text".to_owned(),
                        Some(b'[') => "array".to_owned(),
                        _ if text.starts_with(b"{\"$af:list\"") => "list that begins as another".to_owned(),
                        _ => {
                            let keys: Vec<String> =
                                parts(&value)?.into_iter().take(3).map(|(key, _)| key).collect();
                            format!("map of {}…", keys.join(","))
                        }
                    };
                    sizes.add(format!("values: {kind}"), text.len());
                }
            }
            "recording" => {
                for (name, part) in parts(&part)? {
                    match &*name {
                        "snapshot" => snapshot(&part, &mut sizes)?,
                        "events" => {
                            for (_, event) in parts(&part)? {
                                sizes.add(
                                    format!("event {}", text_under(&event, "type")?),
                                    event.text().len(),
                                );
                            }
                        }
                        _ => sizes.add(name, part.text().len()),
                    }
                }
            }
            _ => {}
        }
    }
    Ok(sizes)
}

fn snapshot(raw: &Raw<'_>, sizes: &mut Sizes) -> Result<(), JsonError> {
    for (name, part) in parts(raw)? {
        match &*name {
            "commitLog" => commits("commit", &part, sizes)?,
            "subflowResults" => {
                for (_, entry) in parts(&part)? {
                    for (name, part) in parts(&entry)? {
                        if name != "treeContext" {
                            sizes.add(format!("subflow {name}"), part.text().len());
                            continue;
                        }
                        for (name, part) in parts(&part)? {
                            match &*name {
                                "history" => commits("subflow commit", &part, sizes)?,
                                _ => sizes.add(format!("subflow {name}"), part.text().len()),
                            }
                        }
                    }
                }
            }
            "recorders" => {
                for (_, row) in parts(&part)? {
                    let name = text_under(&row, "name")?;
                    for (key, part) in parts(&row)? {
                        if key != "data" {
                            continue;
                        }
                        for (_, item) in parts(&part)? {
                            let kind = if part.text().starts_with(b"[") {
                                text_under(&item, "type")?
                            } else {
                                String::new()
                            };
                            sizes.add(format!("row {name} {kind}"), item.text().len());
                        }
                    }
                }
            }
            _ => sizes.add(name, part.text().len()),
        }
    }
    Ok(())
}

fn commits(kind: &str, raw: &Raw<'_>, sizes: &mut Sizes) -> Result<(), JsonError> {
    for (_, commit) in parts(raw)? {
        sizes.add(format!("{kind} {}", text_under(&commit, "stageId")?), commit.text().len());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let iterations: usize = std::env::args().nth(1).unwrap_or_else(|| "200".to_owned()).parse()?;
    let mut said = 0;
    let mut replies: Vec<MockReply> = Vec::new();
    for at in 1..iterations {
        let (id, order, words) = (format!("call-{at}"), format!("A-{at}"), format!("Now order {at}."));
        said += id.len() + order.len() + words.len() + result_of(&order).len();
        replies
            .push(MockReply::tool_call(id, "get_order", value!({ "order_id": order })).with_content(words));
    }
    replies.push(MockReply::from("All of your orders were delivered."));
    let agent = Agent::builder(Mock::replies(replies), "mock-1")
        .tool(get_order)
        .max_iterations(u32::try_from(iterations)? + 1)
        .build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let run = runtime.block_on(async { agent.record("Where are all my orders?").await })?;
    let recording = run.recording();
    let started = Instant::now();
    let packed = recording.to_packed()?;
    let pack_ms = started.elapsed().as_millis();
    let started = Instant::now();
    Recording::open(packed.as_bytes())?;
    let open_ms = started.elapsed().as_millis();
    println!(
        "{iterations} model calls: said {said}, packed {} ({pack_ms} ms), opened in {open_ms} ms",
        packed.len()
    );
    if let Some(path) = std::env::args().nth(2) {
        std::fs::write(path, &packed)?;
    }
    let mut sizes: Vec<_> = sizes(&packed)?.0.into_iter().collect();
    sizes.sort_by_key(|(_, (_, bytes))| std::cmp::Reverse(*bytes));
    for (kind, (count, bytes)) in sizes {
        println!("{bytes:>10}  {count:>7}x  {kind}");
    }
    Ok(())
}
