// A recording whose every text tries to do something.

const ATTACKS = [
  "</script><script>globalThis.pwned=1</script>", "<img src=x onerror=\"globalThis.pwned=1\">", "<svg onload=globalThis.pwned=1>", "javascript:globalThis.pwned=1",
  "<!--<script>", "]]><style>*{display:none}</style>", "{{constructor.constructor('globalThis.pwned=1')()}}", "\u001b[31mred\u001b[0m\u001b]8;;http://evil.invalid\u0007link\u001b]8;;\u0007",
  "safe\u202egnp.exe", "\u2066\u2069\u200b\ufeff", "\u2028\u2029", "\u0000\b\u007f\u009b31m", "[x](javascript:globalThis.pwned=1)", "\ud800 lone", "__proto__",
];

export const LONG = 10_000_000;

export function hostile() {
  const bad = ATTACKS.join("\n");
  const huge = `${bad}${"A".repeat(LONG)}`;
  const step = (id, n) => `${id}#${n}`;
  const commit = (idx, id, overwrite, verb = "set") => ({ idx, stage: bad, stageId: id, runtimeStageId: step(id, idx), overwrite, updates: {}, redactedPaths: [bad], untrackedSources: [bad], trace: Object.keys(overwrite).map((path) => ({ path, verb })) });
  const message = { role: bad, content: bad, toolCalls: [{ id: bad, name: bad, args: { [bad]: bad } }] };
  const piece = (slot) => ({ slot, source: bad, sourceId: bad, reason: bad, asRole: bad, rawContent: slot === "messages" ? huge : bad });
  const event = (type, id, n, payload) => ({ type: `agentfootprint.${type}`, payload, meta: { runtimeStageId: step(id, n), runOffsetMs: n, runId: bad, compositionPath: [bad] } });
  const nested = JSON.parse(`{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}}}`);
  return JSON.stringify({
    snapshot: {
      commitLog: [
        commit(0, "seed", { userMessage: bad, history: [message], [bad]: huge, nested }), commit(1, "sf-messages", { messagesInjections: [piece("messages")], systemPromptInjections: [piece("system-prompt")], toolsInjections: [piece("tools")] }),
        commit(2, "call-llm", { llmLatestContent: bad, llmLatestToolCalls: message.toolCalls }), commit(3, "tool-calls", { history: [{ role: "tool", content: bad, toolCallId: bad, toolName: bad }] }, "append"), { ...commit(4, "final", { finalContent: bad }, bad) }, commit(5, "final", { finalContent: bad }),
      ],
      executionTree: { id: bad, name: bad, runtimeStageId: "seed#0", description: bad, stageReads: { [bad]: bad }, errors: { [bad]: bad }, flowMessages: [{ type: "branch", description: bad, rationale: bad }], children: [{ runtimeStageId: "call-llm#2", name: bad }] },
      initialState: {}, recorders: [{ id: bad, name: bad, data: [{ text: bad, depth: 0, runtimeStageId: "seed#0" }] }],
    },
    events: [
      event("agent.run_configured", "run-configured", 0, { agentId: bad }), event("agent.turn_start", "seed", 0, { userPrompt: bad }), event("context.injected", "sf-messages", 1, piece("messages")),
      event("stream.llm_start", "call-llm", 2, { iteration: 1, model: bad, provider: bad, tools: [{ name: bad, description: bad }] }), event("stream.llm_end", "call-llm", 2, { content: bad, stopReason: bad, usage: { input: 1, output: 1 } }),
      event("stream.tool_start", "tool-calls", 3, { toolCallId: bad, toolName: bad, args: { [bad]: bad } }), event("middleware.decision", "tool-calls", 3, { toolCallId: bad, middleware: bad, outcome: bad, why: bad }),
      event("stream.tool_end", "tool-calls", 3, { toolCallId: bad, error: bad, result: huge }), event("integrity.context_error", "call-llm", 2, { kind: bad, message: bad }), event("integrity.disposition", "final", 5, { rows: [{ check: bad, seam: bad, checked: 1, findings: 1 }] }),
      event(bad, bad, 9, { [bad]: bad }), event("agent.turn_end", "final", 5, { finalContent: bad }),
    ],
    structure: { id: "seed", name: bad, type: bad, description: bad, next: { id: "call-llm", name: bad, type: "stage", next: { id: bad, name: bad, type: "decider", hasDecider: true, children: [{ id: "final", name: bad, isSubflowRoot: true, subflowId: bad, subflowName: bad, subflowStructure: { id: bad, name: bad } }] } } },
  });
}
