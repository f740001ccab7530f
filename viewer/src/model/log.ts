// One commit log and the questions asked of it. Folds are per key and move forward with the cursor, so that playing
// a run of N commits costs O(N) and not O(N²).

import { type Row, SEPARATOR, isKnownVerb, isPrefix, replay, valueIn } from "./fold.ts";
import { type Json, type Obj, arr, get, isObj, str } from "./json.ts";

/** One commit as the viewer uses it. `rows` is empty for a commit that could not be read. */
export interface Commit {
  idx: number;
  step: string;
  stageId: string;
  stage: string;
  phase: string;
  rows: Row[];
  readKeys: string[];
  redacted: string[];
  untracked: string[];
  tags: string[];
  /** Why (part of) the commit was not folded. */
  gap: string;
}

/** Where an element of a list came into the record. */
export interface Birth {
  value: Json;
  /** Commit position; -1 when it was there before the first commit. */
  idx: number;
}

export class Log {
  readonly commits: Commit[];
  readonly base: Obj;
  readonly hasBase: boolean;
  private touchIndex: Map<string, number[]> | undefined;
  private stepIndex: Map<string, number[]> | undefined;
  private readonly cursors = new Map<string, { position: number; value: Json | undefined }>();

  constructor(
    /** Step id of the mount whose inner log this is; empty for the run's own log. */
    readonly key: string,
    commits: Json[],
    base: Json | undefined,
  ) {
    this.commits = commits.map((raw, idx) => readCommit(raw, idx, key));
    this.base = isObj(base) ? base : {};
    this.hasBase = isObj(base);
  }

  /** Root key → positions of the commits that touch it. Built once. */
  private touches(): Map<string, number[]> {
    if (this.touchIndex) return this.touchIndex;
    const index = new Map<string, number[]>();
    for (const commit of this.commits)
      for (const row of commit.rows) {
        const root = row.segments[0] ?? "";
        const list = index.get(root);
        if (!list) index.set(root, [commit.idx]);
        else if (list[list.length - 1] !== commit.idx) list.push(commit.idx);
      }
    return (this.touchIndex = index);
  }

  /** Commit positions of a step. */
  commitsOf(step: string): number[] {
    if (!this.stepIndex) {
      this.stepIndex = new Map();
      for (const commit of this.commits) {
        const list = this.stepIndex.get(commit.step);
        if (list) list.push(commit.idx);
        else this.stepIndex.set(commit.step, [commit.idx]);
      }
    }
    return this.stepIndex.get(step) ?? [];
  }

  /** Every root key that exists in the base or was ever touched. */
  keys(): string[] {
    return [...new Set([...Object.keys(this.base), ...this.touches().keys()])];
  }

  touchesOf(key: string): readonly number[] {
    return this.touches().get(key) ?? [];
  }

  /** The value of a root key after commit `idx` (-1: before the first). */
  valueAt(key: string, idx: number): Json | undefined {
    const touches = this.touchesOf(key);
    const position = lastAtOrBefore(touches, idx);
    const cached = this.cursors.get(key);
    let from: number;
    let value: Json | undefined;
    if (cached && cached.position <= position) {
      from = cached.position + 1;
      value = cached.value;
    } else {
      from = this.anchor(key, touches, position);
      value = from === 0 ? get(this.base, key) : undefined;
    }
    let own = false;
    for (let i = from; i <= position; i++) {
      const rows = this.rowsOf(touches[i]!, key);
      const tail = plainTail(rows);
      if (tail && Array.isArray(value)) {
        // A list that grows is copied once per answer and not once per append; answers already given stay as they are.
        if (!own) value = value.slice();
        own = true;
        for (const item of tail) (value as Json[]).push(item);
      } else {
        value = replay(value, rows);
        own = false;
      }
    }
    this.cursors.set(key, { position, value });
    return value;
  }

  /** The last touch that fixes the whole value, so that a jump back does not fold from the beginning. */
  private anchor(key: string, touches: readonly number[], position: number): number {
    for (let i = position; i > 0; i--) {
      const first = this.rowsOf(touches[i]!, key)[0];
      if (first?.segments.length === 1 && (first.verb === "set" || first.verb === "delete")) return i;
    }
    return 0;
  }

  rowsOf(idx: number, key: string): readonly Row[] {
    return (this.commits[idx]?.rows ?? []).filter((row) => row.segments[0] === key);
  }

  /** The whole state after commit `idx`. */
  stateAt(idx: number): Map<string, Json> {
    const state = new Map<string, Json>();
    for (const key of this.keys()) {
      const value = this.valueAt(key, idx);
      if (value !== undefined) state.set(key, value);
    }
    return state;
  }

  /** A nested value after commit `idx`. */
  valueAtPath(path: readonly string[], idx: number): Json | undefined {
    return valueIn(this.valueAt(path[0] ?? "", idx), path.slice(1));
  }

  /** The last commit before `before` that wrote the key. */
  lastWriter(key: string, before: number): number {
    const touches = this.touchesOf(key);
    return touches[lastAtOrBefore(touches, before - 1)] ?? -1;
  }

  /** Whether a key's value at `idx` rests on a redacted write. */
  isRedacted(key: string, idx: number): boolean {
    const touches = this.touchesOf(key);
    for (let i = lastAtOrBefore(touches, idx); i >= 0; i--) {
      const commit = this.commits[touches[i]!]!;
      if (commit.redacted.some((path) => path === key || path.startsWith(key + SEPARATOR) || path.startsWith(`${key}.`))) return true;
      if (commit.rows.some((row) => row.segments.length === 1 && row.segments[0] === key && row.verb === "set")) return false;
    }
    return false;
  }

  /** The elements of a list key after `idx` and the commit that brought each. */
  births(key: string, idx: number): Birth[] {
    let value: Json | undefined = get(this.base, key);
    let births: Birth[] = arr(value).map((item) => ({ value: item, idx: -1 }));
    let own = false;
    for (const touch of this.touchesOf(key)) {
      if (touch > idx) break;
      const rows = this.rowsOf(touch, key);
      const tail = plainTail(rows);
      if (tail && Array.isArray(value)) {
        if (!own) value = value.slice();
        own = true;
        for (const item of tail) {
          (value as Json[]).push(item);
          births.push({ value: item, idx: touch });
        }
        continue;
      }
      own = false;
      const before = value;
      value = replay(before, rows);
      if (!Array.isArray(value)) births = [];
      else if (Array.isArray(before) && isPrefix(before, value))
        for (const item of value.slice(before.length)) births.push({ value: item, idx: touch });
      else births = value.map((item) => ({ value: item, idx: touch }));
    }
    return births;
  }
}

/** The tail, when all that a commit does to a key is to append to it as a whole. */
function plainTail(rows: readonly Row[]): Json[] | undefined {
  const [row] = rows;
  return rows.length === 1 && row!.verb === "append" && row!.segments.length === 1 && Array.isArray(row!.value) ? row!.value : undefined;
}

function lastAtOrBefore(sorted: readonly number[], limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function readCommit(raw: Json, idx: number, logKey: string): Commit {
  const blank: Commit = {
    idx, step: "", stageId: "", stage: "", phase: "", rows: [], readKeys: [], redacted: [], untracked: [], tags: [], gap: "",
  };
  if (!isObj(raw)) return { ...blank, gap: "this commit is not an object" };
  const texts = (key: string): string[] => arr(raw[key]).filter((item): item is string => typeof item === "string");
  const commit: Commit = {
    ...blank,
    stageId: str(raw["stageId"]),
    stage: str(raw["stage"]) || str(raw["stageId"]),
    // Older records leave the step of a seed empty: it belongs to the mount.
    step: str(raw["runtimeStageId"]) || logKey,
    phase: str(raw["phase"]),
    redacted: texts("redactedPaths"),
    untracked: texts("untrackedSources"),
    tags: texts("tags"),
  };
  const reads = new Set<string>();
  for (const row of arr(raw["trace"])) {
    const path = str(get(row, "path"));
    const verb = str(get(row, "verb"));
    if (path === "" || !isKnownVerb(verb)) {
      commit.gap = path === "" ? "a row without a path" : `unknown verb “${verb.slice(0, 40)}”`;
      continue;
    }
    for (const key of arr(get(row, "readKeys"))) if (typeof key === "string") reads.add(key);
    const segments = path.split(SEPARATOR);
    commit.rows.push({ segments, verb, value: valueIn(verb === "merge" ? raw["updates"] : raw["overwrite"], segments) });
  }
  commit.readKeys = [...reads];
  return commit;
}
