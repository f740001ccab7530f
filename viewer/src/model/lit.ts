// How a flowchart stands at the cursor: how often each stage has run by then, and which one is running.

import type { Flow } from "./flow.ts";
import type { Recording } from "./recording.ts";
import { stageOf } from "./steps.ts";

export interface Light {
  /** Runs at or before the cursor. */
  done: number;
  /** Runs in the whole record. */
  total: number;
  current: boolean;
}

/** Stage → ascending moments of its runs. Built once per recording. */
export function runsOf(rec: Recording): Map<string, number[]> {
  const runs = new Map<string, number[]>();
  for (const [step, moment] of rec.axis.ofStep) {
    const stage = stageOf(step);
    const list = runs.get(stage);
    if (list) list.push(moment);
    else runs.set(stage, [moment]);
  }
  for (const list of runs.values()) list.sort((a, b) => a - b);
  return runs;
}

export function lightsAt(rec: Recording, runs: Map<string, number[]>, flow: Flow, cursor: number): Map<string, Light> {
  const here = stageOf(rec.axis.moments[cursor]?.step ?? "");
  const lights = new Map<string, Light>();
  for (const node of flow.nodes) {
    const list = runs.get(node.stage) ?? [];
    lights.set(node.id, { total: list.length, done: countUpTo(list, cursor), current: here === node.stage || here.startsWith(`${node.stage}/`) });
  }
  return lights;
}

function countUpTo(sorted: readonly number[], limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The level of the chart that shows a step: the agent's own plumbing is shown by its mount, other mounts are entered. */
export function levelOf(step: string): string[] {
  const parts = stageOf(step).split("/").slice(0, -1);
  const plumbing = parts.findIndex((part) => part === "final" || part.startsWith("thinking-") || (part.startsWith("sf-") && part !== "sf-llm-call"));
  return plumbing < 0 ? parts : parts.slice(0, plumbing);
}
