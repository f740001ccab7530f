// The packed form of a recording: repeated values stand once in a pool and are pointed at, and a list that begins as
// another one says so.

import { type Json, type Obj, arr, isObj, put } from "./json.ts";
import { OpenError } from "./open-error.ts";

const PACKED_V1 = "agentfootprint.recording.packed.v1";
const PACKED_V2 = "agentfootprint.recording.packed.v2";
const REF = "$af:ref";
const ESC = "$af:esc";
const LIST = "$af:list";
/** Items of all lists together; a page holds no more. */
const MAX_ITEMS = 50_000_000;

export const isPacked = (format: string): boolean => format === PACKED_V1 || format === PACKED_V2;

type Place = { holder: Obj | Json[]; key: string | number; from: number };
/** A list of which only the items after its beginning are there yet. */
type Begun = { list: Json[]; base: number; take: number };

const only = (value: Json, key: string): value is Obj =>
  isObj(value) && Object.hasOwn(value, key) && Object.keys(value).length === 1;

/**
 * Resolves every reference in place. Shared values stay shared, so memory follows the packed size; no recursion, because
 * the execution tree of a long run nests once per step.
 */
export function unpack(document: Obj): Json {
  const values = arr(document["values"]);
  const lists = document["format"] === PACKED_V2;
  const uses: Set<number>[] = values.map(() => new Set());
  const root: Obj = { recording: document["recording"] ?? null };
  const work: Place[] = [];
  const enter = (value: Json, from: number): void => {
    if (Array.isArray(value)) for (let i = 0; i < value.length; i++) work.push({ holder: value, key: i, from });
    else if (isObj(value)) for (const key of Object.keys(value)) work.push({ holder: value, key, from });
  };
  // The pool first: an entry may itself be written as an escape or point at another entry.
  const run = (): void => {
    for (let place = work.pop(); place; place = work.pop()) {
      const { holder, key, from } = place;
      const value = (holder as Obj)[key as string] as Json;
      if (only(value, ESC)) {
        const content = value[ESC] as Json;
        assign(holder, key, content);
        literal.add(content);
        // Version 1 escapes all that is in it, version 2 the keys of one map.
        if (lists) enter(content, from);
      } else if (lists && only(value, LIST)) {
        const [base, take, ...tail] = arr(value[LIST]);
        if (typeof base !== "number" || !Number.isInteger(base) || base < 0 || base >= values.length)
          throw new OpenError(`This packed recording points at value ${String(base)}, but it holds ${values.length} values.`);
        if (typeof take !== "number" || !Number.isInteger(take) || take < 0)
          throw new OpenError(`This packed recording is damaged: a list takes ${String(take)} items of value ${base}.`);
        if (from >= 0) uses[from]?.add(base);
        assign(holder, key, tail);
        begun.set(tail, { list: tail, base, take });
        enter(tail, from);
      } else if (only(value, REF)) {
        const target = value[REF];
        if (typeof target !== "number" || !Number.isInteger(target) || target < 0 || target >= values.length)
          throw new OpenError(`This packed recording points at value ${String(target)}, but it holds ${values.length} values.`);
        if (from >= 0) uses[from]?.add(target);
        pending.push({ holder, key, from: target });
      } else enter(value, from);
    }
  };
  const pending: Place[] = [];
  const begun = new Map<Json[], Begun>();
  /** What stood in an escape: no pointer, whatever it looks like. */
  const literal = new Set<Json>();
  for (let i = 0; i < values.length; i++) {
    work.push({ holder: values, key: i, from: i });
    run();
  }
  refuseLoops(uses);
  work.push({ holder: root, key: "recording", from: -1 });
  run();
  const settled = (index: number): Json => {
    // A pool entry that is only a pointer was replaced last of all, so follow it here.
    let value = values[index] as Json;
    for (let hop = 0; only(value, REF) && !literal.has(value) && hop < values.length; hop++) value = values[value[REF] as number] as Json;
    return value;
  };
  for (const { holder, key, from } of pending) assign(holder, key, settled(from));
  complete(begun, settled);
  return root["recording"] as Json;
}

/** Puts the beginnings before the items, those of a list's base first. */
function complete(begun: Map<Json[], Begun>, settled: (index: number) => Json): void {
  let items = 0;
  for (const first of [...begun.values()]) {
    const stack = [first];
    for (let job = stack.at(-1); job; job = stack.at(-1)) {
      const base = settled(job.base);
      if (!Array.isArray(base)) throw new OpenError(`This packed recording is damaged: a list begins as value ${job.base}, which is no list.`);
      const before = begun.get(base);
      if (before && begun.has(job.list)) {
        stack.push(before);
        continue;
      }
      stack.pop();
      if (!begun.delete(job.list)) continue;
      if (job.take > base.length)
        throw new OpenError(`This packed recording is damaged: a list takes ${job.take} items of value ${job.base}, which has ${base.length}.`);
      items += job.take;
      if (items > MAX_ITEMS) throw new OpenError("This packed recording is too large for this page; ask the command line.");
      const own = job.list.splice(0);
      for (let i = 0; i < job.take; i++) job.list.push(base[i] as Json);
      for (const item of own) job.list.push(item);
    }
  }
}

function assign(holder: Obj | Json[], key: string | number, value: Json): void {
  if (Array.isArray(holder)) holder[key as number] = value;
  else put(holder, key as string, value);
}

/** A value that contains itself has no text; found by depth-first marks over the pool. */
function refuseLoops(uses: Set<number>[]): void {
  const state = new Uint8Array(uses.length);
  for (let start = 0; start < uses.length; start++) {
    if (state[start]) continue;
    const stack: { index: number; left: number[] }[] = [{ index: start, left: [...(uses[start] ?? [])] }];
    state[start] = 1;
    while (stack.length) {
      const top = stack[stack.length - 1]!;
      const next = top.left.pop();
      if (next === undefined) {
        state[top.index] = 2;
        stack.pop();
      } else if (state[next] === 1) throw new OpenError(`This packed recording is damaged: value ${next} contains itself.`);
      else if (!state[next]) {
        state[next] = 1;
        stack.push({ index: next, left: [...(uses[next] ?? [])] });
      }
    }
  }
}
