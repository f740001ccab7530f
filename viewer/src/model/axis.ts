// The one time axis: every commit of every log, in the order in which they happened. The commits of a mount's inner log
// stand before the commit by which the mount merged back. Commits order the run; milliseconds never do.

import type { Log } from "./log.ts";
import { type Milestone, localOf, milestoneOf, roleOf } from "./steps.ts";

export interface Moment {
  /** Position on the axis. */
  i: number;
  log: Log;
  /** Commit position in `log`. */
  idx: number;
  step: string;
  name: string;
  /** How many mounts deep. */
  depth: number;
  /** Position of the latest commit of the run's own log; -1 before the first. */
  rootIdx: number;
  /** First commit of its step (later ones are exits and repeats). */
  first: boolean;
  milestone: Milestone | undefined;
  /** Loop number, 0 before the first. */
  loop: number;
  writes: number;
}

export interface Axis {
  moments: Moment[];
  /** Positions of the grouped axis. */
  grouped: number[];
  /** First moment of each loop: `loops[k]` opens loop k+1. */
  loops: number[];
  /** Step id → first moment. */
  ofStep: Map<string, number>;
  /** Log key → commit position → moment. */
  ofCommit: Map<string, number[]>;
}

export function buildAxis(root: Log, inner: Map<string, Log>): Axis {
  const moments: Moment[] = [];
  const loops: number[] = [];
  const ofStep = new Map<string, number>();
  const ofCommit = new Map<string, number[]>();
  const entered = new Set<string>([""]);
  const names = new Map<string, string>();
  let rootIdx = -1;
  let loop = 0;

  const walk = (log: Log, depth: number, counted: boolean): void => {
    const seen = new Set<string>();
    const places: number[] = [];
    ofCommit.set(log.key, places);
    for (const commit of log.commits) {
      const first = !seen.has(commit.step);
      if (first) seen.add(commit.step);
      const milestone = first ? milestoneOf(commit.step, commit.tags) : undefined;
      const mount = commit.step === log.key ? undefined : inner.get(commit.step);
      const opens = first && milestone?.kind === "iteration" && !counted && localOf(commit.step) !== localOf(log.key);
      if (opens) {
        loop += 1;
        loops.push(moments.length);
      }
      if (mount && !entered.has(mount.key)) {
        entered.add(mount.key);
        walk(mount, depth + 1, counted || (opens && localOf(commit.step) === "sf-llm-call"));
      }
      if (depth === 0) rootIdx = commit.idx;
      const i = moments.length;
      places.push(i);
      // The seed of an inner log carries the mount's id; the mount stands where its own log says.
      if (first && !(depth > 0 && commit.step === log.key) && !ofStep.has(commit.step)) ofStep.set(commit.step, i);
      moments.push({
        i, log, idx: commit.idx, step: commit.step, name: plainName(names, commit.stageId, commit.stage), depth, rootIdx, first, loop, writes: commit.rows.length,
        milestone: commit.step === log.key && depth > 0 ? undefined : milestone,
      });
    }
  };
  walk(root, 0, false);
  // Mounts that never merged back: the run failed or paused inside them.
  for (const [key, log] of inner)
    if (!entered.has(key)) {
      entered.add(key);
      walk(log, key.split("/").length, false);
    }
  return { moments, loops, ofStep, ofCommit, grouped: groupedStops(moments) };
}

/** A stage that is visited again is recorded as `Name.1`, `Name.2`…; its first name says enough. */
function plainName(names: Map<string, string>, stageId: string, stage: string): string {
  const name = stage.slice(stage.lastIndexOf("/") + 1) || "(unnamed)";
  const first = names.get(stageId);
  if (first === undefined) names.set(stageId, name);
  return first !== undefined && name.startsWith(`${first}.`) ? first : name;
}

/** Milestones and the bookends; a run without milestones keeps every first commit of its own and of its mounts' logs. */
function groupedStops(moments: Moment[]): number[] {
  if (!moments.length) return [];
  const marked = moments.some((moment) => moment.milestone && moment.milestone.kind !== "iteration");
  const keep = (moment: Moment): boolean =>
    marked
      ? moment.milestone !== undefined || (moment.first && roleOf(moment.step) === "boundary" && !insidePlumbing(moment))
      : moment.first && moment.step !== moment.log.key;
  const stops = moments.filter(keep).map((moment) => moment.i);
  const last = moments.length - 1;
  if (stops[0] !== 0) stops.unshift(0);
  if (stops[stops.length - 1] !== last) stops.push(last);
  return stops;
}

/** Inner steps of the agent's own subflows are details of the milestone they belong to. */
const insidePlumbing = (moment: Moment): boolean =>
  moment.step === moment.log.key || /(^|\/)(sf-|final|thinking-)/.test(moment.log.key);

/** The last stop at or before `at`, as a position in `stops`. */
export function stopBefore(stops: readonly number[], at: number): number {
  let low = 0;
  let high = stops.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (stops[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}
