import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { OpenError } from "../src/model/parse.ts";
import { textOf } from "../src/source.ts";

describe("the text of a file", () => {
  const text = `{"é":"${"x".repeat(200_000)}"}`;
  it("is taken as it is, or out of gzip", async () => {
    expect(await textOf(new Blob([text]))).toBe(text);
    expect(await textOf(new Blob([gzipSync(text)]))).toBe(text);
    expect(await textOf(new Blob([]))).toBe("");
  });
  it("is refused in a sentence when the gzip is damaged", async () => {
    const whole = gzipSync(text);
    for (const bytes of [whole.subarray(0, whole.length - 9), whole.subarray(0, 3), Buffer.concat([whole.subarray(0, 20), Buffer.alloc(50)])])
      await expect(textOf(new Blob([bytes]))).rejects.toBeInstanceOf(OpenError);
  });
});
