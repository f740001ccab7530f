// The facts of the header.

import { type Call, usageOf } from "./calls.ts";
import { at, num, str } from "./json.ts";
import type { Recording } from "./recording.ts";
import type { ToolCall } from "./tools.ts";
import { answerOf } from "./why.ts";

export interface Overview {
  agent: string;
  model: string;
  outcome: "answered" | "failed" | "paused" | "ended" | "unknown";
  question: string;
  answer: string;
  loops: number;
  calls: number;
  tools: number;
  commits: number;
  events: number;
  tokensIn: number | undefined;
  tokensOut: number | undefined;
  tokensCached: number | undefined;
  cost: number | undefined;
  durationMs: number | undefined;
  runId: string;
}

export function overviewOf(rec: Recording, calls: Call[], tools: ToolCall[]): Overview {
  const configured = rec.eventsNamed("agent.run_configured")[0];
  const answer = answerOf(rec);
  const paused = rec.eventsNamed("pause.request").length > rec.eventsNamed("pause.resume").length;
  const last = rec.events.at(-1);
  const path = rec.events.map((event) => at(event.raw, "meta", "compositionPath")).find((value) => Array.isArray(value) && value.length);
  const named = Array.isArray(path) ? str(path[0]) : "";
  // A sum of what was measured; no measurement is not zero.
  const sum = (key: string): number | undefined => {
    const values = calls.map((call) => usageOf(call, key)).filter((value) => value !== undefined);
    return values.length ? values.reduce((a, b) => a + b, 0) : undefined;
  };
  const end = rec.root.commits.length - 1;
  const errored = [...rec.tree.values()].some((step) => Object.keys(step.errors).length);
  return {
    agent: str(configured?.payload["agentId"]) || named.replace(/^[A-Za-z]+:/, "") || str(at(rec.structure, "name")) || "recording",
    model: [...new Set(calls.map((call) => call.model).filter(Boolean))].join(", "),
    outcome: answer.failed ? "failed" : paused ? "paused" : answer.text ? "answered" : errored ? "failed" : rec.eventsOnly ? "unknown" : "ended",
    question: str(rec.root.valueAt("userMessage", end)) || str(rec.eventsNamed("agent.turn_start")[0]?.payload["userPrompt"]),
    answer: answer.text,
    loops: rec.axis.loops.length,
    calls: calls.length,
    tools: tools.length,
    commits: rec.root.commits.length,
    events: rec.events.length,
    tokensIn: sum("input") ?? num(rec.root.valueAt("totalInputTokens", end)),
    tokensOut: sum("output") ?? num(rec.root.valueAt("totalOutputTokens", end)),
    tokensCached: sum("cacheRead"),
    cost: num(at(rec.eventsNamed("cost.tick").at(-1)?.payload, "cumulative", "estimatedUsd")),
    durationMs: last?.offsetMs,
    runId: str(at(rec.envelope, "run", "runId")) || str(at(last?.raw, "meta", "runId")) || str(rec.snapshot["runId"]),
  };
}
