import { describe, expect, it, vi } from "vitest";
import { replay } from "../src/model/fold.ts";
import { type Json, same } from "../src/model/json.ts";
import { Log } from "../src/model/log.ts";
import { type Write, commit } from "./helpers.ts";

const row = (path: string, verb: string, value?: Json) => ({ segments: path.split("."), verb, value });

describe("the four verbs", () => {
  it("set, append, delete", () => {
    expect(replay([1], [row("a", "append", [2, 3])])).toEqual([1, 2, 3]);
    expect(replay("text", [row("a", "append", [2])])).toEqual([2]);
    expect(replay([1], [row("a", "append", "[REDACTED]")])).toBe("[REDACTED]");
    expect(replay({ b: 1, c: 2 }, [row("a.b", "delete")])).toEqual({ c: 2 });
    expect(replay({ c: 2 }, [row("a.x.y", "delete")])).toEqual({ c: 2 });
    expect(replay({ b: 1 }, [row("a.b", "set")])).toEqual({}); // a set without a value is a delete
    expect(replay([{ n: 1 }, 5], [row("a.0.n", "set", 2)])).toEqual([{ n: 2 }, 5]);
  });
  it("merge: objects recurse, lists unite, an empty list clears, a list under an object is spread", () => {
    expect(replay({ a: { b: 1 } }, [row("k", "merge", { a: { c: 2 } })])).toEqual({ a: { b: 1, c: 2 } });
    expect(replay([1, 2], [row("k", "merge", [2, 3, 3])])).toEqual([1, 2, 3]);
    expect(replay([{ a: 1 }], [row("k", "merge", [{ a: 1 }])])).toEqual([{ a: 1 }, { a: 1 }]);
    expect(replay([1], [row("k", "merge", [])])).toEqual([]);
    expect(replay(["x"], [row("k", "merge", { y: 1 })])).toEqual({ 0: "x", y: 1 });
  });
  it("replays one shared delta once, and again only after a row above or below", () => {
    const delta = { list: [{ a: 1 }] };
    const twice = [row("k", "merge", delta), row("k", "merge", delta)];
    expect(replay({ list: [0] }, twice)).toEqual({ list: [0, { a: 1 }] });
    expect(replay({ list: [0] }, [twice[0]!, row("k.list", "set", [9]), twice[1]!])).toEqual({ list: [9, { a: 1 }] });
    const aside = row("k.a", "merge", delta);
    expect(replay({ a: { list: [0] } }, [aside, row("k.b", "set", 1), aside])).toEqual({ a: { list: [0, { a: 1 }] }, b: 1 });
  });
  it("treats __proto__ as a key like any other", () => {
    const out = replay({}, [{ segments: ["k", "__proto__", "bad"], verb: "set", value: true }]) as object;
    expect(Object.keys(out)).toEqual(["__proto__"]);
    expect(({} as { bad?: boolean }).bad).toBeUndefined();
    expect((out as { bad?: boolean }).bad).toBeUndefined();
  });
});

/** A little random number source: the same program every time. */
const random = (seed: number) => () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;

describe("a log", () => {
  it("gives at every position and in any order what a naive fold gives", () => {
    for (let seed = 1; seed <= 30; seed++) {
      const next = random(seed);
      const pick = <T>(list: T[]): T => list[Math.floor(next() * list.length)]!;
      const commits = Array.from({ length: 40 }, (_, idx) => {
        const writes: Write[] = Array.from({ length: Math.floor(next() * 3) }, () => {
          const path = pick(["a", "b", "list", "a\u001fx", "a\u001fy"]);
          const verb = path === "list" ? pick(["append", "append", "set"]) : pick(["set", "merge", "delete"]);
          const value: Json = path === "list" ? [idx, next()] : pick<Json>([idx, { x: idx }, { y: { z: idx } }, [idx]]);
          return verb === "delete" ? [path, verb] : [path, verb, value];
        });
        // One path per family, as an encoder guarantees.
        return commit(idx, `s#${idx}`, writes.filter((write, i) => writes.findIndex((other) => other[0][0] === write[0][0]) === i));
      });
      const base: Json = { list: [-1], a: { x: 0 } };
      const naive: Json[] = [];
      const state: Record<string, Json | undefined> = { ...(base as object) };
      const reader = new Log("", commits, base);
      for (const each of reader.commits) {
        for (const key of new Set(each.rows.map((item) => item.segments[0]!))) state[key] = replay(state[key], each.rows.filter((item) => item.segments[0] === key));
        naive.push(JSON.parse(JSON.stringify(state)) as Json);
      }
      const log = new Log("", commits, base);
      for (let jump = 0; jump < 200; jump++) {
        const idx = Math.floor(next() * commits.length);
        expect(same(Object.fromEntries(log.stateAt(idx)), naive[idx]), `seed ${seed} idx ${idx}`).toBe(true);
      }
    }
  });

  it("never changes an answer that it gave", () => {
    const log = new Log("", [commit(0, "a#0", [["l", "set", [1]]]), commit(1, "b#1", [["l", "append", [2]]]), commit(2, "c#2", [["l", "append", [3]]])], {});
    const first = log.valueAt("l", 1);
    expect(log.valueAt("l", 2)).toEqual([1, 2, 3]);
    expect(first).toEqual([1, 2]);
    expect(log.valueAt("l", 0)).toEqual([1]);
  });

  it("tells who brought each element, also when a list is written anew", () => {
    const log = new Log("", [commit(0, "a#0", [["l", "append", [1]]]), commit(1, "b#1", [["l", "set", [0, 1, 2]]]), commit(2, "c#2", [["l", "set", [7]]])], { l: [0] });
    expect(log.births("l", 0).map((birth) => birth.idx)).toEqual([-1, 0]);
    expect(log.births("l", 1).map((birth) => birth.idx)).toEqual([-1, 0, 1]);
    expect(log.births("l", 2).map((birth) => birth.idx)).toEqual([2]);
  });

  it("keeps a gap where a row cannot be read and folds the rest", () => {
    const log = new Log("", [commit(0, "a#0", [["x", "set", 1], ["y", "conjure", 2]]), null, commit(2, "c#2", [["x", "set", 3]])], {});
    expect(log.commits.map((each) => each.gap)).toEqual(["unknown verb “conjure”", "this commit is not an object", ""]);
    expect(Object.fromEntries(log.stateAt(2))).toEqual({ x: 3 });
  });

  it("copies a growing list once per answer and not once per append", () => {
    const n = 5000;
    const log = new Log("", Array.from({ length: n }, (_, idx) => commit(idx, `s#${idx}`, [["h", idx ? "append" : "set", [idx, idx]]])), {});
    log.valueAt("h", n - 1);
    const copies = [vi.spyOn(Array.prototype, "concat"), vi.spyOn(Array.prototype, "slice")];
    // A jump back is what a fold from the beginning makes dear.
    const length = (log.valueAt("h", n - 2) as Json[]).length;
    const born = log.births("h", n - 1).length;
    const calls = copies.map((copy) => copy.mock.calls.filter((_, i) => (copy.mock.contexts[i] as unknown[]).length > 50).length);
    vi.restoreAllMocks();
    expect([length, born]).toEqual([2 * n - 2, 2 * n]);
    expect(Math.max(...calls)).toBeLessThan(3);
  });
});
