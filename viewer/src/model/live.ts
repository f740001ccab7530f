// Watching a run that is still going: the recording so far, then one event per message (docs/guides/viewer.md).

import { type Json, type Obj, isObj, str } from "./json.ts";
import { type Opened, openValue } from "./parse.ts";

/** Events after which the snapshot has certainly moved. */
const REFRESH = /agent\.(iteration_end|turn_end)$|error\.fatal$|pause\.request$|composition\.exit$/;
/** Bursts are collected: the page is rebuilt at most twice a second. */
const PAUSE_MS = 500;
const POLL_MS = 2000;

/** What is known of a live run: a document that may lag, and the events that may be ahead of it. */
export class LiveRun {
  private document: Obj | undefined;
  private ahead = new Map<number, Obj>();
  private next = 0;

  /** Takes `GET /recording.json`. Events that it already holds are forgotten here, so none is shown twice. */
  take(document: Json): void {
    if (!isObj(document)) return;
    this.document = document;
    const known = this.known.length;
    this.next = Math.max(this.next, known);
    for (const index of this.ahead.keys()) if (index < known) this.ahead.delete(index);
  }

  /** Takes one message of `GET /events`; `id` is the index of the event in the run. Says whether to fetch the document anew. */
  hear(data: string, id: string): boolean {
    const event = JSON.parse(data) as Json;
    if (!isObj(event)) return false;
    const index = /^\d+$/.test(id) ? Number(id) : this.next;
    this.next = index + 1;
    if (index >= this.known.length) this.ahead.set(index, event);
    return REFRESH.test(str(event["type"]));
  }

  opened(): Opened {
    const events = [...this.known, ...[...this.ahead].sort((a, b) => a[0] - b[0]).map(([, event]) => event)];
    return openValue(isObj(this.document?.["snapshot"]) ? { ...this.document, events } : events.length ? events : { events: [] });
  }

  private get known(): Json[] {
    const events = this.document?.["events"];
    return Array.isArray(events) ? events : [];
  }
}

/** Starts watching; the returned function ends it. */
export function watch(base: string, onOpened: (opened: Opened, done: boolean) => void, onProblem: (text: string) => void): () => void {
  const run = new LiveRun();
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stale = false;
  let source: EventSource | undefined;
  const attempt = (act: () => void): void => {
    if (stopped) return;
    try {
      act();
    } catch (error) {
      onProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const show = (done = false): void => attempt(() => onOpened(run.opened(), done));
  const refresh = async (): Promise<void> => {
    const answer = await fetch(`${base}recording.json`, { cache: "no-store" });
    if (answer.status === 404 || answer.status === 204) return; // nothing recorded yet
    if (!answer.ok) throw new Error(`The serving process answered with status ${answer.status}.`);
    run.take((await answer.json()) as Json);
  };
  const update = (done = false): Promise<void> =>
    refresh().catch((error: unknown) => onProblem(String(error))).then(() => show(done));
  const soon = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      if (!stale) return show();
      stale = false;
      void update();
    }, PAUSE_MS);
  };
  const poll = (): void => {
    if (!stopped) void update().then(() => (timer = setTimeout(poll, POLL_MS)));
  };
  void update().then(() => {
    if (stopped) return;
    source = new EventSource(`${base}events`);
    source.onmessage = (message) =>
      attempt(() => {
        if (run.hear(String(message.data), message.lastEventId)) stale = true;
        soon();
      });
    source.addEventListener("done", () => {
      source?.close();
      void update(true);
    });
    source.onerror = () => {
      // The browser reconnects by itself unless it was told that there is no stream; then the recording is asked for instead.
      if (source?.readyState === EventSource.CLOSED) poll();
    };
  });
  return () => {
    stopped = true;
    source?.close();
    clearTimeout(timer);
  };
}
