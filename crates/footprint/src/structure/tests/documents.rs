use proptest::prelude::*;

use super::*;
use crate::structure::mermaid::mermaid_id;

fn shop() -> Chart {
    let bank = Chart::builder(nop("call").named("Call")).build().unwrap();
    let pay = Chart::builder(nop("auth").named("Authorise").describe("asks the bank"))
        .mount(Mount::of("sf-bank", &bank))
        .build()
        .unwrap();
    Chart::builder(nop("seed").named("Seed").describe("loads the order"))
        .then(nop("prep").named("Prep"))
        .fork([nop("slow").named("Slow"), nop("quick").named("Quick")], FanOut::AllSettled)
        .mount(Mount::of("sf-pay", &pay).named("Pay"))
        .mount(Mount::lazy("sf-later", inner).named("Later"))
        .fork([nop("mail").describe("writes home")], FanOut::AllSettled)
        .for_each(for_each("each").named("Each"))
        .decide(
            decider("route")
                .named("Route")
                .describe("by risk")
                .branch(Branch::stage(nop("again").named("Again")).loop_to("prep"))
                .branch(Mount::of("deep", &bank).named("Deep"))
                .branch(nop("done").named("Done")),
        )
        .loop_to("seed")
        .build()
        .unwrap()
}

/// Proves ENG-54: header, numbered steps, children, branches, loops, and inner steps one level in.
#[test]
fn the_description_tells_every_step_once() {
    assert_eq!(
        shop().description(),
        "Flowchart: Seed
Steps:
1. Seed - loads the order
2. Prep
3. In parallel: Slow, Quick
4. Pay [chart] (Flowchart: Authorise)
   1. Authorise - asks the bank
   2. sf-bank [chart] (Flowchart: Call)
      1. Call
5. Later [chart, resolved when first entered]
6. In parallel: mail
   - mail - writes home
7. Each [one branch per item]
8. Route - by risk (picks one of: again, deep, done)
   - again: Again, then loops back to prep
   - deep: Deep [chart] (Flowchart: Call)
      1. Call
   loops back to seed"
    );
}

/// Proves ENG-54, ENG-60: a 50-deep nest has a line or two per level and no text twice.
#[test]
fn descriptions_grow_with_the_chart_and_not_with_its_nesting() {
    let nest = |depth: usize| {
        let mut chart = Chart::builder(nop("leaf").describe("the only leaf")).build().unwrap();
        for level in 0..depth {
            let mount = Mount::of(format!("sf{level}"), &chart);
            chart = Chart::builder(nop(&format!("in{level}"))).mount(mount).build().unwrap();
        }
        chart.description()
    };
    let (half, full) = (nest(25), nest(50));
    assert_eq!((half.lines().count(), full.lines().count()), (2 + 2 * 25 + 1, 2 + 2 * 50 + 1));
    assert_eq!(full.matches("the only leaf").count(), 1);
    let said = |text: &str| text.lines().map(|line| line.trim_start().len()).sum::<usize>();
    assert!(said(&full) <= said(&half) * 21 / 10, "{} {}", said(&half), said(&full));
}

/// Proves ENG-55: every node once, branches before what follows, loops to their target.
#[test]
fn the_diagram_draws_every_edge() {
    let chart = Chart::builder(nop("seed").named("Seed"))
        .decide(
            decider("check")
                .named("Check \"it\" <now>")
                .branch(Branch::stage(nop("again")).loop_to("seed"))
                .branch(nop("stop")),
        )
        .then(nop("end").named("End"))
        .build()
        .unwrap();
    assert_eq!(
        chart.to_mermaid().lines().collect::<Vec<_>>(),
        [
            "flowchart TD",
            "seed[\"Seed\"]",
            "seed --> check",
            "check[\"Check #quot;it#quot; #lt;now#gt;\"]",
            "check --> again",
            "again[\"again\"]",
            "again --> seed",
            "check --> stop",
            "stop[\"stop\"]",
            "check --> _x65_nd",
            "_x65_nd[\"End\"]",
        ]
    );
}

/// Undoes `mermaid_id`; that this exists is what injective means.
fn undo(safe: &str) -> String {
    let mut id = String::new();
    let mut rest = safe;
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        if first != '_' {
            id.push(first);
        } else if let Some(after) = rest.strip_prefix('_') {
            id.push('_');
            rest = after;
        } else {
            let (code, after) = rest.strip_prefix('x').unwrap().split_once('_').unwrap();
            id.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
            rest = after;
        }
    }
    id
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    /// Proves ENG-55, ENG-60: different ids never share a diagram id, and every diagram id is safe.
    #[test]
    fn mermaid_ids_never_collide(id in prop_oneof![".{0,12}", "[a-z_x0-9-]{0,8}", Just("end".to_owned()), Just("_x65_nd".to_owned())]) {
        let safe = mermaid_id(&id);
        prop_assert_eq!(undo(&safe), id);
        prop_assert!(safe.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
        prop_assert_ne!(safe.as_str(), "end");
    }
}

#[test]
fn folding_escapes_are_the_classic_collision() {
    assert_ne!(mermaid_id("a-b"), mermaid_id("a_b"));
    assert_eq!(mermaid_id("sf-pay_2"), "sf_x2d_pay__2");
}

fn contracted() -> Chart {
    Chart::builder(nop("calc/x".trim_end_matches("/x")).named("Calc"))
        .contract(
            Contract::new()
                .input_schema(value!({ "type": "object", "required": ["amount"] }))
                .output_schema(value!({ "type": "number" })),
        )
        .build()
        .unwrap()
}

/// Proves ENG-56.
#[cfg(feature = "schema")]
#[test]
fn openapi_has_defaults_and_inline_schemas() {
    assert_eq!(
        contracted().to_openapi(&OpenApi::default()),
        value!({
            "openapi": "3.1.0",
            "info": { "title": "Flowchart: Calc", "version": "1.0.0", "description": "Flowchart: Calc\nSteps:\n1. Calc" },
            "paths": { "/calc": { "post": {
                "summary": "Flowchart: Calc",
                "description": "Flowchart: Calc\nSteps:\n1. Calc",
                "requestBody": { "content": { "application/json": { "schema": { "type": "object", "required": ["amount"] } } } },
                "responses": { "200": {
                    "description": "Success",
                    "content": { "application/json": { "schema": { "type": "number" } } }
                } }
            } } }
        })
    );
    let plain = Chart::builder(nop("Price List_2!")).build().unwrap();
    let document = plain.to_openapi(&OpenApi { version: Some("2".into()), ..OpenApi::default() });
    assert_eq!(document["info"]["version"], value!("2"));
    let post = &document["paths"]["/price-list-2"]["post"];
    assert_eq!(
        (post.get("requestBody"), &post["responses"]),
        (None, &value!({ "200": { "description": "Success" } }))
    );
    let options = OpenApi {
        title: Some("T".into()),
        description: Some("D".into()),
        path: Some("/p".into()),
        version: None,
    };
    let document = plain.to_openapi(&options);
    assert_eq!(document["info"], value!({ "title": "T", "version": "1.0.0", "description": "D" }));
    assert!(document["paths"].get("/p").is_some());
}

/// Proves ENG-56, ENG-60: the document is one by OpenAPI's own words for the parts we write.
#[cfg(feature = "schema")]
#[test]
fn openapi_documents_validate() {
    // The part of the OpenAPI 3.1 schema that covers what is generated here.
    let shape = value!({
        "type": "object", "required": ["openapi", "info", "paths"], "additionalProperties": false,
        "properties": {
            "openapi": { "pattern": "^3\\.1\\.\\d+$" },
            "info": { "type": "object", "required": ["title", "version"], "additionalProperties": false,
                      "properties": { "title": { "type": "string" }, "version": { "type": "string" }, "description": { "type": "string" } } },
            "paths": { "type": "object", "additionalProperties": false, "patternProperties": { "^/": {
                "type": "object", "additionalProperties": false, "properties": { "post": {
                    "type": "object", "required": ["responses"], "additionalProperties": false,
                    "properties": {
                        "summary": { "type": "string" }, "description": { "type": "string" },
                        "requestBody": { "type": "object", "required": ["content"] },
                        "responses": { "type": "object", "minProperties": 1, "additionalProperties": false,
                                       "patternProperties": { "^[1-5]\\d\\d$": { "type": "object", "required": ["description"] } } }
                    }
                } }
            } } }
        }
    });
    let shape = JsonSchema::new(shape);
    for chart in [shop(), contracted()] {
        assert_eq!(shape.check(Some(&chart.to_openapi(&OpenApi::default()))).unwrap(), vec![]);
    }
}

/// Proves ENG-57.
#[test]
fn mcp_tools_have_a_schema_and_a_legal_name() {
    let plain = Chart::builder(nop("seed").named("Seed")).build().unwrap();
    assert_eq!(
        plain.to_mcp_tool(&McpTool::default()).unwrap(),
        value!({
            "name": "seed", "description": "Flowchart: Seed\nSteps:\n1. Seed",
            "inputSchema": { "type": "object", "properties": {}, "additionalProperties": false }
        })
    );
    for (id, legal) in [("a.b-c_9", true), ("a b", false), ("prüfen", false), ("a~b", false)] {
        let chart = Chart::builder(nop(id)).build().unwrap();
        assert_eq!(chart.to_mcp_tool(&McpTool::default()).is_ok(), legal, "{id}");
        let named = McpTool { name: Some("ok".into()), description: Some("D".into()) };
        let tool = chart.to_mcp_tool(&named).unwrap();
        assert_eq!((&tool["name"], &tool["description"]), (&value!("ok"), &value!("D")));
    }
    let refused = plain.to_mcp_tool(&McpTool { name: Some("".into()), ..McpTool::default() }).unwrap_err();
    assert!(refused.to_string().contains("McpTool::name"));
    #[cfg(feature = "schema")]
    assert_eq!(
        contracted().to_mcp_tool(&McpTool::default()).unwrap()["inputSchema"],
        value!({ "type": "object", "required": ["amount"] })
    );
}
