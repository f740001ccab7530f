// The execution trees, flattened by step id. Walked with a stack: a long run nests once per step.

import { type Obj, arr, get, isObj, objs, str } from "./json.ts";

export interface TreeStep {
  id: string;
  name: string;
  description: string;
  reads: string[];
  errors: Obj;
  flow: { type: string; description: string; rationale: string }[];
  /** The decider or selector that chose this step, when the tree says so. */
  decider: string;
}

export function flattenTrees(roots: unknown[]): Map<string, TreeStep> {
  const steps = new Map<string, TreeStep>();
  const seen = new Set<unknown>();
  const work: { node: unknown; decider: string }[] = roots.map((node) => ({ node, decider: "" }));
  for (let item = work.pop(); item; item = work.pop()) {
    const { node, decider } = item;
    if (!isObj(node) || seen.has(node)) continue;
    seen.add(node);
    const id = str(node["runtimeStageId"]);
    const flow = objs(node["flowMessages"]).map((row) => ({
      type: str(row["type"]), description: str(row["description"]), rationale: str(row["rationale"]),
    }));
    if (id && !steps.has(id))
      steps.set(id, {
        id, flow, decider,
        name: str(node["name"]),
        description: str(node["description"]),
        reads: isObj(node["stageReads"]) ? Object.keys(node["stageReads"]) : [],
        errors: isObj(node["errors"]) ? node["errors"] : {},
      });
    const chose = flow.some((row) => row.type === "branch" || row.type === "selected");
    for (const child of arr(node["children"])) work.push({ node: child, decider: chose ? id : "" });
    // What follows a chosen branch in its own chain was let in by the same decision.
    if (get(node, "next")) work.push({ node: node["next"], decider: "" });
  }
  return steps;
}
