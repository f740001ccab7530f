// The run in plain sentences: the recorded narrative where there is one, else told from the events, else from the steps.

import { num, str } from "./json.ts";
import type { Event, Recording } from "./recording.ts";
import { brief, excerpt } from "./text.ts";

export interface Line {
  text: string;
  /** The words of someone: quoted below the sentence. */
  quote: string;
  who: "app" | "model" | "tool" | "person" | "step";
  depth: number;
  moment: number;
  step: string;
}

type Teller = (event: Event) => Partial<Line> & { text: string } | undefined;
const p = (event: Event, key: string): string => str(event.payload[key]);
const BASELINE = new Set(["user", "tool-result", "assistant", "base", "registry"]);

const TELLERS: Record<string, Teller> = {
  "agent.turn_start": (event) => ({ who: "person", text: "A person asks.", quote: p(event, "userPrompt") }),
  "context.injected": (event) =>
    BASELINE.has(p(event, "source")) ? undefined : { who: "app", text: `The app adds ${p(event, "source")} ${p(event, "sourceId") ? `“${p(event, "sourceId")}” ` : ""}to what the model reads.`, quote: p(event, "contentSummary") },
  "stream.llm_start": (event) => ({ who: "app", text: num(event.payload["iteration"]) === 1 ? "The app asks the model." : "The app shows the model what came back and asks again." }),
  "stream.llm_end": (event) => ({ who: "model", text: (num(event.payload["toolCallCount"]) ?? 0) > 0 ? "The model suggests using a tool." : "The model answers.", quote: p(event, "content") }),
  "stream.tool_start": (event) => ({ who: "tool", text: `The app runs ${p(event, "toolName")}.`, quote: brief(event.payload["args"], 300) }),
  "stream.tool_end": (event) => ({ who: "tool", text: event.payload["error"] ? "The tool fails." : "The tool returns.", quote: brief(event.payload["result"] ?? event.payload["error"], 300) }),
  "middleware.decision": (event) => ({ who: "app", text: `A rule of the app (${p(event, "middleware")}) looks at the call: ${p(event, "outcome") || "no change"}.`, quote: p(event, "why") }),
  "permission.check": (event) => ({ who: "app", text: `Permission for ${p(event, "target")}: ${p(event, "result")}.` }),
  "permission.halt": (event) => ({ who: "app", text: `The app stops the run: ${p(event, "reason")}.` }),
  "pause.request": () => ({ who: "app", text: "The run waits for a person." }),
  "pause.resume": () => ({ who: "person", text: "A person has answered; the run goes on." }),
  "skill.activated": (event) => ({ who: "app", text: `Skill “${p(event, "skillId")}” becomes active.` }),
  "memory.retrieved": (event) => ({ who: "app", text: `The app looks into its memory: ${num(event.payload["admittedCount"]) ?? 0} entries fit.` }),
  "composition.enter": (event) => ({ who: "app", text: `${p(event, "kind") || "A composition"} “${p(event, "name") || p(event, "id")}” begins.` }),
  "composition.fork_start": () => ({ who: "app", text: "The work splits into parallel branches." }),
  "composition.merge_end": (event) => ({ who: "app", text: "The branches are merged.", quote: p(event, "resultSummary") }),
  "composition.route_decided": (event) => ({ who: "app", text: `The request is routed to “${p(event, "chosen")}”.`, quote: p(event, "rationale") }),
  "composition.exit": (event) => ({ who: "app", text: `${p(event, "kind") || "The composition"} “${p(event, "name") || p(event, "id")}” ends.` }),
  "cost.limit_hit": (event) => ({ who: "app", text: `The limit on ${p(event, "kind").replaceAll("_", " ")} is reached.` }),
  "integrity.context_error": (event) => ({ who: "app", text: "A check files a finding.", quote: p(event, "message") }),
  "reliability.retried": () => ({ who: "app", text: "The model could not be reached; the app tries again." }),
  "error.fatal": (event) => ({ who: "app", text: "The run fails.", quote: brief(event.payload["error"], 300) }),
  "agent.turn_end": (event) => ({ who: "app", text: "The app delivers the answer.", quote: p(event, "finalContent") }),
};

export function tell(rec: Recording): { lines: Line[]; basis: "narrative" | "events" | "steps" } {
  if (rec.narrative.length)
    return {
      basis: "narrative",
      lines: rec.narrative.map((row) => {
        const step = str(row["runtimeStageId"]);
        return { text: str(row["text"]), quote: "", who: "step", depth: num(row["depth"]) ?? 0, step, moment: rec.axis.ofStep.get(step) ?? -1 };
      }),
    };
  const lines: Line[] = [];
  for (const event of rec.events) {
    const told = TELLERS[event.name]?.(event);
    if (told) lines.push({ quote: "", who: "app", depth: 0, moment: event.moment, step: event.step, ...told });
  }
  if (lines.length) return { basis: "events", lines };
  return {
    basis: "steps",
    lines: rec.axis.moments
      .filter((moment) => moment.first)
      .map((moment) => {
        const step = rec.tree.get(moment.step);
        const wrote = [...new Set(moment.log.commits[moment.idx]!.rows.map((row) => row.segments.join(".")))];
        return {
          who: "step", depth: moment.depth, moment: moment.i, step: moment.step,
          text: `${moment.name}${step?.description ? `: ${step.description}` : ""}.`,
          quote: excerpt([...(step?.flow.map((row) => row.description) ?? []), wrote.length ? `Wrote ${wrote.join(", ")}.` : ""].filter(Boolean).join(" "), 400),
        };
      }),
  };
}
