// What changed between two values, as short rows. Equal parts that are shared cost nothing.

import { type Json, isObj, same } from "./json.ts";

export interface Change {
  path: string;
  kind: "added" | "removed" | "changed" | "appended";
  before: Json | undefined;
  after: Json | undefined;
}

export function diff(before: Json | undefined, after: Json | undefined, path = "", limit = 200): Change[] {
  const out: Change[] = [];
  walk(before, after, path, out, limit);
  return out;
}

function walk(before: Json | undefined, after: Json | undefined, path: string, out: Change[], limit: number): void {
  if (out.length >= limit || before === after) return;
  if (before === undefined) out.push({ path, kind: "added", before, after });
  else if (after === undefined) out.push({ path, kind: "removed", before, after });
  else if (Array.isArray(before) && Array.isArray(after)) {
    const shared = Math.min(before.length, after.length);
    for (let i = 0; i < shared; i++) walk(before[i], after[i], `${path}[${i}]`, out, limit);
    for (let i = shared; i < after.length && out.length < limit; i++) out.push({ path: `${path}[${i}]`, kind: "appended", before: undefined, after: after[i] });
    for (let i = shared; i < before.length && out.length < limit; i++) out.push({ path: `${path}[${i}]`, kind: "removed", before: before[i], after: undefined });
  } else if (isObj(before) && isObj(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
      walk(
        Object.hasOwn(before, key) ? before[key] : undefined,
        Object.hasOwn(after, key) ? after[key] : undefined,
        path ? `${path}.${key}` : key, out, limit,
      );
  } else if (!same(before, after)) out.push({ path, kind: "changed", before, after });
}
