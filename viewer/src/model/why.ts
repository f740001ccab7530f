// "Why this answer": from the answer to the call that wrote it, to the pieces that call was sent, to where each came from.
// What a call read is recorded; which of it mattered is not. Scores are correlation and say so.

import { type Call, type Piece, servedAt } from "./calls.ts";
import { type Json, at, isObj, objs, str } from "./json.ts";
import type { Recording } from "./recording.ts";
import { agentOf } from "./steps.ts";
import { brief, excerpt } from "./text.ts";
import type { ToolCall } from "./tools.ts";
import { type Ranked, rank } from "./words.ts";

/** A recorded link of a chain. */
export interface Link {
  step: string;
  moment: number | undefined;
  text: string;
}

/** Something to explain: a text and the model call that produced it. */
export interface Claim {
  title: string;
  text: string;
  /** The part of the text asked about; the whole when empty. */
  about: string;
  call: Call | undefined;
  chain: Link[];
}

export interface Card {
  piece: Piece;
  score: number;
  shared: string[];
  custody: Link[];
  /** What to ask next; absent at an origin. */
  next: Claim | undefined;
  /** In words, where the walk ends. */
  origin: string;
}

export interface Board {
  claim: Claim;
  cards: Card[];
  folded: number;
  /** Pieces that share no telling word. */
  silent: number;
  honesty: string[];
}

const CARDS = 8;

export function answerOf(rec: Recording): { text: string; failed: boolean; step: string; moment: number | undefined } {
  const fatal = rec.eventsNamed("error.fatal").at(-1);
  if (fatal) return { text: str(fatal.payload["error"]) || brief(fatal.payload["error"]), failed: true, step: fatal.step, moment: fatal.moment };
  const ends = rec.eventsNamed("agent.turn_end");
  const end = ends.at(-1);
  const last = rec.root.commits.length - 1;
  for (const key of ["finalContent", "answer", "result", "current"]) {
    const value = rec.root.valueAt(key, last);
    if (typeof value !== "string" || value === "") continue;
    const writer = rec.root.lastWriter(key, last + 1);
    const step = end && str(end.payload["finalContent"]) === value ? end.step : (rec.root.commits[writer]?.step ?? "");
    return { text: value, failed: false, step, moment: end && step === end.step ? end.moment : rec.axis.ofCommit.get("")?.[writer] };
  }
  const text = str(end?.payload["finalContent"]) || exitText(rec);
  return { text, failed: false, step: end?.step ?? "", moment: end?.moment };
}

/** Compositions hand over what their last member said. */
function exitText(rec: Recording): string {
  const exit = objs(rec.recorder("BoundaryEvents")).findLast((row) => row["type"] === "run.exit");
  const payload = exit?.["payload"];
  if (typeof payload === "string") return payload;
  return str(at(payload, "output")) || str(at(payload, "result")) || str(at(payload, "message"));
}

/** The claim to start from. */
export function answerClaim(rec: Recording, calls: Call[]): Claim | undefined {
  const answer = answerOf(rec);
  if (!answer.text) return undefined;
  const call = calls.findLast((candidate) => candidate.content === answer.text) ?? calls.at(-1);
  const chain: Link[] = [];
  if (answer.step) chain.push({ step: answer.step, moment: answer.moment, text: answer.failed ? "the run failed here" : "delivered the answer" });
  if (call) chain.push(...written(rec, call));
  return { title: answer.failed ? "the failure of this run" : "the answer of this run", text: answer.text, about: "", call, chain };
}

function written(rec: Recording, call: Call): Link[] {
  const route = rec
    .eventsNamed("agent.route_decided")
    .findLast((event) => event.payload["iterIndex"] === call.epoch && agentOf(event.step) === agentOf(call.step));
  const links: Link[] = [];
  if (route) {
    const rationale = str(route.payload["rationale"]);
    links.push({ step: route.step, moment: route.moment, text: `chose “${str(route.payload["chosen"])}”${rationale ? `: ${rationale}` : ""}` });
  }
  const model = [call.provider, call.model].filter(Boolean).join(" ") || "the model";
  links.push({ step: call.step, moment: call.moment, text: `${model} wrote this${call.asked.length ? ` and asked for ${call.asked.length} tool call${call.asked.length > 1 ? "s" : ""}` : ""}` });
  return links;
}

export function boardOf(rec: Recording, calls: Call[], tools: ToolCall[], claim: Claim): Board {
  const honesty: string[] = [];
  if (!claim.call) return { claim, cards: [], folded: 0, silent: 0, honesty: ["No model call is on record, so nothing can be said about what this was made of."] };
  const served = servedAt(rec, calls, claim.call);
  const pieces = [...served.system, ...served.messages];
  if (!pieces.length) honesty.push("The pieces sent to the model are not on record.");
  const question = str(rec.root.valueAt("userMessage", rec.root.commits.length - 1));
  const ranked = rank(pieces, (piece) => piece.text, claim.about || claim.text, question);
  if (pieces.length && !ranked.length) honesty.push("No piece shares a telling word with this: it may be the model's own, or paraphrased.");
  if (served.gaps.length) honesty.push(...served.gaps);
  if (ranked.length > 1 && ranked[0]!.score - ranked[1]!.score < 0.05) honesty.push("The first two are nearly tied: read the list as a shortlist, not as an order.");
  honesty.push("Shared words are a correlation. Only a rerun without a piece can show that it mattered.");
  const cards = ranked.slice(0, CARDS).map((row) => cardOf(rec, calls, tools, claim.call!, row));
  return { claim, cards, folded: Math.max(0, ranked.length - CARDS), silent: pieces.length - ranked.length, honesty };
}

function cardOf(rec: Recording, calls: Call[], tools: ToolCall[], call: Call, row: Ranked<Piece>): Card {
  const piece = row.item;
  const custody: Link[] = [];
  const slot = rec
    .eventsNamed("context.injected")
    .findLast((event) => event.moment <= call.moment && event.payload["slot"] === piece.slot && str(event.payload["rawContent"]) === piece.text);
  if (slot) custody.push({ step: slot.step, moment: slot.moment, text: `served it${piece.reason ? ` (${piece.reason})` : ""}` });
  const card: Card = { piece, score: row.score, shared: row.shared, custody, next: undefined, origin: "" };
  if (piece.slot === "messages") conversation(rec, calls, tools, call, card);
  else engineered(rec, card);
  return card;
}

/** A message: which commit brought it, and what stands behind it. */
function conversation(rec: Recording, calls: Call[], tools: ToolCall[], call: Call, card: Card): void {
  const { piece, custody } = card;
  const birth = call.log && piece.whole ? call.log.births("history", call.idx - 1).find((item) => item.value === piece.whole) : undefined;
  if (birth && call.log) {
    const commit = call.log.commits[birth.idx];
    custody.push({
      step: commit?.step ?? "(before the run)",
      moment: birth.idx < 0 ? undefined : rec.axis.ofCommit.get(call.log.key)?.[birth.idx],
      text: birth.idx < 0 ? "was in the conversation before this run" : "put it into the conversation",
    });
  }
  if (piece.source === "tool-result") {
    const id = piece.sourceId || str(at(piece.whole, "toolCallId"));
    const tool = tools.findLast((candidate) => candidate.id === id && candidate.moment <= call.moment);
    if (!tool) {
      card.origin = "The tool call behind this is not on record.";
      return;
    }
    custody.push({ step: tool.step, moment: tool.moment, text: `${tool.name} ran with ${brief(tool.ran ?? tool.proposed, 100)}` });
    card.origin = `“${tool.name}” returned it; what the tool itself read is outside this record.`;
    if (tool.call) {
      const text = argText(tool.proposed);
      card.next = { title: `the arguments of ${tool.name}`, text: text || brief(tool.proposed, 400), about: "", call: tool.call, chain: written(rec, tool.call) };
    }
  } else if (piece.source === "assistant" || piece.role === "assistant") {
    const earlier = calls.findLast((candidate) => candidate.n < call.n && candidate.content === piece.text);
    if (earlier) card.next = { title: "an earlier message of the model", text: piece.text, about: "", call: earlier, chain: written(rec, earlier) };
    else card.origin = "The model said this in an earlier run.";
  } else if (piece.source === "user") card.origin = "A person wrote it: the input of the run.";
  else engineered(rec, card);
}

/** A piece that the agent's own configuration put in. */
function engineered(rec: Recording, card: Card): void {
  const { piece, custody } = card;
  if (piece.sourceId) {
    const active = rec.eventsNamed("context.evaluated").find((event) => Array.isArray(event.payload["activeIds"]) && event.payload["activeIds"].includes(piece.sourceId));
    if (active) custody.push({ step: active.step, moment: active.moment, text: `first made “${piece.sourceId}” active` });
    const memory = rec.eventsNamed("memory.attached").find((event) => event.payload["memoryId"] === piece.sourceId);
    if (memory) custody.push({ step: memory.step, moment: memory.moment, text: "read it from the memory store" });
  }
  card.origin =
    piece.source === "base"
      ? "The agent's own system prompt: declared in the code."
      : piece.source === "memory" || piece.source === "rag"
        ? "It comes from a store that was filled before this step."
        : `${piece.source}${piece.sourceId ? ` “${excerpt(piece.sourceId, 60)}”` : ""} is declared by the agent, not produced by this run.`;
}

const argText = (value: Json | undefined): string =>
  isObj(value) ? Object.values(value).map((item) => (typeof item === "string" ? item : JSON.stringify(item))).join(" ") : typeof value === "string" ? value : "";
