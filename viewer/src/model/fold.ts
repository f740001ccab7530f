// What a commit does to a value: the four verbs.

import { type Json, type Obj, copy, isObj, put, same } from "./json.ts";

export const SEPARATOR = "\u001f";

/** A row of a commit's trace, its path split. */
export interface Row {
  segments: string[];
  verb: string;
  /** What the commit recorded at the path, from `overwrite` or `updates`; undefined when there is nothing. */
  value: Json | undefined;
}

export const isKnownVerb = (verb: string): boolean =>
  verb === "set" || verb === "append" || verb === "merge" || verb === "delete";

/** Reads a nested value; arrays are entered by index. */
export function valueIn(root: Json | undefined, segments: readonly string[]): Json | undefined {
  let here = root;
  for (const key of segments) {
    if (Array.isArray(here)) here = /^\d+$/.test(key) ? here[Number(key)] : undefined;
    else if (isObj(here) && Object.hasOwn(here, key)) here = here[key];
    else return undefined;
  }
  return here;
}

/** Replays the rows of one commit that touch one root key. Returns the new value; the old one is never changed. */
export function replay(value: Json | undefined, rows: readonly Row[]): Json | undefined {
  let here = value;
  // Merge rows of one path share one delta: it is replayed once, and again only after a row above or below it.
  const merged = new Set<string>();
  for (const row of rows) {
    const inner = row.segments.slice(1);
    const id = inner.join(SEPARATOR);
    if (row.verb === "merge") {
      if (merged.has(id)) continue;
      if (row.value !== undefined) here = change(here, inner, (old) => merge(old, row.value as Json));
      touch(merged, id);
      merged.add(id);
    } else {
      if (row.verb === "append") here = change(here, inner, (old) => append(old, row.value));
      else if (row.verb === "delete" || row.value === undefined) here = remove(here, inner);
      else here = change(here, inner, () => row.value as Json);
      merged.delete(id);
      touch(merged, id);
    }
  }
  return here;
}

function touch(merged: Set<string>, id: string): void {
  for (const other of merged)
    if (other !== id && (id === "" || other === "" || other.startsWith(id + SEPARATOR) || id.startsWith(other + SEPARATOR)))
      merged.delete(other);
}

function append(old: Json | undefined, tail: Json | undefined): Json | undefined {
  if (Array.isArray(old) && Array.isArray(tail)) return tail.length ? old.concat(tail) : old;
  return tail === undefined ? old : tail;
}

function merge(old: Json | undefined, delta: Json): Json {
  if (Array.isArray(delta)) {
    if (delta.length === 0 || !Array.isArray(old)) return delta;
    const out: Json[] = [];
    const seen = new Set<Json>();
    for (const item of [...old, ...delta]) {
      const scalar = item === null || typeof item !== "object";
      if (scalar && seen.has(item)) continue;
      if (scalar) seen.add(item);
      out.push(item);
    }
    return out;
  }
  if (!isObj(delta)) return delta;
  const base: Obj = Array.isArray(old) ? spread(old) : isObj(old) ? copy(old) : {};
  for (const key of Object.keys(delta))
    put(base, key, merge(Object.hasOwn(base, key) ? base[key] : undefined, delta[key] as Json));
  return base;
}

const spread = (list: Json[]): Obj => Object.fromEntries(list.map((item, index) => [String(index), item]));

function change(value: Json | undefined, path: readonly string[], act: (old: Json | undefined) => Json | undefined): Json | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return act(value);
  if (Array.isArray(value) && /^\d+$/.test(key)) {
    const list = value.slice();
    list[Number(key)] = change(value[Number(key)], rest, act) ?? null;
    return list;
  }
  const out: Obj = isObj(value) ? copy(value) : {};
  const next = change(Object.hasOwn(out, key) ? out[key] : undefined, rest, act);
  if (next === undefined) delete out[key];
  else put(out, key, next);
  return out;
}

function remove(value: Json | undefined, path: readonly string[]): Json | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return undefined;
  if (valueIn(value, path) === undefined) return value;
  if (Array.isArray(value)) {
    const list = value.slice();
    list[Number(key)] = remove(value[Number(key)], rest) ?? null;
    return list;
  }
  const out = copy(value as Obj);
  const next = remove(out[key], rest);
  if (next === undefined) delete out[key];
  else put(out, key, next);
  return out;
}

/** Whether `list` begins with all of `start`: an append written as a whole. */
export const isPrefix = (start: Json[], list: Json[]): boolean =>
  start.length <= list.length && start.every((item, index) => same(item, list[index]));
