// The fingerprint of everything that goes into the page, stamped into it so that a stale build is found out.

import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const ROOTS = ["src", "build"];
const FILES = ["index.html", "package-lock.json", "vite.config.ts"];

export function sourceHash(root: string): string {
  const files = [...FILES];
  for (const folder of ROOTS)
    for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
      if (entry.isFile()) files.push(join(entry.parentPath, entry.name).slice(root.length + 1));
  const hash = createHash("sha256");
  for (const file of files.map((name) => name.replaceAll("\\", "/")).sort()) {
    // Line ends differ between checkouts; the page does not.
    const text = readFileSync(join(root, file), "utf8").replaceAll("\r\n", "\n");
    hash.update(`${file}\0${text}\0`);
  }
  return hash.digest("hex").slice(0, 32);
}
