// Text from a recording is data: shown, never obeyed. Control, invisible and direction characters become visible names.

import { type Json, isObj } from "./json.ts";

/** A run of plain text, or one character that must not act. */
export interface Piece {
  text: string;
  mark: boolean;
}

// C0 (but not tab and line feed), DEL, C1, soft hyphen, Arabic letter mark, zero width and direction marks,
// embeddings, isolates, line separators, invisible operators, byte order mark, tag characters, lone surrogates.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\ud800-\udfff]/gu;

const NAMES: Record<number, string> = { 0x1b: "ESC", 0x00: "NUL", 0x07: "BEL", 0x08: "BS", 0x0d: "CR", 0x7f: "DEL", 0x200b: "ZWSP", 0x202e: "RLO", 0x202d: "LRO", 0xfeff: "BOM" };

const nameOf = (char: string): string => {
  const code = char.codePointAt(0) ?? 0;
  return NAMES[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
};

export function pieces(text: string): Piece[] {
  const out: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > from) out.push({ text: text.slice(from, match.index), mark: false });
    out.push({ text: nameOf(match[0]), mark: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) out.push({ text: text.slice(from), mark: false });
  return out;
}

/** The same as one string, for places that hold no markup. */
export const plain = (text: string): string => text.replace(HIDDEN, (char) => `‹${nameOf(char)}›`);

/** One line of at most `max` characters; never walks a long text to its end. */
export function excerpt(text: string, max = 120): string {
  const head = text.slice(0, max * 2).replace(/\s+/g, " ").trim();
  const line = plain(head.slice(0, max));
  return head.length > max || text.length > max * 2 ? `${line}…` : line;
}

/** A value in one line, bounded in work as well as in length. */
export function brief(value: Json | undefined, max = 120): string {
  let out = "";
  const write = (here: Json | undefined, depth: number): void => {
    if (out.length > max) return;
    if (here === undefined) out += "—";
    else if (typeof here === "string") out += depth === 0 ? here.slice(0, max + 1) : `"${here.slice(0, max)}"`;
    else if (Array.isArray(here)) {
      out += "[";
      for (let i = 0; i < here.length && out.length <= max; i++) {
        if (i) out += ", ";
        write(here[i], depth + 1);
      }
      out += "]";
    } else if (isObj(here)) {
      out += "{";
      let first = true;
      for (const key of Object.keys(here)) {
        if (out.length > max) break;
        out += `${first ? "" : ", "}${key.slice(0, max)}: `;
        first = false;
        write(here[key], depth + 1);
      }
      out += "}";
    } else out += String(here);
  };
  write(value, 0);
  return excerpt(out, max);
}

/** The text of a value for reading in full: strings as they are, everything else as indented JSON. */
export const fullText = (value: Json | undefined): string =>
  typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value, null, 2);

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  if (count < 1024 * 1024) return `${(count / 1024).toFixed(1)} KB`;
  return `${(count / 1024 / 1024).toFixed(1)} MB`;
}

export const count = (n: number): string => n.toLocaleString("en");

export function duration(ms: number | undefined): string {
  if (ms === undefined) return "—";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}
