// The licences of the libraries inside the page travel with it.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** One text for all packages whose modules are in the bundle, in a fixed order. */
export function licences(moduleIds: readonly string[]): string {
  const folders = new Set<string>();
  for (const id of moduleIds) {
    const found = /^\0?(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(id);
    if (found?.[1] && existsSync(join(found[1], "package.json"))) folders.add(found[1]);
  }
  const parts = [...folders].map((folder) => {
    const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { name: string; version: string; license?: string };
    const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
    return `${about.name} ${about.version} (${about.license ?? "see its text"})\n\n${file ? readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim() : ""}\n`;
  });
  return parts.sort().join("\n----\n\n");
}
