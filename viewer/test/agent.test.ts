import { describe, expect, it } from "vitest";
import { findCalls, servedAt } from "../src/model/calls.ts";
import { dispositions, findFindings, headline } from "../src/model/findings.ts";
import type { Json, Obj } from "../src/model/json.ts";
import { overviewOf } from "../src/model/overview.ts";
import { messageDigest, receiptHash, toolDigest } from "../src/model/receipt.ts";
import { sliceOfKey } from "../src/model/slice.ts";
import { tell } from "../src/model/story.ts";
import { findTools, lineage } from "../src/model/tools.ts";
import { answerClaim, boardOf } from "../src/model/why.ts";
import { commit, event, recording } from "./helpers.ts";

const RUN = "run-1-1";
const user: Obj = { role: "user", content: "Where is A-1001?" };
const asks: Obj = { role: "assistant", content: "Let me look.", toolCalls: [{ id: "t1", name: "get_order", args: { b: 1, a: "A-1001" } }] };
const told: Obj = { role: "tool", content: '{"status":"shipped"}', toolCallId: "t1", toolName: "get_order" };
const schema: Obj = { name: "get_order", description: "Looks it up", inputSchema: { type: "object" } };
const piece = (message: Obj, position: number): Obj => ({ slot: "messages", asRole: message["role"]!, rawContent: message["content"]!, position, source: message["role"] === "tool" ? "tool-result" : message["role"]!, ...(message["toolCallId"] ? { sourceId: message["toolCallId"] } : {}), reason: `conversation history [${position}]` });
const fact: Obj = { slot: "system-prompt", source: "fact", sourceId: "hours", rawContent: "Parcels ship on Mondays.", reason: "fact `hours` (always)" };
const tool: Obj = { slot: "tools", source: "registry", sourceId: "get_order", rawContent: "get_order: Looks it up", reason: "tool registry" };
const receipt = (messages: Obj[], change: (hash: string) => string = (hash) => hash): Json => ({
  system: { hash: receiptHash(RUN, "Parcels ship on Mondays."), pieces: [{ hash: receiptHash(RUN, "Parcels ship on Mondays.") }] },
  messages: { entries: messages.map((message) => ({ role: message["role"]!, hash: change(receiptHash(RUN, messageDigest(message))) })), requestOnly: [] },
  tools: { names: ["get_order"], schemaHashes: [receiptHash(RUN, toolDigest(schema))], forced: null, withheld: null },
  cache: { strategy: null }, basis: { epoch: 1, runId: RUN, model: "m", provider: "p" },
});

function agent(options: { second?: Json; events?: Obj[] } = {}) {
  return recording(
    [
      commit(0, "seed#0", [["userMessage", "set", user["content"]!], ["history", "set", [user]], ["iteration", "set", 1], ["dynamicToolSchemas", "set", [schema]]]),
      commit(1, "sf-messages#1", [["messagesInjections", "set", [piece(user, 0)]], ["systemPromptInjections", "set", [fact]], ["toolsInjections", "set", [tool]]]),
      commit(2, "call-llm#2", [["receipt", "set", receipt([user])], ["llmLatestContent", "set", "Let me look."], ["llmLatestToolCalls", "set", asks["toolCalls"]!]]),
      commit(3, "tool-calls#3", [["history", "append", [asks, told]], ["iteration", "set", 2]]),
      commit(4, "sf-messages#4", [["messagesInjections", "set", [piece(user, 0), piece(asks, 1), piece(told, 2)]]]),
      commit(5, "call-llm#5", [["receipt", "set", options.second ?? receipt([user, asks, told])], ["llmLatestContent", "set", "It has shipped."], ["llmLatestToolCalls", "set", []]]),
      commit(6, "final#6", [["finalContent", "set", "It has shipped."]]),
    ],
    {
      events: options.events ?? [
        event("stream.tool_start", "tool-calls#3", { toolCallId: "t1", toolName: "get_order", args: { b: 1, a: "A-1001" } }),
        event("stream.tool_end", "tool-calls#3", { toolCallId: "t1", result: { status: "shipped" }, durationMs: 4 }),
        event("agent.route_decided", "sf-route#5", { iterIndex: 1, chosen: "final", rationale: "no tool calls" }),
        event("agent.turn_end", "final#6", { finalContent: "It has shipped." }),
      ],
    },
  );
}

describe("what a call was sent", () => {
  it("is rebuilt from the state before the call, each piece with its source, reason and proof", () => {
    const rec = agent();
    const calls = findCalls(rec);
    const served = servedAt(rec, calls, calls[1]!);
    expect(served.messages.map((each) => [each.source, each.sourceId, each.reason, each.check, each.change])).toEqual([
      ["user", "", "conversation history [0]", "verified", "same"],
      ["assistant", "", "conversation history [1]", "verified", "added"],
      ["tool-result", "t1", "conversation history [2]", "verified", "added"],
    ]);
    expect(served.system.map((each) => each.check)).toEqual(["verified"]);
    expect(served.systemCheck).toBe("verified");
    expect(served.tools.map((each) => each.check)).toEqual(["verified"]);
    expect(served.gaps).toEqual([]);
  });
  it("shows a mismatch when something else went out, and says when there is no receipt", () => {
    const rec = agent({ second: receipt([user, asks, told], (hash) => [...hash].reverse().join("")) });
    const calls = findCalls(rec);
    expect(servedAt(rec, calls, calls[1]!).messages.map((each) => each.check)).toEqual(["mismatch", "mismatch", "mismatch"]);
    const bare = agent({ second: {} });
    const served = servedAt(bare, findCalls(bare), findCalls(bare)[1]!);
    expect(served.messages[0]!.check).toBe("cannot-say");
    expect(served.gaps.join()).toMatch(/no receipt/);
  });
  it("tells two messages without text apart by their tool calls", () => {
    const silent = (id: string): Obj => ({ role: "assistant", content: "", toolCalls: [{ id, name: "get_order", args: {} }] });
    const call = (idx: number, message: Obj): Obj[] => [commit(idx, `tool-calls#${idx}`, [["history", "set", [message]], ["messagesInjections", "set", [piece(message, 0)]]]), commit(idx + 1, `call-llm#${idx + 1}`, [["llmLatestContent", "set", `${idx}`]])];
    const rec = recording([...call(0, silent("t1")), ...call(2, silent("t2"))]);
    const calls = findCalls(rec);
    const served = servedAt(rec, calls, calls[1]!);
    expect([served.messages.map((each) => each.change), served.removed.length]).toEqual([["added"], 1]);
  });
  it("counts what the receipt counts and the record lacks", () => {
    const rec = agent({ second: receipt([user, asks, told, told]) });
    expect(servedAt(rec, findCalls(rec), findCalls(rec)[1]!).gaps).toEqual(["The receipt counts 4 messages; the record yields 3."]);
  });
  it("knows a call that failed from its events alone", () => {
    const rec = recording([commit(0, "seed#0")], { events: [event("context.injected", "sf-system-prompt/compose#2", { ...fact }), event("stream.llm_start", "call-llm#4", { iteration: 1, provider: "p", model: "m" })] });
    const [call] = findCalls(rec);
    expect(call).toMatchObject({ step: "call-llm#4", model: "m", idx: -1 });
    const served = servedAt(rec, [call!], call!);
    expect(served.system.map((each) => each.sourceId)).toEqual(["hours"]);
    expect(served.gaps[0]).toMatch(/left no commit/);
  });
});

describe("tool calls", () => {
  it("join the request, the events and the delivered message", () => {
    const rec = agent();
    const [call] = findTools(rec, findCalls(rec));
    expect(call).toMatchObject({ id: "t1", name: "get_order", proposed: { a: "A-1001", b: 1 }, outcome: "ok", delivered: told["content"], durationMs: 4, step: "tool-calls#3", changed: false });
    expect(call!.call!.step).toBe("call-llm#2");
  });
  it("show changed arguments, denials and errors", () => {
    const rec = agent({
      events: [
        event("stream.tool_start", "tool-calls#3", { toolCallId: "t1", toolName: "get_order", args: { a: "A-2" } }),
        event("permission.check", "tool-calls#3", { target: "get_order", result: "deny", reason: "not yours" }),
        event("stream.tool_end", "tool-calls#3", { toolCallId: "t2", error: "boom" }),
      ],
    });
    const tools = findTools(rec, findCalls(rec));
    expect(tools.map((each) => [each.id, each.outcome, each.changed])).toEqual([["t1", "denied", true], ["t2", "error", false]]);
    expect(tools[0]!.decisions[0]!.text).toBe("deny · not yours");
  });
  it("are known from the conversation when the events are lost", () => {
    const rec = agent({ events: [] });
    expect(findTools(rec, findCalls(rec))).toMatchObject([{ id: "t1", outcome: "ok", step: "tool-calls#3", delivered: told["content"] }]);
  });
  it("share values only forward in time", () => {
    const base = findTools(agent(), findCalls(agent()))[0]!;
    const first = { ...base, id: "1", moment: 1, ran: {}, result: { key: "ABCD-77" } };
    const second = { ...base, id: "2", moment: 2, ran: { key: "ABCD-77" }, result: "x" };
    expect(lineage([first, second]).map((edge) => [edge.from.id, edge.to.id, edge.value])).toEqual([["1", "2", "ABCD-77"]]);
    expect(lineage([second, first])).toEqual([]);
  });
});

describe("why", () => {
  it("walks from the answer to the tool result, to the arguments, to the question", () => {
    const rec = agent();
    const calls = findCalls(rec);
    const tools = findTools(rec, calls);
    const claim = answerClaim(rec, calls)!;
    expect(claim.chain.map((link) => link.step)).toEqual(["final#6", "sf-route#5", "call-llm#5"]);
    const board = boardOf(rec, calls, tools, claim);
    const top = board.cards[0]!;
    expect([top.piece.source, top.shared]).toEqual(["tool-result", ["shipped"]]);
    expect(top.custody.map((link) => link.step)).toEqual(["tool-calls#3", "tool-calls#3"]);
    const next = boardOf(rec, calls, tools, top.next!);
    expect([next.cards[0]!.piece.source, next.cards[0]!.origin]).toEqual(["user", "A person wrote it: the input of the run."]);
    expect(board.honesty.join()).toMatch(/correlation/);
  });
  it("has a valid empty board when there is nothing to show", () => {
    const rec = recording([commit(0, "a#0", [["finalContent", "set", "Done."]])]);
    const board = boardOf(rec, [], [], answerClaim(rec, [])!);
    expect([board.cards, board.honesty.length]).toEqual([[], 1]);
  });
  it("traces a value through the steps that it was made from", () => {
    const read = (id: string, keys: string[], more: Obj = {}): Obj => ({ runtimeStageId: id, name: id, stageReads: Object.fromEntries(keys.map((key) => [key, 1])), flowMessages: [], ...more });
    const tree = read("a#0", [], { next: read("b#1", ["x"], { next: read("d#2", [], { flowMessages: [{ type: "branch" }], children: [read("c#3", ["y", "given"])] }) }) });
    const rec = recording([commit(0, "a#0", [["x", "set", 1]]), commit(1, "b#1", [["y", "set", 2]]), commit(2, "d#2"), commit(3, "c#3", [["z", "set", 3]], { untrackedSources: ["env"] })], { snapshot: { executionTree: tree } });
    const slice = sliceOfKey(rec, rec.root, "z", 4);
    expect(slice.nodes.map((node) => `${node.step} ${node.kind} ${node.via}`)).toEqual(["c#3 start z", "b#1 data y", "d#2 control chose this branch", "a#0 data x"]);
    expect(slice.nodes[0]!.marks).toEqual(["also read the environment"]);
    expect(slice.nodes[0]!.reads).toEqual([{ key: "given", writer: -1 }, { key: "y", writer: 1 }]);
    expect(sliceOfKey(rec, rec.root, "nope", 4).missing).toMatch(/never written/);
    expect(sliceOfKey(rec, rec.root, "z", 4, { maxNodes: 1 }).truncated).toBe(true);
  });
});

describe("findings and story", () => {
  it("tells silence from a clean result", () => {
    expect(headline(recording([commit(0, "a#0")]), [])).toMatch(/^No evidence/);
    expect(headline(recording([commit(0, "a#0")], { events: [event("agent.turn_start", "a#0", {})] }), [])).toMatch(/does not say that anything was checked/);
    const rows: Json = [{ check: "x", seam: "wire", checked: 2, findings: 0 }, { check: "y", seam: "wire", checked: 0, findings: 0, unreachable: 1 }, { check: "z", seam: "wire", checked: 0, findings: 0 }];
    const rec = recording([commit(0, "a#0")], { events: [event("integrity.disposition", "integrity-disposition#0", { rows })] });
    expect(dispositions(rec).map((row) => row.state)).toEqual(["clean", "not checked", "not applicable"]);
    expect(headline(rec, [])).toMatch(/1 of 3 checks/);
  });
  it("puts errors first and joins them to their step", () => {
    const rec = recording([commit(0, "a#0"), commit(1, "b#1")], { events: [event("cost.limit_hit", "a#0", { kind: "max_iterations" }), event("integrity.context_error", "b#1", { kind: "dangling-reference", message: "gone" })] });
    expect(findFindings(rec, []).map((each) => [each.severity, each.kind, each.moment])).toEqual([["error", "dangling-reference", 1], ["warning", "cost.limit_hit", 0]]);
  });
  it("is told from events, else from steps, and from the narrative when there is one", () => {
    expect(tell(agent()).basis).toBe("events");
    expect(tell(recording([commit(0, "a#0")])).basis).toBe("steps");
    expect(tell(recording([commit(0, "a#0")], { snapshot: { recorders: [{ name: "any", data: [{ text: "It began.", depth: 0, runtimeStageId: "a#0" }] }] } })).lines).toMatchObject([{ text: "It began.", moment: 0 }]);
  });
  /// Proves REC-174.
  it("says unknown where nothing was measured", () => {
    const rec = agent();
    expect(overviewOf(rec, findCalls(rec), [])).toMatchObject({ outcome: "answered", question: "Where is A-1001?", tokensIn: undefined, tokensCached: undefined, cost: undefined });
  });
});
