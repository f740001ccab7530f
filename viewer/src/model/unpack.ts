// The packed form of a recording: repeated values stand once in a pool and are pointed at.

import { type Json, type Obj, arr, isObj, put } from "./json.ts";
import { OpenError } from "./open-error.ts";

export const PACKED = "agentfootprint.recording.packed.v1";
const REF = "$af:ref";
const ESC = "$af:esc";

type Place = { holder: Obj | Json[]; key: string | number; from: number };

const only = (value: Json, key: string): value is Obj =>
  isObj(value) && Object.hasOwn(value, key) && Object.keys(value).length === 1;

/**
 * Resolves every reference in place. Shared values stay shared, so memory follows the packed size; no recursion, because
 * the execution tree of a long run nests once per step.
 */
export function unpack(document: Obj): Json {
  const values = arr(document["values"]);
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
      if (only(value, ESC)) assign(holder, key, value[ESC] as Json);
      else if (only(value, REF)) {
        const target = value[REF];
        if (typeof target !== "number" || !Number.isInteger(target) || target < 0 || target >= values.length)
          throw new OpenError(`This packed recording points at value ${String(target)}, but it holds ${values.length} values.`);
        if (from >= 0) uses[from]?.add(target);
        pending.push({ holder, key, from: target });
      } else enter(value, from);
    }
  };
  const pending: Place[] = [];
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
    for (let hop = 0; only(value, REF) && hop < values.length; hop++) value = values[value[REF] as number] as Json;
    return value;
  };
  for (const { holder, key, from } of pending) assign(holder, key, settled(from));
  return root["recording"] as Json;
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
