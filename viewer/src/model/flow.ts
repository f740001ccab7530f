// The flowchart: nodes and edges of one level of the structure, laid out in columns. A mount is one node; its inside is another level.

import { type Obj, arr, isObj, str } from "./json.ts";
import type { Recording } from "./recording.ts";
import { type Role, roleOf, stageOf } from "./steps.ts";

export interface FlowNode {
  id: string;
  /** The stage id as steps carry it at this level, without the ordinal. */
  stage: string;
  name: string;
  description: string;
  kind: "stage" | "decider" | "selector" | "fork" | "mount";
  role: Role;
  pausable: boolean;
  x: number;
  y: number;
}

export interface FlowEdge {
  id: string;
  from: string;
  to: string;
  kind: "next" | "branch" | "loop";
}

export interface Flow {
  nodes: FlowNode[];
  edges: FlowEdge[];
  /** Path of mounts from the run down to this level. */
  path: string[];
}

export const WIDTH = 190;
export const HEIGHT = 56;
const GAP_X = 26;
const GAP_Y = 46;

/** One node of a chain with the branches that hang on it. */
interface Item {
  node: FlowNode;
  branches: Item[][];
  /** The chain goes back to an earlier stage here. */
  loopsTo: string;
  ends: boolean;
}

/** The level reached by descending into `path`, a list of subflow ids. */
export function flowOf(structure: Obj | undefined, path: readonly string[]): Flow | undefined {
  let root: unknown = structure;
  for (const mount of path) root = findMount(root, mount)?.["subflowStructure"];
  if (!isObj(root)) return undefined;
  const flow: Flow = { nodes: [], edges: [], path: [...path] };
  const items = chainOf(root, path.join("/"), flow.nodes, new Set());
  const loops: { from: string; target: string }[] = [];
  place(items, 0, 0, [], flow, loops);
  const prefix = path.length ? `${path.join("/")}/` : "";
  const drawn = new Set<string>();
  for (const { from, target } of loops) {
    const to = flow.nodes.find((node) => node.stage === prefix + target);
    const id = `${from}~${to?.id}`;
    if (!to || drawn.has(id)) continue;
    drawn.add(id);
    flow.edges.push({ id, from, to: to.id, kind: "loop" });
  }
  return flow;
}

function chainOf(start: unknown, prefix: string, nodes: FlowNode[], seen: Set<unknown>): Item[] {
  const items: Item[] = [];
  for (let node = start; isObj(node) && !seen.has(node); node = node["next"]) {
    seen.add(node);
    const previous = items.at(-1);
    if (node["isLoopReference"] === true || node["type"] === "loop") {
      if (previous) Object.assign(previous, { loopsTo: str(node["id"]), ends: true });
      break;
    }
    const made = makeNode(node, prefix, nodes.length);
    nodes.push(made);
    const branches = arr(node["children"]).map((child) => chainOf(child, prefix, nodes, seen)).filter((chain) => chain.length);
    items.push({ node: made, branches, loopsTo: str(node["loopTarget"]), ends: node["loopTarget"] !== undefined && !isObj(node["next"]) });
  }
  return items;
}

const widthOf = (items: Item[]): number => Math.max(WIDTH, ...items.map(branchesWidth));
const branchesWidth = (item: Item): number => item.branches.reduce((sum, chain) => sum + widthOf(chain) + GAP_X, -GAP_X);

/** Puts a chain under `top`, centred in its column; returns where it ends and from which nodes the flow goes on. */
function place(items: Item[], left: number, top: number, entries: { from: string; kind: FlowEdge["kind"] }[], flow: Flow, loops: { from: string; target: string }[]): { bottom: number; exits: string[] } {
  const width = widthOf(items);
  let y = top;
  let open = entries;
  for (const item of items) {
    item.node.x = left + (width - WIDTH) / 2;
    item.node.y = y;
    const id = item.node.id;
    for (const entry of open) flow.edges.push({ id: `${entry.from}>${id}`, from: entry.from, to: id, kind: entry.kind });
    y += HEIGHT + GAP_Y;
    if (item.loopsTo) loops.push({ from: id, target: item.loopsTo });
    if (item.branches.length) {
      let x = left + (width - branchesWidth(item)) / 2;
      let lowest = y;
      const exits: string[] = [];
      for (const chain of item.branches) {
        const part = place(chain, x, y, [{ from: id, kind: "branch" }], flow, loops);
        x += widthOf(chain) + GAP_X;
        lowest = Math.max(lowest, part.bottom);
        exits.push(...part.exits);
      }
      y = lowest;
      open = exits.map((from) => ({ from, kind: "next" }));
    } else open = item.ends ? [] : [{ from: id, kind: "next" }];
  }
  return { bottom: y, exits: open.map((entry) => entry.from) };
}

function makeNode(node: Obj, prefix: string, n: number): FlowNode {
  const id = str(node["id"]);
  const stage = prefix ? `${prefix}/${id}` : id;
  const mount = node["isSubflowRoot"] === true || isObj(node["subflowStructure"]);
  const kind = node["hasDecider"] === true || node["type"] === "decider" ? "decider" : node["hasSelector"] === true || node["type"] === "selector" ? "selector" : node["type"] === "fork" ? "fork" : mount ? "mount" : "stage";
  return {
    id: `n${n}`, stage, kind, x: 0, y: 0,
    name: str(node["subflowName"]) || str(node["name"]) || id,
    description: str(node["description"]),
    role: roleOf(stage),
    pausable: node["isPausable"] === true,
  };
}

function findMount(root: unknown, id: string): Obj | undefined {
  const seen = new Set<unknown>();
  const work: unknown[] = [root];
  for (let node = work.pop(); node !== undefined; node = work.pop()) {
    if (!isObj(node) || seen.has(node)) continue;
    seen.add(node);
    if ((node["subflowId"] === id || node["id"] === id) && isObj(node["subflowStructure"])) return node;
    work.push(node["next"], ...arr(node["children"]));
  }
  return undefined;
}

/** Without a structure: what ran, as a chain of the stages in the order in which they first ran. */
export function flowOfSteps(rec: Recording): Flow {
  const stages = new Map<string, string>();
  for (const commit of rec.root.commits) {
    const stage = stageOf(commit.step);
    if (!stages.has(stage)) stages.set(stage, commit.stage);
  }
  const nodes = [...stages].slice(0, 400).map(([stage, name], n): FlowNode => ({
    id: `n${n}`, stage, name, description: "", kind: "stage", role: roleOf(stage), pausable: false, x: 0, y: n * (HEIGHT + GAP_Y),
  }));
  const edges = nodes.slice(1).map((node, n): FlowEdge => ({ id: `n${n}>${node.id}`, from: `n${n}`, to: node.id, kind: "next" }));
  return { nodes, edges, path: [] };
}
