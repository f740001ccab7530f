//! `recording://<id>/summary`, `/structure.mmd` and `/events?from=N&limit=N`.

use agentfootprint::debug::excerpt;
use agentfootprint::debug::mermaid::{MermaidView, mermaid};
use agentfootprint::debug::toolpack::TraceTools;
use agentfootprint::footprint::value::Value;
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

use super::server::{Catalog, bounded};

/// Events on one page.
const PAGE: usize = 20;
const MAX_PAGE: usize = 100;
/// Characters of one event.
const EVENT: usize = 600;

pub(super) fn all(catalog: &Catalog) -> Vec<Resource> {
    catalog
        .all()
        .iter()
        .flat_map(|(id, _)| {
            [
                ("summary", "text/plain"),
                ("structure.mmd", "text/vnd.mermaid"),
                ("events", "application/x-ndjson"),
            ]
            .map(|(part, kind)| {
                Resource::new(format!("recording://{id}/{part}"), format!("{id} {part}")).with_mime_type(kind)
            })
        })
        .collect()
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("recording://{id}/events{?from,limit}", "events of a recording, one page")
            .with_description("from: first event, default 0; limit: at most 100, default 20")
            .with_mime_type("application/x-ndjson"),
    ]
}

pub(super) fn read(catalog: &Catalog, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let missing = |what: String| ErrorData::resource_not_found(what, None);
    let rest = uri
        .strip_prefix("recording://")
        .ok_or_else(|| missing(format!("`{}` is no recording:// address", excerpt(uri, 120))))?;
    let (id, part) = rest.split_once('/').unwrap_or((rest, ""));
    let tools = catalog.get(id).ok_or_else(|| {
        missing(format!("no recording `{}`; there are {}", excerpt(id, 80), catalog.ids().join(", ")))
    })?;
    let (part, query) = part.split_once('?').unwrap_or((part, ""));
    let (text, kind) = match part {
        "summary" => {
            let text = tools.call("run_overview", &Value::Null);
            (text.map_err(|refused| ErrorData::internal_error(refused.to_string(), None))?, "text/plain")
        }
        "structure.mmd" => {
            let text = mermaid(tools.opened().recording(), MermaidView::Structure, false);
            (bounded(&text.map_err(|error| missing(error.to_string()))?), "text/vnd.mermaid")
        }
        "events" => (events(tools, query)?, "application/x-ndjson"),
        other => {
            return Err(missing(format!(
                "a recording has summary, structure.mmd and events, no `{}`",
                excerpt(other, 80)
            )));
        }
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(kind)]))
}

fn events(tools: &TraceTools, query: &str) -> Result<String, ErrorData> {
    let mut from = 0;
    let mut limit = PAGE;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let number = value.parse::<usize>().map_err(|_| {
            ErrorData::invalid_params(format!("`{}` takes a whole number", excerpt(key, 40)), None)
        })?;
        match key {
            "from" => from = number,
            "limit" => limit = number.clamp(1, MAX_PAGE),
            other => {
                return Err(ErrorData::invalid_params(
                    format!("events take from and limit, not `{}`", excerpt(other, 40)),
                    None,
                ));
            }
        }
    }
    let all = tools.opened().recording().events();
    let mut out = format!("# events {from} to {} of {}\n", (from + limit).min(all.len()), all.len());
    for event in all.iter().skip(from).take(limit) {
        out.push_str(&excerpt(&event.to_value().to_string(), EVENT));
        out.push('\n');
    }
    Ok(bounded(&out))
}
