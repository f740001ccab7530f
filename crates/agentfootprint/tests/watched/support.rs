use agentfootprint::compose::LlmCall;
use agentfootprint::prelude::*;
use footprint::value;

/// Looks an order up.
#[tool]
pub(crate) async fn get_order(order_id: String) -> Result<String, ToolError> {
    Ok(format!("{order_id}: shipped"))
}

/// The agent of the specification's worked example.
pub(crate) fn support_agent() -> Agent {
    let model = Mock::replies([
        MockReply::tool_call("t1", "get_order", value!({ "order_id": "A-1001" })),
        MockReply::from("Order A-1001 has shipped."),
    ]);
    Agent::builder(model, "mock-1").id("support").system("You help.").tool(get_order).build().unwrap()
}

pub(crate) fn says(id: &str, answer: &str) -> LlmCall {
    LlmCall::builder(Mock::always(answer), "mock-1").id(id).build().unwrap()
}
