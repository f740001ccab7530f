//! `agentfootprint demo`: a real agent with a scripted model, two tools and one wrong fact.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use agentfootprint::footprint::value;
use agentfootprint::prelude::*;

use crate::block_on;
use crate::live::Live;
use crate::out::{Failure, say};

const QUESTION: &str = "Can I still send back order A-1001, and what does the label cost?";
/// The wrong fact: the shop gives 14 days, and somebody typed 90.
const PLANTED: &str = "Returns: customers have 90 days after delivery to send an order back.";
const ANSWER: &str =
    "Yes. A-1001 was delivered on 2026-10-02 and you have 90 days to send it back; the label costs 4.90 EUR.";

/// Looks up an order by its number.
#[tool]
fn get_order(
    /// The order number, such as A-1001.
    order_id: String,
) -> Result<agentfootprint::footprint::Value, ToolError> {
    Ok(value!({ "orderId": order_id, "item": "kettle", "status": "delivered", "deliveredOn": "2026-10-02" }))
}

/// Price of a return label for an order.
#[tool]
fn label_price(
    /// The order number.
    order_id: String,
) -> Result<String, ToolError> {
    Ok(format!("A return label for {order_id} costs 4.90 EUR."))
}

pub(crate) fn demo(out: &Path) -> Result<ExitCode, Failure> {
    block_on(shown(out))
}

async fn shown(out: &Path) -> Result<ExitCode, Failure> {
    let agent = Agent::builder(script(), "scripted-1")
        .id("support")
        .system("You answer questions about orders. Look orders up before you answer.")
        .fact(Fact::new("returns-policy", PLANTED))
        .tool(get_order)
        .tool(label_price)
        .pricing(StaticPricing::new("demo").any_model(ModelPrices {
            input: Some(1e-6),
            output: Some(4e-6),
            ..ModelPrices::default()
        }))
        .build()
        .map_err(|errors| Failure::failed(errors.to_string()))?;
    say(format!("question: {QUESTION}\n\n"));
    let live = Arc::new(Live::default());
    let showing = Arc::clone(&live);
    let declared = agent.record(QUESTION).listen("*", move |event| showing.show(event));
    let run = declared.map_err(|error| Failure::failed(error.to_string()))?.await;
    let run = run.map_err(|refusal| Failure::failed(refusal.to_string()))?;
    live.end();
    let answer = run.answer().map_err(|error| Failure::failed(error.to_string()))?.clone();
    run.save(out).map_err(|error| Failure::failed(error.to_string()))?;
    let usd = run.record().state().get("cumEstimatedUsd").and_then(|usd| usd.as_f64()).unwrap_or_default();
    say(format!("\nanswer:    {answer}\ncost:      ${usd:.6}\nrecording: {}\n\n", out.display()));
    say(run.why_about("90 days").to_string());
    say(format!(
        "\nThe shop's real policy is 14 days: the fact `returns-policy` is wrong, and the chain above ends at it.\n\
         Ask further:  agentfootprint explain {0}\n              agentfootprint why {0} history[2]\n              agentfootprint validate {0}\n",
        out.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// What the model will say, in order.
fn script() -> Mock {
    Mock::replies([
        MockReply::tool_call("call-1", "get_order", value!({ "order_id": "A-1001" }))
            .with_content("Let me look that up."),
        MockReply::tool_call("call-2", "label_price", value!({ "order_id": "A-1001" })),
        MockReply::from(ANSWER),
    ])
}
