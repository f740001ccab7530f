// From text to a recording, or one clear sentence why not.

import { type Json, type Obj, arr, at, get, isObj, num, str } from "./json.ts";
import { OpenError } from "./open-error.ts";
import { isPacked, unpack } from "./unpack.ts";

export { OpenError } from "./open-error.ts";

const ENVELOPE = "agentfootprint.recording.v1";

/** What was opened: the recording and the facts that came with it. */
export interface Opened {
  snapshot: Obj;
  events: Obj[];
  structure: Obj | undefined;
  /** Rows of a narrative kept beside the snapshot. */
  narrative: Obj[];
  /** The envelope without its recording, when the file is one. */
  envelope: Obj | undefined;
  packed: boolean;
  /** What this file cannot say, as ids of limits. */
  limits: string[];
  /** No snapshot at all: only events were given (a live run, an event file). */
  eventsOnly: boolean;
}

export function openText(text: string): Opened {
  const body = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  if (body.trim() === "") throw new OpenError("This file is empty.");
  let document: Json;
  try {
    document = JSON.parse(body) as Json;
  } catch (error) {
    const lines = eventLines(body);
    if (lines) return eventsOnly(lines);
    throw new OpenError(whyNotJson(body, error));
  }
  return openValue(document);
}

export function openValue(document: Json): Opened {
  if (Array.isArray(document) && document.some((row) => isObj(row) && typeof row["type"] === "string"))
    return eventsOnly(document);
  if (!isObj(document))
    throw new OpenError(`This JSON is ${Array.isArray(document) ? "a list" : typeof document}, not a recording.`);
  let value: Json = document;
  let packed = false;
  let envelope: Obj | undefined;
  // An envelope may hold a packed recording and the packed form may hold an envelope.
  for (let layer = 0; layer < 3 && isObj(value); layer++) {
    const format: string = str(get(value, "format"));
    if (format === "") break;
    if (isPacked(format)) {
      value = unpack(value);
      packed = true;
    } else if (format === ENVELOPE) {
      const { recording, ...facts } = value as { recording?: Json } & Obj;
      envelope = facts;
      value = recording ?? null;
    } else throw new OpenError(unknownFormat(format));
  }
  if (!isObj(value)) throw new OpenError("This recording is empty: there is no `recording` in its envelope.");
  return fromRecording(value, envelope, packed);
}

function fromRecording(recording: Obj, envelope: Obj | undefined, packed: boolean): Opened {
  const snapshot = get(recording, "snapshot");
  if (!isObj(snapshot)) {
    if (Array.isArray(recording["events"])) return { ...eventsOnly(recording["events"]), envelope };
    throw new OpenError("This JSON is not a recording: it has no `snapshot`.");
  }
  if (!Array.isArray(snapshot["commitLog"]) && !Array.isArray(snapshot["history"]))
    throw new OpenError("This recording is incomplete: it has no `snapshot.commitLog`.");
  if (!isObj(snapshot["executionTree"]))
    throw new OpenError("This recording is incomplete: it has no `snapshot.executionTree`.");
  const limits: string[] = [];
  const rows = arr(recording["events"]);
  const events = rows.filter(isObj);
  if (!Array.isArray(recording["events"])) limits.push("no-events");
  if (events.length < rows.length) limits.push(`events-unreadable(${rows.length - events.length})`);
  const dropped = num(at(envelope, "run", "droppedEvents")) ?? 0;
  if (dropped > 0) limits.push(`events-dropped(${dropped})`);
  if (at(envelope, "run", "complete") === false) limits.push("not-complete");
  const structure = get(recording, "structure") ?? get(recording, "blueprint");
  if (!isObj(structure)) limits.push("no-structure");
  if (!isObj(snapshot["initialState"])) limits.push("no-fold-base");
  const recorders = arr(snapshot["recorders"]).filter(isObj);
  const boundary = recorders.find((row) => row["name"] === "BoundaryEvents");
  if (!boundary) limits.push("no-boundaries");
  else if (at(boundary, "meta", "mode") === "lean") limits.push("lean-boundaries");
  if (!recorders.some((row) => row["name"] === "ControlDeps")) limits.push("no-control-deps");
  const narrative = narrativeOf(recording, recorders);
  if (narrative.length === 0) limits.push("no-narrative");
  return { snapshot, events, structure: isObj(structure) ? structure : undefined, narrative, envelope, packed, limits, eventsOnly: false };
}

/** A narrative is known by its shape, not by the name of its recorder. */
function narrativeOf(recording: Obj, recorders: Obj[]): Obj[] {
  const isNarrative = (rows: Json[]): boolean =>
    isObj(rows[0]) && typeof rows[0]["text"] === "string" && typeof rows[0]["depth"] === "number";
  const candidates = [arr(recording["narrative"]), ...recorders.map((row) => arr(row["data"]))];
  return (candidates.find(isNarrative) ?? []).filter(isObj);
}

function eventsOnly(rows: Json[]): Opened {
  const events = rows.filter(isObj);
  const limits = ["no-snapshot", "no-structure", "no-boundaries", "no-narrative"];
  if (events.length < rows.length) limits.push(`events-unreadable(${rows.length - events.length})`);
  const snapshot: Obj = { commitLog: [], executionTree: {} };
  return { snapshot, events, structure: undefined, narrative: [], envelope: undefined, packed: false, limits, eventsOnly: true };
}

/** One event per line; a half-written last line (the run is still going) is left out. */
function eventLines(body: string): Json[] | undefined {
  const lines = body.split("\n").filter((line) => line.trim() !== "");
  if (lines.length < 2) return undefined;
  const out: Json[] = [];
  for (const [index, line] of lines.entries()) {
    try {
      const row = JSON.parse(line) as Json;
      if (!isObj(row) || typeof row["type"] !== "string") return undefined;
      out.push(row);
    } catch {
      if (index < lines.length - 1) return undefined;
    }
  }
  return out.length ? out : undefined;
}

function whyNotJson(body: string, error: unknown): string {
  const start = body.trimStart().slice(0, 1);
  const message = error instanceof Error ? error.message : "";
  if (start !== "{" && start !== "[")
    return "This file is not JSON, so it is not a recording (a bug-report zip must be unpacked first).";
  const place = /position (\d+)/.exec(message);
  const cut = /end of JSON|[Uu]nterminated/.test(message) || (place !== null && Number(place[1]) >= body.trimEnd().length - 1);
  return cut
    ? `This file is cut off: it ends after ${body.length.toLocaleString("en")} characters in the middle of a value.`
    : `This file is not valid JSON${place ? ` (at character ${Number(place[1]).toLocaleString("en")})` : ""}.`;
}

function unknownFormat(format: string): string {
  const name = format.length > 80 ? `${format.slice(0, 80)}…` : format;
  if (format.startsWith("agentfootprint.recording."))
    return `This recording has the format “${name}”, which is newer than this viewer; open it with the viewer of the version that wrote it.`;
  if (format.startsWith("agentfootprint."))
    return `This file is “${name}”, not a recording.`;
  return `This JSON has the foreign format “${name}”; it is not a recording.`;
}
