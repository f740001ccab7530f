import { describe, expect, it } from "vitest";
import { diff } from "../src/model/diff.ts";
import { LiveRun } from "../src/model/live.ts";
import { sha256Hex } from "../src/model/sha256.ts";
import { brief, excerpt, pieces, plain } from "../src/model/text.ts";
import { rank, telling } from "../src/model/words.ts";
import { commit, document, event } from "./helpers.ts";

describe("hostile text", () => {
  it("names what would act or hide, and leaves the rest", () => {
    expect(plain("a\u001b[31mred\u202eevil\u0000\ud800\u2066\ufeff\u{e0041}")).toBe("a‹ESC›[31mred‹RLO›evil‹NUL›‹U+D800›‹U+2066›‹BOM›‹U+E0041›");
    expect(pieces("tab\tand\nline é 漢 👩‍👩").filter((piece) => piece.mark).map((piece) => piece.text)).toEqual(["U+200D"]);
    expect(plain("emoji 👍 stays")).toBe("emoji 👍 stays");
    expect(pieces("")).toEqual([]);
  });
  it("reads no further than it shows", () => {
    const huge = "x".repeat(10_000_000);
    expect(excerpt(huge, 50)).toHaveLength(51);
    expect(brief({ deep: [huge, huge] }, 80).length).toBeLessThan(90);
    const trap = { first: huge };
    Object.defineProperty(trap, "second", { enumerable: true, get: () => expect.unreachable("read beyond what is shown") });
    expect(brief(trap, 40)).toMatch(/…$/);
  });
});

describe("words", () => {
  it("count when they tell something, as the command line has it", () => {
    expect([...telling("The order A-1001 ships within 14 days, about 22.5 °C, with your refund.")].sort()).toEqual(["14", "22.5", "a-1001", "days", "order", "refund", "ships", "within"]);
  });
  it("weigh more when few pieces carry them, and less when the question had them", () => {
    const ranked = rank(["the label costs 4.90", "order A-1001", "nothing"], (text) => text, "Label 4.90 for order A-1001", "order A-1001?");
    expect(ranked.map((row) => [row.item, row.shared])).toEqual([["the label costs 4.90", ["4.90", "label"]], ["order A-1001", ["a-1001", "order"]]]);
    expect(ranked[0]!.score).toBeCloseTo(2 / 2.2);
  });
});

describe("digests and diffs", () => {
  it("hash as published", () => {
    expect(sha256Hex("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect(sha256Hex("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for (const length of [55, 56, 63, 64, 65, 119, 120]) expect(sha256Hex("é".repeat(length))).toHaveLength(64);
  });
  it("name what was added, changed, appended and removed", () => {
    const rows = diff({ a: 1, b: [1, 2], c: { d: 1 } }, { a: 2, b: [1, 2, 3], c: {} }, "k");
    expect(rows.map((row) => `${row.kind} ${row.path}`)).toEqual(["changed k.a", "appended k.b[2]", "removed k.c.d"]);
    expect(diff([1], [1])).toEqual([]);
    expect(diff(undefined, null)[0]!.kind).toBe("added");
  });
});

describe("a live run", () => {
  it("shows each event once, whether the document or the stream had it first", () => {
    const run = new LiveRun();
    const row = (n: number) => event("stream.token", "call-llm#1", { n });
    run.hear(JSON.stringify(row(0)), "0");
    run.hear(JSON.stringify(row(1)), "1");
    expect(run.opened().events).toHaveLength(2);
    run.take(document([commit(0, "seed#0")], { events: [row(0)] }));
    expect(run.opened().events).toHaveLength(2);
    run.take(document([commit(0, "seed#0")], { events: [row(0), row(1), row(2)] }));
    run.hear(JSON.stringify(row(2)), "2");
    run.hear(JSON.stringify(row(3)), "");
    expect(run.opened().events.map((each) => (each["payload"] as { n: number }).n)).toEqual([0, 1, 2, 3]);
    expect(run.hear(JSON.stringify(event("agent.turn_end", "final#9", {})), "4")).toBe(true);
  });
  it("is shown before there is anything to show", () => {
    expect(new LiveRun().opened()).toMatchObject({ eventsOnly: true, events: [] });
  });
});
