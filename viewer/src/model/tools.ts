// Every tool call, joined from four places by its id: the model's request, the events, the middleware, the delivered message.

import type { Call } from "./calls.ts";
import { type Json, type Obj, at, isObj, num, same, str } from "./json.ts";
import type { Event, Recording } from "./recording.ts";
import { agentOf } from "./steps.ts";

export type Outcome = "ok" | "error" | "denied" | "paused" | "unknown";

export interface ToolCall {
  id: string;
  name: string;
  /** As the model asked for it. */
  proposed: Json | undefined;
  /** As it ran, when the record holds that. */
  ran: Json | undefined;
  changed: boolean;
  result: Json | undefined;
  /** The message that went back to the model, and where it was committed. */
  delivered: string | undefined;
  error: string;
  outcome: Outcome;
  durationMs: number | undefined;
  step: string;
  moment: number;
  /** The model call that asked for it. */
  call: Call | undefined;
  /** Decisions on the way: middleware, permissions, validation, check-ins. */
  decisions: { name: string; text: string; payload: Obj; moment: number }[];
  progress: number;
}

const DECISIONS = ["middleware.decision", "validation.args_invalid", "checkin.request", "checkin.decision", "tools.result_refused", "tools.repeated_call", "tools.effect", "tools.absent"];

export function findTools(rec: Recording, calls: Call[]): ToolCall[] {
  const tools = new Map<string, ToolCall>();
  // Ids repeat across agents of one run, so a call is known by its id within the agent that made it; the agent's own
  // subflows (a grouped chart asks inside one) do not count.
  const keyOf = (step: string, id: string): string => `${agentOf(step)}\u001f${id}`;
  const entry = (step: string, id: string, moment: number): ToolCall => {
    const key = keyOf(step, id);
    let tool = tools.get(key);
    if (!tool) {
      tool = {
        id, name: "", proposed: undefined, ran: undefined, changed: false, result: undefined, delivered: undefined, error: "",
        outcome: "unknown", durationMs: undefined, step, moment, call: undefined, decisions: [], progress: 0,
      };
      tools.set(key, tool);
    }
    return tool;
  };
  for (const call of calls)
    for (const asked of call.asked) {
      const tool = entry(call.step, str(asked["id"]), call.moment);
      tool.call ??= call;
      tool.name = str(asked["name"]);
      tool.proposed = asked["args"];
    }
  const placed = new Set<ToolCall>();
  const place = (tool: ToolCall, event: Event): void => {
    placed.add(tool);
    tool.step = event.step;
    tool.moment = event.moment;
  };
  for (const event of rec.eventsNamed("stream.tool_start")) {
    const tool = entry(event.step, str(event.payload["toolCallId"]), event.moment);
    tool.name ||= str(event.payload["toolName"]);
    tool.ran = event.payload["args"];
    tool.proposed ??= event.payload["args"];
    place(tool, event);
  }
  for (const event of rec.eventsNamed("stream.tool_progress")) entry(event.step, str(event.payload["toolCallId"]), event.moment).progress += 1;
  for (const event of rec.eventsNamed("stream.tool_end")) {
    const tool = entry(event.step, str(event.payload["toolCallId"]), event.moment);
    place(tool, event);
    tool.result = event.payload["result"];
    tool.durationMs = num(event.payload["durationMs"]);
    const failed = event.payload["error"];
    tool.error = failed === true ? "the tool failed" : typeof failed === "string" ? failed : isObj(failed) ? str(failed["message"]) || JSON.stringify(failed) : "";
    tool.outcome = tool.error ? "error" : "ok";
  }
  for (const name of DECISIONS)
    for (const event of rec.eventsNamed(name)) {
      const id = str(event.payload["toolCallId"]);
      if (!id) continue;
      const tool = entry(event.step, id, event.moment);
      const verdict = str(event.payload["outcome"]) || str(event.payload["result"]);
      tool.decisions.push({ name, payload: event.payload, moment: event.moment, text: [str(event.payload["middleware"]), verdict, str(event.payload["why"]) || str(event.payload["reason"])].filter(Boolean).join(" · ") });
      if (event.payload["moment"] === "before-tool" && event.payload["after"] !== undefined) tool.ran = event.payload["after"];
      if (/den|halt|refus/.test(verdict)) tool.outcome = "denied";
      else if (name === "validation.args_invalid" && event.payload["enforced"] === true) tool.outcome = "denied";
    }
  permissions(rec, [...tools.values()]);
  deliver(rec, entry, placed);
  for (const event of rec.eventsNamed("pause.request")) {
    const id = str(at(event.payload, "questionPayload", "toolCallId"));
    const tool = [...tools.values()].find((candidate) => candidate.id === id && candidate.outcome === "unknown");
    if (tool) tool.outcome = "paused";
  }
  for (const tool of tools.values()) tool.changed = tool.ran !== undefined && tool.proposed !== undefined && !same(tool.ran, tool.proposed);
  return [...tools.values()].sort((a, b) => a.moment - b.moment);
}

/** A permission check names the tool but not the call: it belongs to the call of that tool started just before it. */
function permissions(rec: Recording, tools: ToolCall[]): void {
  const starts = rec.eventsNamed("stream.tool_start");
  for (const event of rec.eventsNamed("permission.check")) {
    let id = "";
    for (const start of starts) {
      if (start.n > event.n) break;
      if (start.step === event.step && start.payload["toolName"] === event.payload["target"]) id = str(start.payload["toolCallId"]);
    }
    const tool = tools.find((candidate) => candidate.id === id && candidate.step === event.step);
    if (!tool) continue;
    const verdict = str(event.payload["result"]);
    tool.decisions.push({ name: "permission.check", payload: event.payload, moment: event.moment, text: [verdict, str(event.payload["reason"])].filter(Boolean).join(" · ") });
    if (verdict && verdict !== "allow") tool.outcome = "denied";
  }
}

/** The tool messages of every conversation in the record. */
function deliver(rec: Recording, entry: (step: string, id: string, moment: number) => ToolCall, placed: Set<ToolCall>): void {
  for (const log of [rec.root, ...rec.inner.values()]) {
    // Only the log that grows a conversation; the inner logs that were handed a copy of it say nothing new.
    if (!log.commits.some((commit) => commit.rows.some((row) => row.segments[0] === "history" && row.verb === "append"))) continue;
    for (const birth of log.births("history", log.commits.length - 1)) {
      if (!isObj(birth.value) || birth.value["role"] !== "tool" || birth.idx < 0) continue;
      const moment = rec.axis.ofCommit.get(log.key)?.[birth.idx];
      const commit = log.commits[birth.idx];
      if (moment === undefined || !commit) continue;
      const tool = entry(commit.step, str(birth.value["toolCallId"]), moment);
      tool.name ||= str(birth.value["toolName"]);
      tool.delivered ??= str(birth.value["content"]);
      if (tool.outcome === "unknown") tool.outcome = "ok";
      // Events were lost: the commit that delivered the result is the nearest that is known.
      if (placed.has(tool)) continue;
      placed.add(tool);
      Object.assign(tool, { step: commit.step, moment });
    }
  }
}

/** Values of a result that turn up in the arguments of a later call. */
export function lineage(tools: ToolCall[]): { from: ToolCall; to: ToolCall; value: string }[] {
  const edges: { from: ToolCall; to: ToolCall; value: string }[] = [];
  const producer = new Map<string, ToolCall>();
  for (const tool of tools) {
    for (const value of new Set(leaves(tool.ran ?? tool.proposed))) {
      const from = producer.get(value);
      if (from && from.moment < tool.moment) edges.push({ from, to: tool, value });
    }
    for (const value of leaves(tool.result ?? tool.delivered)) producer.set(value, tool);
  }
  return edges;
}

function leaves(value: Json | undefined, depth = 0): string[] {
  if (typeof value === "string") {
    if (depth === 0 && /^\s*[[{]/.test(value) && value.length < 100_000)
      try {
        return leaves(JSON.parse(value) as Json, 1);
      } catch {
        // Not JSON after all: the text is the value.
      }
    return value.length >= 4 && value.length <= 200 ? [value] : [];
  }
  if (depth >= 6) return [];
  if (Array.isArray(value)) return value.slice(0, 200).flatMap((item) => leaves(item, depth + 1));
  if (isObj(value)) return Object.values(value).slice(0, 200).flatMap((item) => leaves(item, depth + 1));
  return [];
}
