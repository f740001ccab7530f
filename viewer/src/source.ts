// Where the recording comes from: inside the page, from the same origin, from a live run, or from the reader's hand.

import { type Opened, OpenError, openText } from "./model/parse.ts";

export type Source = { kind: "embedded"; text: string } | { kind: "address"; url: string } | { kind: "live"; base: string } | { kind: "none" };

export function findSource(): Source {
  const element = document.getElementById("recording");
  if (element?.getAttribute("type") === "application/json" && element.textContent?.trim()) {
    const text = element.textContent;
    // The text is kept by the caller; a second copy in the page is of no use.
    element.textContent = "";
    return { kind: "embedded", text };
  }
  const query = new URLSearchParams(location.search);
  const src = query.get("src");
  if (src !== null) return { kind: "address", url: src };
  return query.has("live") ? { kind: "live", base: query.get("live") || "./" } : { kind: "none" };
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
  return answer.text();
}

/** One sentence for whatever went wrong. */
export const sentence = (error: unknown): string =>
  error instanceof OpenError ? error.message : `This file could not be opened: ${error instanceof Error ? error.message : String(error)}`;

export const open = (text: string): Opened => openText(text);
