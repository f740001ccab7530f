// Every model call of a run, and exactly what the record says it was sent.

import type { Moment } from "./axis.ts";
import { type Json, type Obj, arr, at, get, isObj, num, objs, str } from "./json.ts";
import type { Log } from "./log.ts";
import { type Check, type Receipt, check, messageDigest, readReceipt, toolDigest } from "./receipt.ts";
import type { Event, Recording } from "./recording.ts";
import { roleOf, agentOf } from "./steps.ts";

export interface Call {
  /** 0-based, in run order. */
  n: number;
  step: string;
  /** Where it stands on the axis. */
  moment: number;
  log: Log | undefined;
  /** Its commit in that log; -1 when it never committed (it failed, or only events are left). */
  idx: number;
  /** The iteration that the record gives for it. */
  epoch: number | undefined;
  model: string;
  provider: string;
  content: string;
  thinking: Json | undefined;
  asked: Obj[];
  usage: Obj | undefined;
  stopReason: string;
  durationMs: number | undefined;
  start: Event | undefined;
  end: Event | undefined;
}

export interface Piece {
  slot: "system-prompt" | "messages" | "tools";
  /** Who put it there: `base`, `user`, `tool-result`, `fact`, `skill` … */
  source: string;
  sourceId: string;
  /** Why. */
  reason: string;
  role: string;
  text: string;
  /** Place among the pieces of its slot. */
  position: number;
  check: Check;
  /** The message or tool schema that it became, when the record holds it. */
  whole: Obj | undefined;
  extra: Obj;
  /** Against the previous call of the same agent. */
  change: "same" | "added" | "moved";
}

export interface Served {
  system: Piece[];
  messages: Piece[];
  tools: Piece[];
  systemText: string;
  systemCheck: Check;
  requestOnly: Obj[];
  receipt: Receipt | undefined;
  removed: Piece[];
  /** Pieces that were available and did not go out, in words. */
  left: { what: string; why: string }[];
  gaps: string[];
}

export function findCalls(rec: Recording): Call[] {
  const starts = byStep(rec.eventsNamed("stream.llm_start"));
  const ends = byStep(rec.eventsNamed("stream.llm_end"));
  const steps = new Map<string, Moment | undefined>();
  for (const moment of rec.axis.moments) if (moment.first && roleOf(moment.step) === "llm") steps.set(moment.step, moment);
  for (const step of [...starts.keys(), ...ends.keys()])
    if (step && !steps.has(step)) steps.set(step, rec.axis.moments[rec.axis.ofStep.get(step) ?? -1]);
  const calls = [...steps].map(([step, moment]) => readCall(step, moment, starts.get(step), ends.get(step)));
  calls.sort((a, b) => a.moment - b.moment || (a.start?.n ?? 0) - (b.start?.n ?? 0));
  calls.forEach((call, n) => (call.n = n));
  return calls;
}

/** The last event of each step: an earlier one of the same step was a try that was repeated. */
const byStep = (events: Event[]): Map<string, Event> => new Map(events.map((event) => [event.step, event]));

function readCall(step: string, moment: Moment | undefined, start: Event | undefined, end: Event | undefined): Call {
  const log = moment?.log;
  const idx = moment?.idx ?? -1;
  const after = (key: string): Json | undefined => (log && idx >= 0 && log.lastWriter(key, idx + 1) === idx ? log.valueAt(key, idx) : undefined);
  const receipt = after("receipt");
  return {
    n: 0, step, log, idx, start, end,
    moment: moment?.i ?? start?.moment ?? end?.moment ?? 0,
    epoch: num(at(receipt, "basis", "epoch")) ?? num(start?.payload["iteration"]) ?? num(log?.valueAt("iteration", idx - 1)),
    model: str(start?.payload["model"]) || str(at(receipt, "basis", "model")),
    provider: str(start?.payload["provider"]) || str(at(receipt, "basis", "provider")),
    content: str(end?.payload["content"]) || str(after("llmLatestContent")) || str(after("answer")),
    thinking: end?.payload["thinking"] ?? nonEmpty(after("thinkingBlocks")),
    asked: objs(after("llmLatestToolCalls")),
    usage: isObj(end?.payload["usage"]) ? end.payload["usage"] : undefined,
    stopReason: str(end?.payload["stopReason"]),
    durationMs: num(end?.payload["durationMs"]),
  };
}

const nonEmpty = (value: Json | undefined): Json | undefined => (arr(value).length ? value : undefined);

/** The previous call of the same agent: the delta is against it. */
const before = (calls: Call[], call: Call): Call | undefined => {
  for (let n = call.n - 1; n >= 0; n--) if (agentOf(calls[n]!.step) === agentOf(call.step)) return calls[n];
  return undefined;
};

export function servedAt(rec: Recording, calls: Call[], call: Call): Served {
  const served = rebuild(rec, calls, call);
  const earlier = before(calls, call);
  if (earlier) compare(served, rebuild(rec, calls, earlier));
  return served;
}

function rebuild(rec: Recording, calls: Call[], call: Call): Served {
  const { log, idx } = call;
  const inCall = (key: string): Json | undefined => log?.valueAt(key, idx - 1);
  const receipt = log ? readReceipt(log.lastWriter("receipt", idx + 1) === idx ? log.valueAt("receipt", idx) : undefined) : undefined;
  const gaps: string[] = [];
  const since = before(calls, call)?.moment ?? -1;
  // Without a commit (the call failed) or without slot records, the events say what was put in.
  const slot = (key: string, name: Piece["slot"]): Piece[] => {
    const rows = objs(inCall(key));
    const found = rows.length ? rows : injected(rec, call, since, name);
    return found.map((row, position) => pieceOf(row, name, position));
  };
  const system = slot("systemPromptInjections", "system-prompt");
  const messages = slot("messagesInjections", "messages");
  const tools = slot("toolsInjections", "tools");
  attachMessages(messages, objs(inCall("history")), receipt);
  const schemas = objs(inCall("dynamicToolSchemas"));
  const listed = objs(call.start?.payload["tools"]);
  if (!tools.length)
    (schemas.length ? schemas : listed).forEach((schema, position) =>
      tools.push(pieceOf({ source: "registry", sourceId: schema["name"] ?? "", rawContent: `${str(schema["name"])}: ${str(schema["description"])}` }, "tools", position)),
    );
  for (const piece of tools) {
    const name = piece.sourceId || piece.text.split(":")[0]!;
    piece.whole = [...schemas, ...listed].find((schema) => schema["name"] === name);
    const place = receipt?.toolNames.indexOf(name) ?? -1;
    if (receipt) piece.check = place < 0 ? "mismatch" : piece.whole ? check(receipt, receipt.schemaHashes[place], toolDigest(piece.whole)) : "cannot-say";
    if (piece.check === "mismatch" && place >= 0 && !schemas.includes(piece.whole!)) piece.check = "cannot-say";
  }
  system.forEach((piece, i) => (piece.check = check(receipt, receipt?.pieces[i], piece.text)));
  const recorded = str(call.start?.payload["systemPromptText"]);
  const systemText = recorded || system.map((piece) => piece.text).join("\n\n");
  if (!log || idx < 0) gaps.push("This call left no commit: what it was sent is told by its events alone.");
  else if (!log.hasBase) gaps.push("The log has no starting state, so a value that was there before the first commit is missing here.");
  if (!receipt) gaps.push("There is no receipt of this call: the pieces below are what was composed, and nothing proves that they went out unchanged.");
  else if (receipt.entries.length !== messages.length)
    gaps.push(`The receipt counts ${receipt.entries.length} messages; the record yields ${messages.length}.`);
  if (receipt?.requestOnly.length) gaps.push(`${receipt.requestOnly.length} lines were added to the request alone; their text is not in the record.`);
  if (typeof receipt?.cacheStrategy === "string" && receipt.cacheStrategy !== "none")
    gaps.push(`The cache strategy “${receipt.cacheStrategy}” may have rearranged the request on its way out.`);
  if (receipt?.omitted) gaps.push(`${receipt.omitted} earlier messages were left out to make room.`);
  const unnamed = receipt?.toolNames.filter((name) => !tools.some((piece) => piece.sourceId === name)) ?? [];
  if (unnamed.length) gaps.push(`Tools on the receipt without a piece in the record: ${unnamed.join(", ")}.`);
  return {
    system, messages, tools, systemText, receipt, gaps,
    systemCheck: check(receipt, receipt?.systemHash, systemText),
    requestOnly: receipt?.requestOnly ?? [],
    removed: [],
    left: leftOut(rec, call, since),
  };
}

function pieceOf(row: Obj, slot: Piece["slot"], position: number): Piece {
  return {
    slot, position, whole: undefined, change: "same", check: "cannot-say", extra: row,
    source: str(row["source"]) || "unknown",
    sourceId: str(row["sourceId"]),
    reason: str(row["reason"]),
    role: str(row["asRole"]),
    text: str(row["rawContent"]) || str(row["contentSummary"]),
  };
}

function injected(rec: Recording, call: Call, since: number, slot: string): Obj[] {
  const agent = agentOf(call.step);
  return rec
    .eventsNamed("context.injected")
    .filter((event) => event.payload["slot"] === slot && event.moment > since && event.moment <= call.moment && inScope(event.step, agent))
    .map((event) => event.payload);
}

const inScope = (step: string, agent: string): boolean => agentOf(step) === agent;

/** Gives each piece of the conversation the message it became; tool calls and ids live only there. */
function attachMessages(pieces: Piece[], history: Obj[], receipt: Receipt | undefined): void {
  let next = 0;
  for (const piece of pieces) {
    const named = /history \[(\d+)\]/.exec(piece.reason);
    const fits = (message: Obj | undefined): boolean =>
      message !== undefined && (piece.role === "" || message["role"] === piece.role) && str(message["content"]) === piece.text;
    let found = named ? history[Number(named[1])] : undefined;
    if (!fits(found)) {
      const place = history.findIndex((message, k) => k >= next && fits(message));
      found = place >= 0 ? history[place] : undefined;
      if (place >= 0) next = place + 1;
    }
    piece.whole = found;
    const message: Obj = found ?? { role: piece.role, content: piece.text };
    piece.check = check(receipt, receipt?.entries[piece.position]?.hash, messageDigest(message));
    if (!found && piece.check === "mismatch") piece.check = "cannot-say";
  }
}

function compare(now: Served, earlier: Served): void {
  const identity = (piece: Piece): string => `${piece.slot}\u001f${piece.source}\u001f${piece.sourceId}\u001f${piece.role}\u001f${piece.text}`;
  const old = new Map<string, Piece[]>();
  const all = (served: Served): Piece[] => [...served.system, ...served.messages, ...served.tools];
  for (const piece of all(earlier)) {
    const list = old.get(identity(piece));
    if (list) list.push(piece);
    else old.set(identity(piece), [piece]);
  }
  for (const piece of all(now)) {
    const match = old.get(identity(piece))?.shift();
    piece.change = !match ? "added" : match.position === piece.position ? "same" : "moved";
  }
  now.removed = [...old.values()].flat();
}

function leftOut(rec: Recording, call: Call, since: number): Served["left"] {
  const here = (event: Event): boolean => event.moment > since && event.moment <= call.moment && inScope(event.step, agentOf(call.step));
  const out: Served["left"] = [];
  for (const event of rec.eventsNamed("context.slot_composed").filter(here))
    for (const row of arr(event.payload["droppedSummaries"]))
      out.push({ what: isObj(row) ? str(row["contentSummary"]) || JSON.stringify(row) : String(row), why: `dropped from ${str(event.payload["slot"])}` });
  for (const event of rec.eventsNamed("context.evicted").filter(here))
    out.push({ what: `a piece of ${str(event.payload["slot"])}`, why: `evicted: ${str(event.payload["reason"])}` });
  for (const event of rec.eventsNamed("context.evaluated").filter(here))
    for (const row of objs(event.payload["skippedDetails"]))
      out.push({ what: str(row["id"]) || "an injection", why: `not active: ${str(row["reason"]) || "its condition did not hold"}` });
  for (const event of rec.eventsNamed("memory.retrieved").filter(here))
    for (const row of objs(event.payload["candidates"]).filter((candidate) => candidate["admitted"] === false))
      out.push({ what: `memory ${str(row["id"])}`, why: `not admitted: ${str(row["reason"]) || "ranked too low"}` });
  return out;
}

export const usageOf = (call: Call, key: string): number | undefined => num(get(call.usage, key));
