// What went wrong or was refused, as the run itself filed it; and what was never looked at.

import { type Obj, num, objs, str } from "./json.ts";
import type { Event, Recording } from "./recording.ts";
import { brief } from "./text.ts";
import type { ToolCall } from "./tools.ts";

export interface Finding {
  severity: "error" | "warning" | "note";
  kind: string;
  message: string;
  step: string;
  moment: number;
  detail: Obj | undefined;
}

type Reader = (event: Event) => { severity: Finding["severity"]; message: string };

const text = (event: Event, ...keys: string[]): string => keys.map((key) => str(event.payload[key]) || (event.payload[key] === undefined ? "" : brief(event.payload[key], 200))).find(Boolean) ?? "";

const READERS: Record<string, Reader> = {
  "error.fatal": (event) => ({ severity: "error", message: `The run failed: ${text(event, "error")}` }),
  "integrity.context_error": (event) => ({ severity: "error", message: text(event, "message") }),
  "permission.halt": (event) => ({ severity: "error", message: `A permission checker stopped the run at ${text(event, "target")}: ${text(event, "reason")}` }),
  "reliability.fail_fast": (event) => ({ severity: "error", message: `Gave up on the model call: ${text(event, "label", "errorMessage")}` }),
  "agent.output_contract_unmet": (event) => ({ severity: "error", message: `The answer does not keep the output contract: ${text(event, "error")}` }),
  "validation.args_invalid": (event) => ({ severity: "warning", message: `The model's arguments for ${text(event, "toolName")} were not valid: ${text(event, "issues")}` }),
  "agent.output_schema_validation_failed": (event) => ({ severity: "warning", message: `An answer failed its schema: ${text(event, "error", "message")}` }),
  "agent.output_schema_retry": (event) => ({ severity: "note", message: `The model was asked again for a valid answer: ${text(event, "error", "reason")}` }),
  "agent.budget_exhausted": (event) => ({ severity: "warning", message: `A budget ran out: ${brief(event.payload, 160)}` }),
  "cost.limit_hit": (event) => ({ severity: "warning", message: `Limit ${text(event, "kind")} reached (${text(event, "actual")} of ${text(event, "limit")}): ${text(event, "action")}` }),
  "context.budget_pressure": (event) => ({ severity: "note", message: `${text(event, "slot")} did not fit its budget by ${text(event, "overflowBy")} ${text(event, "unit")}: ${text(event, "planAction")}` }),
  "context.evicted": (event) => ({ severity: "note", message: `A piece of ${text(event, "slot")} was evicted: ${text(event, "reason")}` }),
  "skill.rejected": (event) => ({ severity: "warning", message: `The model asked for skill “${text(event, "requestedId")}”, which is not reachable from “${text(event, "currentSkillId")}”` }),
  "skill.route_conflict": (event) => ({ severity: "warning", message: `Two tools proposed different routes; ${brief(event.payload["winner"], 100)} won` }),
  "skill.steps_unfinished": (event) => ({ severity: "warning", message: `Steps of skill “${text(event, "skillId")}” were left undone` }),
  "tools.result_refused": (event) => ({ severity: "warning", message: `A tool result was refused: ${text(event, "reason", "message")}` }),
  "tools.repeated_call": (event) => ({ severity: "warning", message: `The same tool call was made again: ${text(event, "toolName")}` }),
  "reliability.retried": (event) => ({ severity: "note", message: `The model call was repeated (${text(event, "errorKind")}: ${text(event, "errorMessage")})` }),
  "resilience.output_fallback_triggered": () => ({ severity: "warning", message: "The answer came from the fallback" }),
  "resilience.output_canned_used": () => ({ severity: "warning", message: "The answer is the canned one" }),
  "pause.request": (event) => ({ severity: "note", message: `The run paused for a person: ${text(event, "reason")}` }),
};

export function findFindings(rec: Recording, tools: ToolCall[]): Finding[] {
  const out: Finding[] = [];
  for (const [kind, read] of Object.entries(READERS))
    for (const event of rec.eventsNamed(kind)) out.push({ kind: kind === "integrity.context_error" ? text(event, "kind") : kind, step: event.step, moment: event.moment, detail: event.payload, ...read(event) });
  for (const tool of tools)
    if (tool.outcome === "error" || tool.outcome === "denied")
      out.push({
        severity: tool.outcome === "error" ? "error" : "warning", kind: `tool ${tool.outcome}`, step: tool.step, moment: tool.moment, detail: undefined,
        message: `${tool.name || tool.id}: ${tool.error || tool.decisions.map((decision) => decision.text).join("; ") || "did not run"}`,
      });
  for (const step of rec.tree.values())
    if (Object.keys(step.errors).length)
      out.push({ severity: "error", kind: "stage error", step: step.id, moment: rec.axis.ofStep.get(step.id) ?? 0, message: `${step.name}: ${brief(step.errors, 240)}`, detail: step.errors });
  for (const log of [rec.root, ...rec.inner.values()])
    for (const commit of log.commits)
      if (commit.gap)
        out.push({ severity: "warning", kind: "unreadable commit", step: commit.step, moment: rec.axis.ofCommit.get(log.key)?.[commit.idx] ?? 0, message: `Commit ${commit.idx} was not folded: ${commit.gap}`, detail: undefined });
  const order = { error: 0, warning: 1, note: 2 };
  return out.sort((a, b) => order[a.severity] - order[b.severity] || a.moment - b.moment);
}

export interface Checked {
  check: string;
  seam: string;
  checked: number;
  findings: number;
  /** `clean` only when something was checked and nothing found. */
  state: "clean" | "findings" | "not checked" | "not applicable";
}

/** What was looked at. "Not checked" is never "clean". */
export function dispositions(rec: Recording): Checked[] {
  return rec.eventsNamed("integrity.disposition").flatMap((event) =>
    objs(event.payload["rows"]).map((row) => {
      const checked = num(row["checked"]) ?? 0;
      const findings = num(row["findings"]) ?? 0;
      const state = findings > 0 ? "findings" : checked > 0 ? "clean" : (num(row["unreachable"]) ?? 0) > 0 ? "not checked" : "not applicable";
      return { check: str(row["check"]), seam: str(row["seam"]), checked, findings, state };
    }),
  );
}

/** The sentence above the list: silence is told apart from a clean result. */
export function headline(rec: Recording, findings: Finding[]): string {
  if (findings.length) {
    const errors = findings.filter((finding) => finding.severity === "error").length;
    const warnings = findings.filter((finding) => finding.severity === "warning").length;
    return `${errors} error${errors === 1 ? "" : "s"}, ${warnings} warning${warnings === 1 ? "" : "s"}, ${findings.length - errors - warnings} notes.`;
  }
  if (!rec.events.length) return "No evidence: this file has no events, so nothing can be said about findings.";
  const rows = dispositions(rec);
  if (!rows.length) return "Nothing was filed, and the record does not say that anything was checked.";
  const clean = rows.filter((row) => row.state === "clean").length;
  return `Nothing was filed. ${clean} of ${rows.length} checks looked and found nothing; the others had nothing to look at.`;
}
