// Puts a recording into the built page, as the command line does, and opens it in a real browser.

import { readFileSync, writeFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

export const PAGE = new URL("../dist/index.html", import.meta.url);
const work = mkdtempSync(join(tmpdir(), "lens-e2e-"));
let made = 0;

/** `<`, U+2028 and U+2029 are escaped, so nothing in the recording can end the script element. */
export const escape = (json) => json.replace(/[<\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

export function embed(json) {
  const page = readFileSync(PAGE, "utf8");
  const file = join(work, `${made++}.html`);
  const [before, after] = page.split("<!--recording-->");
  writeFileSync(file, [before, '<script type="application/json" id="recording">', escape(json), "</script>", after].join(""));
  return pathToFileURL(file).href;
}

export const launch = () =>
  chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });

/** A tab that remembers every error and every request that left the page. */
export async function tab(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "light", ...options });
  const page = await context.newPage();
  const trouble = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && trouble.push(`console: ${message.text().slice(0, 300)}`));
  page.on("pageerror", (error) => trouble.push(`error: ${String(error).slice(0, 300)}`));
  page.on("dialog", (dialog) => {
    trouble.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!request.isNavigationRequest() && !url.startsWith("data:")) trouble.push(`request: ${url.slice(0, 200)}`);
  });
  return { page, trouble, close: () => context.close() };
}
