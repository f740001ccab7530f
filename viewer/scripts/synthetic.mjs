// Writes a large recording by the format: an agent that loops, with every log, event and tree that a real one has.
//   node scripts/synthetic.mjs [LOOPS=1000] [OUT=synthetic.json]
// The conversation is windowed, as an agent that runs this long must do; history itself grows by appended tails.

import { createWriteStream } from "node:fs";

const loops = Number(process.argv[2] ?? 1000);
const out = createWriteStream(process.argv[3] ?? "synthetic.json");
const WINDOW = 12;
const T0 = 1_796_000_000_000;
let ordinal = 0;
let offset = 0;
const commits = [];
const events = [];
const boundary = [];
const tree = [];
const inner = {};

const commit = (log, stageId, stage, step, writes = {}, more = {}) => {
  const trace = Object.entries(writes).map(([path, [verb]]) => ({ path, verb }));
  const overwrite = Object.fromEntries(Object.entries(writes).map(([path, [, value]]) => [path, value]));
  log.push({ idx: log.length, stage, stageId, runtimeStageId: step, trace, overwrite, updates: {}, redactedPaths: [], ...more });
};
const emit = (type, step, payload) => {
  offset += 3;
  events.push({ type: `agentfootprint.${type}`, payload, meta: { wallClockMs: T0 + offset, runOffsetMs: offset, runtimeStageId: step, subflowPath: step.split("/").slice(0, -1), compositionPath: ["Agent:marathon"], runId: "run-1-1" } });
};
const node = (step, name, reads = [], more = {}) => {
  const stageReads = Object.fromEntries(reads.map((key) => [key, { __readSummary: true, type: "array" }]));
  tree.push({ id: step.replace(/#.*/, ""), runtimeStageId: step, name, isDecider: false, isFork: false, logs: {}, errors: {}, metrics: {}, evals: {}, stageReads, flowMessages: [], ...more });
};
const step = (id) => `${id}#${ordinal++}`;
/** A mount: inner log, own commit, exit commit. */
const mount = (id, stage, seed, stages, writes) => {
  const key = step(id);
  const log = [];
  commit(log, id, stage, key, Object.fromEntries(Object.entries(seed).map(([k, v]) => [k, ["set", v]])));
  for (const [name, innerWrites, emits] of stages) {
    const at = step(`${id}/${name}`);
    for (const [type, payload] of emits ?? []) emit(type, at, payload);
    commit(log, `${id}/${name}`, `${id}/${name}`, at, innerWrites);
  }
  inner[key] = { subflowId: id, subflowName: stage, parentStageId: stage, treeContext: { globalContext: {}, stageContexts: {}, history: log, initialState: {} } };
  commit(commits, id, stage, key, writes);
  commit(commits, id, stage, key, {}, { phase: "exit" });
  boundary.push({ type: "subflow.entry", runtimeStageId: key, depth: 1, subflowPath: ["__root__", id], ts: T0 + offset, commitIdxBefore: commits.length, commitIdxAfter: commits.length, subflowId: id });
  node(key, stage, Object.keys(seed));
  return key;
};

const question = "Count every crate in the warehouse and report the total.";
const history = [{ role: "user", content: question }];
const schema = { name: "count_bay", description: "Counts the crates of one bay", inputSchema: { type: "object", properties: { bay: { type: "string" } }, required: ["bay"] } };
const fact = { slot: "system-prompt", source: "fact", sourceId: "crate-size", reason: "fact `crate-size` (always)", contentSummary: "A crate holds 24 bottles.", rawContent: "A crate holds 24 bottles.", contentHash: "11aa22bb" };
const base = { slot: "system-prompt", source: "base", reason: "Agent.system()", contentSummary: "You count crates.", rawContent: "You count crates, one bay after the other, and you never guess.", contentHash: "33cc44dd" };

const seed = step("seed");
emit("agent.run_configured", "run-configured#0", { agentId: "marathon", llm: { provider: "mock", model: "synthetic-1" }, reactMode: "dynamic", memories: [] });
emit("agent.turn_start", seed, { turnIndex: 0, userPrompt: question });
commit(commits, "seed", "Initialize", seed, { userMessage: ["set", question], history: ["set", [history[0]]], iteration: ["set", 1], maxIterations: ["set", loops + 1], dynamicToolSchemas: ["set", [schema]], totalInputTokens: ["set", 0] });
node(seed, "Initialize");

let tokens = 0;
for (let loop = 1; loop <= loops; loop++) {
  const last = loop === loops;
  const bay = `B-${String(loop).padStart(4, "0")}`;
  mount("sf-injection-engine", "Injection Engine", { iteration: loop }, [["gather", {}], ["evaluate", { activeInjections: ["set", [{ id: "crate-size" }]] }, [["context.evaluated", { iteration: loop, activeCount: 1, activeIds: ["crate-size"], skippedDetails: [] }]]], ["route", {}]], { activeInjections: ["set", [{ id: "crate-size", flavor: "fact" }]] });
  const context = step("context");
  commit(commits, "context", "Context", context);
  node(context, "Context", ["iteration"]);
  mount("sf-system-prompt", "System Prompt", { iteration: loop }, [["compose", { systemPromptInjections: ["set", [base, fact]] }, [["context.injected", base], ["context.injected", fact], ["context.slot_composed", { slot: "system-prompt", iteration: loop, droppedSummaries: [] }]]]], loop === 1 ? { systemPromptInjections: ["set", [base, fact]] } : {});
  const first = Math.max(0, history.length - WINDOW);
  const pieces = history.slice(first).map((message, i) => ({ contentSummary: message.content.slice(0, 80), rawContent: message.content, slot: "messages", asRole: message.role, position: i, source: message.role === "tool" ? "tool-result" : message.role, ...(message.toolCallId ? { sourceId: message.toolCallId } : {}), reason: `conversation history [${first + i}]`, contentHash: "00000000" }));
  mount("sf-messages", "Messages", { iteration: loop }, [["compose", { messagesInjections: ["set", pieces] }, [...pieces.map((piece) => ["context.injected", piece]), ["context.slot_composed", { slot: "messages", iteration: loop, droppedSummaries: first ? [`${first} earlier messages`] : [] }]]]], { messagesInjections: ["set", pieces] });
  mount("sf-tools", "Tools", { iteration: loop }, [["discover", {}], ["compose", {}, [["context.injected", { slot: "tools", source: "registry", sourceId: "count_bay", reason: "tool registry", contentSummary: "count_bay", rawContent: "count_bay: Counts the crates of one bay" }]]]], loop === 1 ? { toolsInjections: ["set", [{ slot: "tools", source: "registry", sourceId: "count_bay", reason: "tool registry", rawContent: "count_bay: Counts the crates of one bay" }]] } : {});
  mount("sf-cache", "Cache", { iteration: loop }, [["decide-cache-markers", {}], ["cache-gate", {}]], {});
  const call = step("call-llm");
  const text = last ? `The warehouse holds ${loops * 7} crates, ${loops * 7 * 24} bottles.` : `Bay ${bay} is next.`;
  const asked = last ? [] : [{ id: `c${loop}`, name: "count_bay", args: { bay } }];
  tokens += 400;
  emit("agent.iteration_start", call, { turnIndex: 0, iterIndex: loop });
  emit("stream.llm_start", call, { iteration: loop, provider: "mock", model: "synthetic-1", messagesCount: pieces.length, toolsCount: 1, tools: [schema] });
  emit("stream.llm_end", call, { iteration: loop, content: text, toolCallCount: asked.length, usage: { input: 400, output: 12 }, stopReason: last ? "stop" : "tool_use", durationMs: 420 });
  emit("cost.tick", call, { scope: "iteration", model: "synthetic-1", tokensInput: 400, tokensOutput: 12, cumulative: { tokensInput: tokens, tokensOutput: loop * 12, estimatedUsd: loop * 0.0004 } });
  commit(commits, "call-llm", "CallLLM", call, { totalInputTokens: ["set", tokens], llmLatestContent: ["set", text], llmLatestToolCalls: ["set", asked] });
  node(call, "CallLLM", ["history", "systemPromptInjections", "messagesInjections", "iteration"]);
  mount("sf-thinking", "NormalizeThinking", { iteration: loop }, [["thinking-mock", {}]], {});
  const route = step("sf-route");
  emit("agent.route_decided", route, { turnIndex: 0, iterIndex: loop, chosen: last ? "final" : "tool-calls", rationale: last ? "no tool calls: the answer is final" : "the model asked for 1 tool call" });
  commit(commits, "sf-route", "Route", route);
  const branch = last ? undefined : step("tool-calls");
  node(route, "Route", ["llmLatestToolCalls", "iteration"], { flowMessages: [{ type: "branch", description: `Took the branch ${last ? "Final" : "ToolCalls"}.` }], ...(branch ? { children: [{ id: "tool-calls", runtimeStageId: branch, name: "ToolCalls", stageReads: { llmLatestToolCalls: {}, history: {} }, flowMessages: [] }] } : {}) });
  if (last) {
    mount("final", "Final", { llmLatestContent: text }, [["prepare-final", {}, [["agent.iteration_end", { turnIndex: 0, iterIndex: loop, toolCallCount: 0 }], ["agent.turn_end", { turnIndex: 0, finalContent: text, totalInputTokens: tokens, totalOutputTokens: loop * 12, iterationCount: loop, durationMs: offset }]]]], { finalContent: ["set", text] });
    break;
  }
  const result = JSON.stringify({ bay, crates: 7, checkedBy: `robot-${loop % 9}`, note: "no damage seen ".repeat(6).trim() });
  const failed = loop % 250 === 0;
  emit("stream.tool_start", branch, { toolName: "count_bay", toolCallId: `c${loop}`, args: { bay } });
  emit("stream.tool_end", branch, { toolCallId: `c${loop}`, result: JSON.parse(result), durationMs: 18, ...(failed ? { error: "the robot did not answer in time" } : {}) });
  const tail = [{ role: "assistant", content: text, toolCalls: asked }, { role: "tool", content: result, toolCallId: `c${loop}`, toolName: "count_bay" }];
  history.push(...tail);
  commit(commits, "tool-calls", "ToolCalls", branch, { lastToolResult: ["set", { toolName: "count_bay", result }], history: ["append", tail], iteration: ["set", loop + 1] });
  emit("agent.iteration_end", branch, { turnIndex: 0, iterIndex: loop, toolCallCount: 1 });
}

// The tree nests once per step: written by hand, because writing it recursively would end the stack.
const opening = tree.map((item) => JSON.stringify(item).slice(0, -1));
const structure = {
  name: "Initialize", id: "seed", type: "stage", next: { name: "Injection Engine", id: "sf-injection-engine", type: "stage", isSubflowRoot: true, subflowId: "sf-injection-engine", subflowName: "Injection Engine", subflowStructure: { name: "Gather", id: "gather", type: "stage", next: { name: "Evaluate", id: "evaluate", type: "stage", next: { name: "Route", id: "route", type: "stage" } } }, next: { name: "Context", id: "context", type: "selector", hasSelector: true, branchIds: ["sf-system-prompt", "sf-messages", "sf-tools"], children: ["System Prompt", "Messages", "Tools"].map((name, i) => ({ name, id: ["sf-system-prompt", "sf-messages", "sf-tools"][i], type: "stage", isSubflowRoot: true, subflowId: ["sf-system-prompt", "sf-messages", "sf-tools"][i], subflowName: name, subflowStructure: { name: "Compose", id: "compose", type: "stage" } })), next: { name: "Cache", id: "sf-cache", type: "stage", isSubflowRoot: true, subflowId: "sf-cache", subflowName: "Cache", next: { name: "CallLLM", id: "call-llm", type: "stage", next: { name: "NormalizeThinking", id: "sf-thinking", type: "stage", isSubflowRoot: true, subflowId: "sf-thinking", next: { name: "Route", id: "sf-route", type: "decider", hasDecider: true, branchIds: ["tool-calls", "final"], children: [{ name: "ToolCalls", id: "tool-calls", type: "stage", isPausable: true, loopTarget: "sf-injection-engine", next: { name: "sf-injection-engine", id: "sf-injection-engine", type: "loop", isLoopReference: true } }, { name: "Final", id: "final", type: "stage", isSubflowRoot: true, subflowId: "final", subflowName: "Final" }] } } } } } },
};
const list = (name, rows) => {
  out.write(`"${name}":[`);
  rows.forEach((row, i) => out.write((i ? "," : "") + JSON.stringify(row)));
  out.write("]");
};
out.write('{"snapshot":{"sharedState":{},"initialState":{},"commitValues":"delta","runId":"1-0000000001",');
list("commitLog", commits);
out.write(`,"executionTree":${opening.join(',"next":')}${"}".repeat(opening.length)},"subflowResults":{`);
Object.entries(inner).forEach(([key, value], i) => out.write(`${i ? "," : ""}${JSON.stringify(key)}:${JSON.stringify(value)}`));
out.write('},"recorders":[{"id":"boundary-1","name":"BoundaryEvents","preferredOperation":"translate","meta":{"mode":"full"},');
list("data", boundary);
out.write("}]},");
list("events", events);
out.write(`,"structure":${JSON.stringify(structure)}}`);
out.end(() => console.error(`${loops} loops, ${commits.length} commits of the run, ${Object.values(inner).reduce((n, e) => n + e.treeContext.history.length, 0)} inner commits, ${events.length} events`));
