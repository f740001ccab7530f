import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { sourceHash } from "../build/source-hash.ts";

const root = fileURLToPath(new URL("..", import.meta.url)).replace(/[\\/]$/, "");
const file = `${root}/dist/index.html`;

describe("the committed page", () => {
  const page = existsSync(file) ? readFileSync(file, "utf8") : "";
  it("is what the sources build: run `npm run build` and commit dist/index.html", () => {
    expect(/name="agentfootprint-lens-sources" content="([0-9a-f]+)"/.exec(page)?.[1]).toBe(sourceHash(root));
  });
  /// Proves REC-166.
  it("allows its own script and nothing else", () => {
    const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(page)?.[1] ?? "";
    const script = /<script>([\s\S]*?)<\/script>/.exec(page)?.[1] ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(`script-src 'sha256-${createHash("sha256").update(script).digest("base64")}'`);
    expect(policy).not.toMatch(/unsafe-eval|script-src[^;]*unsafe-inline|https?:/);
    expect(page).not.toMatch(/<script[^>]+src=|<link[^>]+href="(?!data:)/);
  });
  it("has exactly one place for a recording, after the script", () => {
    expect(page.split("<!--recording-->")).toHaveLength(2);
    expect(page.indexOf("<!--recording-->")).toBeGreaterThan(page.indexOf("<script>"));
  });
});
