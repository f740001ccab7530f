// End to end, in a real browser, against the built page.
//   npm run e2e                      the checks that need no recordings
//   npm run e2e -- DIR [DIR…]        and every recording*.json below these folders, in every view
// CHROMIUM names the browser (default /usr/bin/chromium); SHOTS a folder for pictures.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { LONG, hostile } from "./hostile.mjs";
import { PAGE, embed, launch, tab } from "./page.mjs";

const VIEWS = ["call", "state", "tools", "why", "findings", "story", "events"];
const temp = mkdtempSync(join(tmpdir(), "lens-run-"));
const shots = process.env.SHOTS;
if (shots) mkdirSync(shots, { recursive: true });

const synthetic = (loops) => {
  const file = join(temp, `synthetic-${loops}.json`);
  execFileSync(process.execPath, [fileURLToPath(new URL("../scripts/synthetic.mjs", import.meta.url)), String(loops), file], { stdio: "ignore" });
  return readFileSync(file, "utf8");
};
const shown = (page) => page.waitForSelector(".workspace", { timeout: 60_000 });
const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
};

/** Opens each view: it has content, and no part of it failed. */
async function everyView(page, check = async () => {}) {
  for (const view of VIEWS) {
    await page.locator(`#tab-${view}`).click();
    await page.locator("#view > *").first().waitFor();
    assert.equal(await page.locator(".failed[role=alert]").count(), 0, `a part failed while “${view}” was shown: ${await page.locator(".failed[role=alert]").allTextContents()}`);
    const text = (await page.locator("#view").innerText()).trim();
    assert.ok(text.length > 10, `“${view}” is blank`);
    await check(view, text);
  }
}

async function moveAround(page) {
  await press(page, "Home", "ArrowRight", "ArrowRight", "g", "ArrowRight", "ArrowRight", "]", "[", "End", "ArrowLeft", "g", "End");
}

async function server(routes) {
  const made = createServer((request, answer) => {
    const route = routes[new URL(request.url, "http://x").pathname];
    if (route) route(answer, request);
    else answer.writeHead(404).end();
  });
  await new Promise((done) => made.listen(0, "127.0.0.1", done));
  return { base: `http://127.0.0.1:${made.address().port}`, close: () => (made.closeAllConnections(), made.close()) };
}
const send = (type, body) => (answer) => answer.writeHead(200, { "content-type": type }).end(body);
const servePage = (answer) => send("text/html; charset=utf-8", readFileSync(PAGE))(answer);

const small = synthetic(3);
const checks = {
  async "a recording inside the page: every view, no error, no request"(browser) {
    const { page, trouble, close } = await tab(browser);
    await page.goto(embed(small));
    await shown(page);
    await everyView(page);
    await moveAround(page);
    assert.deepEqual(trouble, []);
    await close();
  },

  async "the cursor means the same in every part"(browser) {
    const { page, close } = await tab(browser);
    await page.goto(embed(small));
    await shown(page);
    await press(page, "Home");
    await page.locator("#tab-state").click();
    assert.match(await page.locator(".where").innerText(), /before the first loop/);
    assert.match(await page.locator(".box.current").innerText(), /Initialize/);
    await press(page, "]");
    await page.locator(".where b", { hasText: "loop 1 of 3" }).waitFor();
    await page.locator(".box.current", { hasText: "Injection Engine" }).waitFor();
    await press(page, "End", "[", "[");
    await page.locator(".where b", { hasText: "loop 2 of 3" }).waitFor();
    await page.locator(".rail-row.lit", { hasText: "Loop 2" }).waitFor();
    await page.waitForTimeout(400);
    const link = page.url();
    await page.reload();
    await shown(page);
    assert.equal(page.url(), link);
    assert.match(await page.locator(".where").innerText(), /loop 2 of 3/);
    await close();
  },

  async "hostile text is shown and does nothing"(browser) {
    const { page, trouble, close } = await tab(browser);
    const text = hostile();
    await page.goto(embed(text));
    await shown(page);
    await everyView(page);
    await moveAround(page);
    await page.locator("#tab-state").click();
    for (const key of await page.locator(".state-key > .j-toggle").all()) await key.click();
    await page.locator("#tab-call").click();
    assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
    assert.equal(await page.evaluate(() => ({}).polluted), undefined);
    assert.equal(await page.locator("img, iframe, a[href^=javascript], script[src]").count(), 0);
    assert.ok((await page.locator(".ctl", { hasText: "ESC" }).count()) > 0, "control characters are named");
    assert.ok((await page.locator(".ctl", { hasText: "RLO" }).count()) > 0, "direction marks are named");
    await page.locator(".more-line", { hasText: new RegExp(`of ${LONG / 1_000_000},\\d{3},\\d{3} characters`) }).first().waitFor();
    const size = await page.evaluate(() => document.documentElement.innerHTML.length);
    assert.ok(size < 3_000_000, `a 10 MB text is shown in parts, the page holds ${size} characters`);
    assert.deepEqual(trouble, []);
    await close();
  },

  async "a file that is no recording gets one clear sentence"(browser) {
    const cases = { "": /is empty/, "hello": /not JSON/, '{"a":1}': /no `snapshot`/, '{"format":"agentfootprint.recording.v7"}': /newer than this viewer/, [small.slice(0, 5000)]: /cut off/ };
    const { page, trouble, close } = await tab(browser);
    await page.goto(PAGE.href);
    let n = 0;
    for (const [text, expected] of Object.entries(cases)) {
      const file = join(temp, `case-${n++}.json`);
      writeFileSync(file, text);
      await page.setInputFiles("[data-testid=file]", file);
      await page.locator("[role=alert]", { hasText: expected }).waitFor({ timeout: 10_000 });
    }
    writeFileSync(join(temp, "good.json"), small);
    await page.setInputFiles("[data-testid=file]", join(temp, "good.json"));
    await shown(page);
    assert.deepEqual(trouble, []);
    await close();
  },

  async "a dropped file opens"(browser) {
    const { page, close } = await tab(browser);
    await page.goto(PAGE.href);
    const data = await page.evaluateHandle((text) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text], "dropped.json"));
      return transfer;
    }, small);
    await page.dispatchEvent(".app", "drop", { dataTransfer: data });
    await shown(page);
    assert.match(await page.locator(".header").innerText(), /dropped\.json/);
    await close();
  },

  async "?src= loads from the same origin and from nowhere else"(browser) {
    const own = await server({ "/": servePage, "/r.json": send("application/json", small) });
    const other = await server({ "/r.json": send("application/json", small) });
    const { page, close } = await tab(browser);
    await page.goto(`${own.base}/?src=r.json`);
    await shown(page);
    for (const bad of [`${other.base}/r.json`, "javascript:1", "data:application/json,{}"]) {
      await page.goto(`${own.base}/?src=${encodeURIComponent(bad)}`);
      await page.locator("[role=alert]", { hasText: "own origin" }).waitFor();
    }
    await close();
    own.close();
    other.close();
  },

  async "a live run is followed event by event and then in full"(browser) {
    const whole = JSON.parse(small);
    let ready = false;
    let stream;
    const live = await server({
      "/": servePage,
      "/recording.json": (answer) => (ready ? send("application/json", small)(answer) : answer.writeHead(404).end()),
      "/events": (answer) => {
        answer.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
        answer.flushHeaders();
        stream = answer;
      },
    });
    const { page, close } = await tab(browser);
    await page.goto(`${live.base}/?live`);
    while (!stream) await page.waitForTimeout(30);
    const half = whole.events.findIndex((event) => event.type.endsWith("tool_end")) + 1;
    whole.events.slice(0, half).forEach((event, n) => stream.write(`id: ${n}\ndata: ${JSON.stringify(event)}\n\n`));
    await shown(page);
    await page.locator(".chip.live", { hasText: "live" }).waitFor();
    await page.locator(".header .chip", { hasText: "not ended yet" }).waitFor();
    await page.locator("#tab-story").click();
    await page.locator(".story-line", { hasText: "The tool returns." }).waitFor();
    ready = true;
    whole.events.slice(half).forEach((event, n) => stream.write(`id: ${half + n}\ndata: ${JSON.stringify(event)}\n\n`));
    stream.write("event: done\ndata: {}\n\n");
    await page.locator(".chip.live", { hasText: "ended" }).waitFor();
    await page.locator(".header .chip", { hasText: "answered" }).waitFor();
    await page.locator("#tab-events").click();
    await page.locator(".view-head", { hasText: String(whole.events.length) }).waitFor();
    await close();
    live.close();
  },

  async "it is usable at 360 pixels, in the dark, with little motion"(browser) {
    const { page, trouble, close } = await tab(browser, { viewport: { width: 360, height: 740 }, colorScheme: "dark", reducedMotion: "reduce" });
    await page.goto(embed(small));
    await shown(page);
    for (const view of ["moments", "flow", ...VIEWS]) {
      await page.locator(`#tab-${view}`).click();
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 360, `“${view}” is ${wide} pixels wide`);
      if (shots) await page.screenshot({ path: join(shots, `narrow-${view}.png`) });
    }
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    assert.deepEqual(trouble, []);
    await close();
  },

  async "1,000 loops: first paint in 1.5 s, a cursor step in 50 ms of work"(browser) {
    const { page, trouble, close } = await tab(browser);
    const address = embed(synthetic(1000));
    const start = Date.now();
    await page.goto(address, { waitUntil: "commit" });
    await shown(page);
    const opened = Date.now() - start;
    const paint = await page.evaluate(() => Math.round(performance.getEntriesByName("first-contentful-paint")[0].startTime));
    const cdp = await page.context().newCDPSession(page);
    // Processor time of the page's own thread: the same on a busy machine.
    await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
    const busy = async () => (await cdp.send("Performance.getMetrics")).metrics.find((metric) => metric.name === "TaskDuration").value * 1000;
    const figures = [];
    for (const view of VIEWS) {
      await page.locator(`#tab-${view}`).click();
      await page.waitForTimeout(500);
      for (const [key, steps] of [["ArrowLeft", 40], ["Shift+ArrowLeft", 40], ["[", 10]]) {
        const before = await busy();
        const wall = await page.evaluate(async ([name, n]) => {
          const begun = performance.now();
          for (let i = 0; i < n; i++) {
            window.dispatchEvent(new KeyboardEvent("keydown", { key: name.replace("Shift+", ""), shiftKey: name.startsWith("Shift+"), bubbles: true, cancelable: true }));
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
          }
          return (performance.now() - begun) / n;
        }, [key, steps]);
        figures.push({ view, key, work: (await busy() - before) / steps, wall });
      }
    }
    const worst = figures.reduce((a, b) => (b.work > a.work ? b : a));
    const mean = (name) => figures.reduce((sum, row) => sum + row[name], 0) / figures.length;
    console.log(`    first paint ${paint} ms, opened in ${opened} ms; a step: ${mean("work").toFixed(1)} ms of work (worst ${worst.work.toFixed(1)} ms: ${worst.view}, ${worst.key}), ${mean("wall").toFixed(1)} ms by the clock`);
    assert.ok(paint < 1500, `first paint after ${paint} ms`);
    assert.ok(worst.work < 50, `a step took ${worst.work.toFixed(1)} ms of work in ${worst.view} (${worst.key})`);
    const rows = await page.locator(".rows-item").count();
    assert.ok(rows < 200, `${rows} rows exist; a list holds those in sight`);
    assert.deepEqual(trouble, []);
    await close();
  },
};

const recordings = process.argv.slice(2).flatMap((folder) =>
  readdirSync(folder, { recursive: true }).filter((name) => /^recording.*\.json$/.test(basename(name))).sort().map((name) => [name, join(folder, name)]),
);
if (recordings.length)
  checks[`${recordings.length} recordings: every view, no error, no request`] = async (browser) => {
    const bad = [];
    for (const [name, file] of recordings) {
      const { page, trouble, close } = await tab(browser);
      try {
        await page.goto(embed(readFileSync(file, "utf8")));
        await shown(page);
        await everyView(page);
        await moveAround(page);
        await everyView(page);
        assert.deepEqual(trouble, []);
      } catch (error) {
        bad.push(`${name}: ${error.message.split("\n")[0]}`);
      }
      await close();
    }
    assert.deepEqual(bad, []);
  };

const browser = await launch();
let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  const start = Date.now();
  try {
    await check(browser);
    console.log(`ok    ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}\n${String(error.stack ?? error).replace(/^/gm, "      ")}`);
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
