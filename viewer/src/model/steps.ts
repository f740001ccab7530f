// What a step is, read from its id and its declared tags.

/** `sf-tools/compose#13` → `compose`. */
export const localOf = (step: string): string => {
  const stage = stageOf(step);
  return stage.slice(stage.lastIndexOf("/") + 1);
};

/** The step without its ordinal: `sf-tools/compose#13` → `sf-tools/compose`. */
export const stageOf = (step: string): string => {
  const hash = step.lastIndexOf("#");
  return hash < 0 || step.includes("/", hash) ? step : step.slice(0, hash);
};

/** The ordinal of a step id; undefined for pseudo steps such as `tool-calls#paused`. */
export const ordinalOf = (step: string): number | undefined => {
  const match = /#(\d+)$/.exec(step);
  return match ? Number(match[1]) : undefined;
};

/** The subflow path of a step id: `a/b/compose#3` → `a/b`. */
export const scopeOf = (step: string): string => {
  const slash = step.lastIndexOf("/");
  return slash < 0 ? "" : step.slice(0, slash);
};

/** The agent a step belongs to: its subflow path without the agent's own subflows. */
export const agentOf = (step: string): string => scopeOf(step).split("/").filter((part) => part !== "" && !part.startsWith("sf-") && part !== "final").join("/");

export type Role = "slot" | "llm" | "action" | "plumbing" | "boundary";

const PLUMBING = new Set([
  "sf-injection-engine", "sf-llm-call", "sf-route", "sf-merge", "sf-cache", "sf-cache-decision", "sf-thinking", "context",
  "client", "extract-final", "format-merge", "extract-merge", "update-skill-history", "cache-gate", "apply-markers",
  "no-markers", "build-llm-request",
]);
const SLOTS: Record<string, string> = { "sf-system-prompt": "System prompt", "sf-messages": "Messages", "sf-tools": "Tools" };
const DECISIONS: Record<string, string> = {
  "sf-route": "Route", "output-retry": "Schema retry", "step-nudge": "Step nudge", "evidence-recheck": "Evidence recheck", "wrap-up": "Wrap up",
};

export function roleOf(step: string): Role {
  const local = localOf(step);
  if (Object.hasOwn(SLOTS, local)) return "slot";
  if (local === "call-llm" || local === "merge-llm") return "llm";
  if (local === "tool-calls" || local === "sf-tool-calls") return "action";
  return PLUMBING.has(local) || local.startsWith("thinking-") ? "plumbing" : "boundary";
}

export interface Milestone {
  kind: string;
  label: string;
}

/** Declared tags alone decide when there are any; ids are read only for records without tags. */
export function milestoneOf(step: string, tags: readonly string[]): Milestone | undefined {
  if (tags.length) {
    const tagged = (prefix: string): string | undefined => tags.find((tag) => tag.startsWith(prefix))?.slice(prefix.length);
    const kind = tagged("milestone:");
    return kind === undefined ? undefined : { kind, label: tagged("milestone-label:") ?? kind };
  }
  const local = localOf(step);
  if (local === "sf-injection-engine" || local === "sf-llm-call") return { kind: "iteration", label: "Iteration" };
  if (Object.hasOwn(SLOTS, local)) return { kind: "slot", label: SLOTS[local]! };
  if (local === "call-llm" || local === "merge-llm") return { kind: "llm-turn", label: "LLM turn" };
  if (local === "tool-calls" || local === "sf-tool-calls") return { kind: "tool-call", label: "Tool call" };
  if (Object.hasOwn(DECISIONS, local)) return { kind: "decision", label: DECISIONS[local]! };
  return undefined;
}
