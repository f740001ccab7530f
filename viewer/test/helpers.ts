// Small recordings made by hand, so that a test says all that it depends on.

import type { Json, Obj } from "../src/model/json.ts";
import { openValue } from "../src/model/parse.ts";
import { Recording } from "../src/model/recording.ts";

export type Write = [path: string, verb: string, value?: Json];

export function commit(idx: number, step: string, writes: Write[] = [], more: Obj = {}): Obj {
  const overwrite: Obj = {};
  const updates: Obj = {};
  for (const [path, verb, value] of writes) {
    if (value === undefined) continue;
    let here = verb === "merge" ? updates : overwrite;
    const keys = path.split("\u001f");
    for (const key of keys.slice(0, -1)) here = (here[key] ??= {}) as Obj;
    here[keys.at(-1)!] = value;
  }
  const stageId = step.replace(/#.*$/, "");
  return {
    idx, stage: stageId, stageId, runtimeStageId: step, overwrite, updates, redactedPaths: [],
    trace: writes.map(([path, verb]) => ({ path, verb })), ...more,
  };
}

export function document(commits: Json[], more: { events?: Json[]; snapshot?: Obj; structure?: Json } = {}): Obj {
  return {
    snapshot: { commitLog: commits, executionTree: { id: "seed", runtimeStageId: "seed#0", name: "Seed" }, initialState: {}, ...more.snapshot },
    events: more.events ?? [],
    structure: more.structure ?? { id: "seed", name: "Seed", type: "stage" },
  };
}

export const recording = (commits: Json[], more?: Parameters<typeof document>[1]): Recording => new Recording(openValue(document(commits, more)));

export const event = (name: string, step: string, payload: Obj): Obj => ({ type: `agentfootprint.${name}`, payload, meta: { runtimeStageId: step } });
