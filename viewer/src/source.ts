// Where the recording comes from: inside the page, from the same origin, from a live run, or from the reader's hand.

import { type Opened, OpenError, openText } from "./model/parse.ts";

export type Source = { kind: "embedded" } | { kind: "address"; url: string } | { kind: "live"; base: string } | { kind: "none" };

export function findSource(): Source {
  const query = new URLSearchParams(location.search);
  const src = query.get("src");
  if (src !== null) return { kind: "address", url: src };
  if (query.has("live")) return { kind: "live", base: query.get("live") || "./" };
  // The program runs before the rest of the page is read: whether a recording follows is known only then.
  return document.readyState === "loading" || embeddedElement() ? { kind: "embedded" } : { kind: "none" };
}

const embeddedElement = (): HTMLElement | undefined => {
  const element = document.getElementById("recording");
  return element?.getAttribute("type") === "application/json" ? element : undefined;
};

/** The text inside the page, once the page is complete; undefined when there is none. */
export async function embeddedText(): Promise<string | undefined> {
  if (document.readyState === "loading") await new Promise((done) => document.addEventListener("DOMContentLoaded", done, { once: true }));
  const element = embeddedElement();
  const text = element?.textContent ?? "";
  // Kept by the caller; a second copy in the page is of no use.
  if (element) element.textContent = "";
  return text.trim() === "" ? undefined : text;
}

/** An address of the page's own origin; anything else is refused before it is asked. */
export function ownAddress(url: string): URL {
  const address = new URL(url, location.href);
  if (address.origin !== location.origin || !/^https?:$/.test(address.protocol))
    throw new OpenError("Only recordings from this page's own origin are loaded; download the file and drop it here instead.");
  return address;
}

export async function fetchText(url: string): Promise<string> {
  const answer = await fetch(ownAddress(url));
  if (!answer.ok) throw new OpenError(`The recording could not be loaded: the server answered with status ${answer.status}.`);
  return textOf(await answer.blob());
}

/** Longer texts cannot be one string. */
const MAX_TEXT = 512 * 1024 * 1024;

/** The text of a file; of a gzip file, what is in it. */
export async function textOf(file: Blob): Promise<string> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (first !== 0x1f || second !== 0x8b) return file.text();
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let size = 0;
  const reader = file.stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      size += read.value.byteLength;
      if (size > MAX_TEXT) throw new OpenError("This file holds more text than a page can; ask the command line.");
      parts.push(decoder.decode(read.value, { stream: true }));
    }
  } catch (error) {
    if (error instanceof OpenError) throw error;
    throw new OpenError("This file is compressed and damaged or cut off: copy it again.");
  } finally {
    void reader.cancel().catch(() => undefined);
  }
  return parts.join("") + decoder.decode();
}

/** One sentence for whatever went wrong. */
export const sentence = (error: unknown): string =>
  error instanceof OpenError ? error.message : `This file could not be opened: ${error instanceof Error ? error.message : String(error)}`;

export const open = (text: string): Opened => openText(text);
