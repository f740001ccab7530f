// Walking backwards from a value: who wrote it, what that step had read, who wrote that.

import { SEPARATOR } from "./fold.ts";
import type { Log } from "./log.ts";
import type { Recording } from "./recording.ts";

export interface SliceNode {
  step: string;
  name: string;
  moment: number;
  idx: number;
  depth: number;
  /** The key, or the decision, that led here. */
  via: string;
  kind: "start" | "data" | "control";
  wrote: string[];
  reads: { key: string; writer: number }[];
  /** What the record does not say about this step. */
  marks: string[];
}

export interface Slice {
  nodes: SliceNode[];
  /** Why there is nothing, when there is nothing. */
  missing: string;
  truncated: boolean;
  notes: string[];
}

export interface SliceOptions {
  maxDepth?: number;
  maxNodes?: number;
}

/** The slice of a key as it stood just before commit `before`. */
export function sliceOfKey(rec: Recording, log: Log, key: string, before: number, options: SliceOptions = {}): Slice {
  const { maxDepth = 12, maxNodes = 60 } = options;
  const start = log.lastWriter(key, before);
  if (start < 0) {
    const known = log.base[key] !== undefined;
    return { nodes: [], truncated: false, notes: [], missing: known ? `“${key}” was there before the first commit and was never written.` : `“${key}” was never written in this log: it is run input, or it lives outside the state.` };
  }
  const slice: Slice = { nodes: [], missing: "", truncated: false, notes: [] };
  const seen = new Set<string>();
  const queue: { idx: number; depth: number; via: string; kind: SliceNode["kind"] }[] = [{ idx: start, depth: 0, via: key, kind: "start" }];
  let readsKnown = false;
  let control = rec.tree.size > 0;
  for (let at = 0; at < queue.length; at++) {
    const { idx, depth, via, kind } = queue[at]!;
    const step = log.commits[idx]!.step;
    if (seen.has(step)) continue;
    if (slice.nodes.length >= maxNodes || depth > maxDepth) {
      slice.truncated = true;
      continue;
    }
    seen.add(step);
    const first = log.commitsOf(step)[0] ?? idx;
    // A row that names what was read before it narrows the step's reads to those behind this key.
    const row = depth === 0 || kind === "data" ? log.commits[idx]!.readKeys : [];
    const reads = [...new Set((row.length ? row : (rec.tree.get(step)?.reads ?? [])).map((read) => rootOf(log, read)))].sort();
    if (reads.length) readsKnown = true;
    const node: SliceNode = {
      step, idx, depth, via, kind,
      name: rec.tree.get(step)?.name.replace(/^.*\//, "") || log.commits[idx]!.stage,
      moment: rec.axis.ofCommit.get(log.key)?.[idx] ?? 0,
      wrote: [...new Set(log.commitsOf(step).flatMap((i) => log.commits[i]!.rows.map((item) => item.segments.join("."))))],
      reads: reads.map((read) => ({ key: read, writer: log.lastWriter(read, first) })),
      marks: marksOf(log, idx),
    };
    slice.nodes.push(node);
    for (const read of node.reads) if (read.writer >= 0) queue.push({ idx: read.writer, depth: depth + 1, via: read.key, kind: "data" });
    const decider = rec.tree.get(step)?.decider;
    const decided = decider ? log.commitsOf(decider)[0] : undefined;
    if (decided !== undefined) queue.push({ idx: decided, depth: depth + 1, via: "chose this branch", kind: "control" });
  }
  if (rec.recorder("ControlDeps") === undefined) {
    control = [...rec.tree.values()].some((step) => step.decider !== "");
    slice.notes.push(control ? "Which decision let a step run is derived from the execution tree." : "The record does not say which decision let a step run.");
  }
  if (!readsKnown && slice.nodes.length) slice.notes.push("Reads were not recorded: an end here means “not known”, not “depends on nothing”.");
  return slice;
}

function rootOf(log: Log, read: string): string {
  const root = read.split(SEPARATOR)[0]!;
  return log.touchesOf(root).length ? root : root.split(".")[0]!;
}

function marksOf(log: Log, idx: number): string[] {
  const commit = log.commits[idx]!;
  const marks = commit.untracked.map((source) =>
    source === "args" ? "also read the run's input" : source === "env" ? "also read the environment" : source === "silent" ? "also read something that was not tracked" : `also read: ${source}`,
  );
  if (commit.redacted.length) marks.push("part of what it wrote is redacted");
  if (commit.gap) marks.push(`not fully readable: ${commit.gap}`);
  return marks;
}
