import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { Subject } from "../src/lens.ts";
import { servedAt } from "../src/model/calls.ts";
import { diff } from "../src/model/diff.ts";
import { dispositions, headline } from "../src/model/findings.ts";
import { flowOf, flowOfSteps } from "../src/model/flow.ts";
import type { Json } from "../src/model/json.ts";
import { lightsAt } from "../src/model/lit.ts";
import { OpenError, openText, openValue } from "../src/model/parse.ts";
import { Recording } from "../src/model/recording.ts";
import { sliceOfKey } from "../src/model/slice.ts";
import { tell } from "../src/model/story.ts";
import { lineage } from "../src/model/tools.ts";
import { answerClaim, boardOf } from "../src/model/why.ts";

const file = join(mkdtempSync(join(tmpdir(), "lens-fuzz-")), "r.json");
execFileSync(process.execPath, [fileURLToPath(new URL("../scripts/synthetic.mjs", import.meta.url)), "3", file], { stdio: "ignore" });
const text = readFileSync(file, "utf8");

/** Everything that the views ask of a recording. */
function look(document: Json): void {
  const rec = new Recording(openValue(document));
  const subject = new Subject(rec);
  for (const call of subject.calls) servedAt(rec, subject.calls, call);
  const claim = answerClaim(rec, subject.calls);
  if (claim) for (const card of boardOf(rec, subject.calls, subject.tools, claim).cards) if (card.next) boardOf(rec, subject.calls, subject.tools, card.next);
  lineage(subject.tools);
  dispositions(rec);
  headline(rec, subject.findings);
  void [subject.overview, subject.summaries];
  tell(rec);
  const flow = flowOf(rec.structure, []) ?? flowOfSteps(rec);
  for (const moment of rec.axis.moments) {
    lightsAt(rec, subject.runs, flow, moment.i);
    for (const [key, value] of moment.log.stateAt(moment.idx)) diff(moment.log.valueAt(key, moment.idx - 1), value);
  }
  for (const key of rec.root.keys()) sliceOfKey(rec, rec.root, key, rec.root.commits.length);
}

/// Proves REC-173.
it("a damaged recording is shown as far as it goes, or refused in a sentence; nothing else happens", () => {
  look(JSON.parse(text) as Json);
  let seed = 7;
  const next = (n: number): number => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) % n;
  const junk = (): Json => ([null, 0, -1, 1e308, true, "", "x", "\ud800", "__proto__", [], [null], [[]], {}, { a: null }, { $n: "x" }] as Json[])[next(15)]!;
  for (let round = 0; round < 150; round++) {
    const document = JSON.parse(text) as Json;
    for (let hits = 0; hits < 12; hits++) {
      // A walk from the top to a random place, which is then overwritten or removed.
      let here: Json = document;
      for (let depth = 0; depth < 9 && here !== null && typeof here === "object"; depth++) {
        const keys = Object.keys(here);
        if (!keys.length) break;
        const key = keys[next(keys.length)]!;
        const holder = here as Record<string, Json>;
        const child = holder[key] as Json;
        if (depth > 1 && next(3) === 0) {
          if (next(4) === 0) delete holder[key];
          else holder[key] = junk();
          break;
        }
        here = child;
      }
    }
    try {
      look(document);
    } catch (error) {
      expect(error, `round ${round}: ${error instanceof Error ? error.stack : String(error)}`).toBeInstanceOf(OpenError);
    }
  }
}, 120_000);

it("every cut of a file is refused in a sentence", () => {
  for (let end = 0; end < text.length; end += 997)
    try {
      openText(text.slice(0, end));
      expect.unreachable(`opened after ${end} characters`);
    } catch (error) {
      expect(error).toBeInstanceOf(OpenError);
    }
}, 60_000);
