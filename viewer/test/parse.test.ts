import { describe, expect, it } from "vitest";
import { OpenError, openText } from "../src/model/parse.ts";
import { commit, document, event } from "./helpers.ts";

const said = (text: string): string => {
  try {
    openText(text);
  } catch (error) {
    expect(error).toBeInstanceOf(OpenError);
    return (error as Error).message;
  }
  return "(opened)";
};
const whole = (): string => JSON.stringify(document([commit(0, "seed#0", [["a", "set", 1]])]));

describe("opening", () => {
  it("reads a bare recording, its envelope, the older name of the structure and a byte order mark", () => {
    const bare = document([commit(0, "seed#0")]);
    const { structure, ...older } = bare;
    for (const text of [
      JSON.stringify(bare), `\ufeff${JSON.stringify(bare)}`, JSON.stringify({ ...older, blueprint: structure! }),
      JSON.stringify({ format: "agentfootprint.recording.v1", run: { runId: "r", complete: true }, recording: bare }),
    ]) {
      const opened = openText(text);
      expect(opened.structure).toEqual({ id: "seed", name: "Seed", type: "stage" });
      expect(opened.limits).not.toContain("no-structure");
    }
  });

  it("says in one sentence what is wrong", () => {
    expect(said("")).toBe("This file is empty.");
    expect(said("hello")).toMatch(/not JSON/);
    expect(said("PK\u0003\u0004")).toMatch(/not JSON.*zip/);
    expect(said("[1]")).toBe("This JSON is a list, not a recording.");
    expect(said("7")).toBe("This JSON is number, not a recording.");
    expect(said('{"a":1}')).toBe("This JSON is not a recording: it has no `snapshot`.");
    expect(said('{"snapshot":{}}')).toMatch(/`snapshot.commitLog`/);
    expect(said('{"snapshot":{"commitLog":[]}}')).toMatch(/`snapshot.executionTree`/);
    expect(said('{"format":"agentfootprint.recording.v2"}')).toMatch(/“agentfootprint.recording.v2”, which is newer/);
    expect(said('{"format":"agentfootprint.recording.packed.v9","values":[]}')).toMatch(/newer/);
    expect(said('{"format":"agentfootprint.audit/1"}')).toMatch(/not a recording/);
    expect(said('{"format":"har"}')).toMatch(/foreign format “har”/);
    expect(said('{"snapshot": nope}')).toMatch(/not valid JSON/);
  });

  it("finds every cut of a recording to be cut off", () => {
    const text = whole();
    for (let end = 1; end < text.length; end += 7) expect(said(text.slice(0, end)), text.slice(0, end)).toMatch(/cut off|not valid JSON/);
    expect(said(text.slice(0, -1))).toMatch(/cut off/);
    expect(said(text.slice(0, text.indexOf("Seed") + 2))).toMatch(/cut off/);
  });

  it("lists what the file cannot say", () => {
    const opened = openText(JSON.stringify({ format: "agentfootprint.recording.v1", run: { complete: false, droppedEvents: 3 }, recording: { snapshot: { commitLog: [], executionTree: {} }, events: [1, {}] } }));
    expect(opened.limits).toEqual(["events-unreadable(1)", "events-dropped(3)", "not-complete", "no-structure", "no-fold-base", "no-boundaries", "no-control-deps", "no-narrative"]);
  });

  it("opens an event file whose last line is half written", () => {
    const lines = [event("agent.turn_start", "seed#0", {}), event("stream.llm_start", "call-llm#1", {})].map((row) => JSON.stringify(row));
    expect(openText(`${lines.join("\n")}\n{"type":"agentf`).events).toHaveLength(2);
  });
});

describe("the packed form", () => {
  const packed = (values: unknown[], recording: unknown): string => JSON.stringify({ format: "agentfootprint.recording.packed.v1", values, recording });
  it("resolves references within references and shares them", () => {
    const opened = openText(packed(["text", { t: { "$af:ref": 0 } }], { snapshot: { commitLog: [{ "$af:ref": 1 }, { "$af:ref": 1 }], executionTree: {} }, events: [] }));
    const [a, b] = opened.snapshot["commitLog"] as unknown[];
    expect(a).toEqual({ t: "text" });
    expect(a).toBe(b);
  });
  it("reads an escaped object literally", () => {
    const opened = openText(packed([], { snapshot: { commitLog: [], executionTree: {}, x: { "$af:esc": { "$af:ref": 0 } } }, events: [] }));
    expect(opened.snapshot["x"]).toEqual({ "$af:ref": 0 });
  });
  const packed2 = (values: unknown[], events: unknown): string =>
    JSON.stringify({ format: "agentfootprint.recording.packed.v2", values, recording: { snapshot: { commitLog: [], executionTree: {} }, events } });
  const list = (base: number, take: number, ...tail: unknown[]): unknown => ({ "$af:list": [base, take, ...tail] });
  const ref = (n: number): unknown => ({ "$af:ref": n });
  it("puts together lists that begin as others, wherever their bases stand", () => {
    const values = [list(1, 3, { b: ref(2) }), list(2, 2, "x"), [1, 2, 3], ref(0), list(0, 0)];
    const opened = openText(packed2(values, [{ type: "x", a: ref(0), b: ref(3), c: list(3, 4, ref(4)), d: ref(1) }]));
    const [event] = opened.events as Record<string, unknown>[];
    expect(event).toEqual({ type: "x", a: [1, 2, "x", { b: [1, 2, 3] }], b: [1, 2, "x", { b: [1, 2, 3] }], c: [1, 2, "x", { b: [1, 2, 3] }, []], d: [1, 2, "x"] });
    expect(event!["a"]).toBe(event!["b"]);
  });
  it("escapes the keys of one map, and reads what stands in it as usual", () => {
    const opened = openText(packed2(["s"], [{ type: "x", a: { "$af:esc": { "$af:ref": 9, b: ref(0) } } }]));
    expect(opened.events[0]).toEqual({ type: "x", a: { "$af:ref": 9, b: "s" } });
  });
  it("takes no escaped map of the pool for a pointer", () => {
    for (const version of ["v1", "v2"]) {
      const text = packed2([{ "$af:esc": { "$af:ref": 1 } }, "s"], [{ type: "x", a: ref(0) }]).replace("packed.v2", `packed.${version}`);
      expect(openText(text).events[0]).toEqual({ type: "x", a: { "$af:ref": 1 } });
    }
  });
  it("refuses damaged lists by number", () => {
    expect(said(packed2([[1]], [list(1, 0)]))).toMatch(/value 1, but it holds 1/);
    expect(said(packed2([[1]], [list(0, 2)]))).toMatch(/takes 2 items of value 0, which has 1/);
    expect(said(packed2([[1]], [list(0, -1)]))).toMatch(/takes -1 items of value 0/);
    expect(said(packed2([{}], [list(0, 0)]))).toMatch(/value 0, which is no list/);
    expect(said(packed2([list(1, 0), list(0, 0)], []))).toMatch(/contains itself/);
    expect(said(packed2(["s"], [{ "$af:list": 7 }]))).toMatch(/value undefined/);
  });
  it("opens a chain of lists as long as a long run", () => {
    const values: unknown[] = [[0]];
    for (let i = 0; i < 3_000; i++) values.push(list(i, i + 1, i + 1));
    const opened = openText(packed2(values, [{ type: "x", all: ref(3_000) }]));
    expect((opened.events[0] as { all: unknown[] }).all).toHaveLength(3_001);
  });
  it("refuses a reference out of range and a value that contains itself", () => {
    expect(said(packed([], { snapshot: { "$af:ref": 4 } }))).toMatch(/value 4, but it holds 0/);
    expect(said(packed([[{ "$af:ref": 1 }], [{ "$af:ref": 0 }]], {}))).toMatch(/contains itself/);
  });
  it("does not recurse: a pool as deep as a long run opens", () => {
    const values: unknown[] = ["end"];
    for (let i = 0; i < 30_000; i++) values.push({ next: { "$af:ref": i } });
    expect(openText(packed(values, { snapshot: { commitLog: [], executionTree: { "$af:ref": 30_000 } }, events: [] })).packed).toBe(true);
  });
});
