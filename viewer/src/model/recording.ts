// The opened recording with its indexes. Everything expensive is built the first time it is asked for.

import { type Axis, buildAxis } from "./axis.ts";
import { type Json, type Obj, arr, at, get, isObj, num, objs, str } from "./json.ts";
import { Log } from "./log.ts";
import type { Opened } from "./parse.ts";
import { stageOf } from "./steps.ts";
import { type TreeStep, flattenTrees } from "./tree.ts";

/** An event with its place on the axis. */
export interface Event {
  n: number;
  /** Short name, without `agentfootprint.`. */
  name: string;
  payload: Obj;
  step: string;
  offsetMs: number | undefined;
  raw: Obj;
  /** Moment of the step that emitted it. */
  moment: number;
}

export class Recording {
  readonly root: Log;
  readonly inner: Map<string, Log>;
  readonly axis: Axis;
  readonly structure: Obj | undefined;
  readonly narrative: Obj[];
  readonly envelope: Obj | undefined;
  readonly limits: string[];
  readonly snapshot: Obj;
  readonly packed: boolean;
  readonly eventsOnly: boolean;

  constructor(opened: Opened) {
    this.snapshot = opened.snapshot;
    this.structure = opened.structure;
    this.narrative = opened.narrative;
    this.envelope = opened.envelope;
    this.packed = opened.packed;
    this.limits = opened.limits;
    this.eventsOnly = opened.eventsOnly;
    this.rawEvents = opened.events;
    const commits = opened.eventsOnly ? stepsOfEvents(opened.events) : arr(opened.snapshot["commitLog"] ?? opened.snapshot["history"]);
    this.root = new Log("", commits, opened.snapshot["initialState"]);
    this.inner = innerLogs(opened.snapshot);
    this.axis = buildAxis(this.root, this.inner);
    const gaps = [this.root, ...this.inner.values()].reduce((sum, log) => sum + log.commits.filter((commit) => commit.gap).length, 0);
    if (gaps) this.limits.push(`commit-gaps(${gaps})`);
  }

  private readonly rawEvents: Obj[];
  private eventList: Event[] | undefined;
  private eventNames: Map<string, Event[]> | undefined;
  private treeIndex: Map<string, TreeStep> | undefined;

  get events(): Event[] {
    if (this.eventList) return this.eventList;
    let latest = 0;
    this.eventList = this.rawEvents.map((raw, n) => {
      const full = str(raw["type"]) || str(raw["hook"]) || "(no type)";
      const body = get(raw, "payload") ?? get(raw, "event");
      const step = str(at(raw, "meta", "runtimeStageId")) || str(at(raw, "event", "runtimeStageId"));
      // Joined by step, never by arrival; a pseudo step stands where the stream then was.
      const moment = this.axis.ofStep.get(step) ?? latest;
      latest = Math.max(latest, moment);
      return {
        n, raw, step, moment,
        name: full.startsWith("agentfootprint.") ? full.slice(15) : full,
        payload: isObj(body) ? body : {},
        offsetMs: num(at(raw, "meta", "runOffsetMs")),
      };
    });
    return this.eventList;
  }

  /** Events of one name. */
  eventsNamed(name: string): Event[] {
    if (!this.eventNames) {
      this.eventNames = new Map();
      for (const event of this.events) {
        const list = this.eventNames.get(event.name);
        if (list) list.push(event);
        else this.eventNames.set(event.name, [event]);
      }
    }
    return this.eventNames.get(name) ?? [];
  }

  /** Steps of all execution trees. */
  get tree(): Map<string, TreeStep> {
    if (!this.treeIndex) {
      const inner = objs(Object.values(isObj(this.snapshot["subflowResults"]) ? this.snapshot["subflowResults"] : {}));
      this.treeIndex = flattenTrees([this.snapshot["executionTree"], ...inner.map((entry) => at(entry, "treeContext", "stageContexts"))]);
    }
    return this.treeIndex;
  }

  recorder(name: string): Json | undefined {
    return objs(this.snapshot["recorders"]).find((row) => row["name"] === name)?.["data"];
  }
}

/** Mounts are kept by subflow id (the latest) and by step; only the latter say which execution they were. */
function innerLogs(snapshot: Obj): Map<string, Log> {
  const logs = new Map<string, Log>();
  const results = snapshot["subflowResults"];
  if (!isObj(results)) return logs;
  for (const key of Object.keys(results)) {
    if (!/#\d+$/.test(key)) continue;
    const context = get(results[key], "treeContext");
    const history = get(context, "history");
    if (Array.isArray(history) && history.length) logs.set(key, new Log(key, history, get(context, "initialState")));
  }
  return logs;
}

/** Without commits the steps seen in the events make the axis, so that a live run can be watched. */
function stepsOfEvents(events: Obj[]): Json[] {
  const seen = new Set<string>();
  const commits: Json[] = [];
  for (const event of events) {
    const step = str(at(event, "meta", "runtimeStageId"));
    if (!step || seen.has(step)) continue;
    seen.add(step);
    const stageId = stageOf(step);
    commits.push({ idx: commits.length, stage: stageId, stageId, runtimeStageId: step, overwrite: {}, updates: {}, redactedPaths: [], trace: [] });
  }
  return commits;
}
