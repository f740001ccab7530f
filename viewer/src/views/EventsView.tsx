// The raw stream.

import { useMemo, useState } from "react";
import { useLens } from "../lens.ts";
import type { Event } from "../model/recording.ts";
import { brief, count, excerpt } from "../model/text.ts";
import { Json } from "./Json.tsx";
import { Empty, StepLink } from "./parts.tsx";
import { Rows } from "./Rows.tsx";

export function EventsView() {
  const { rec, cursor, seek } = useLens();
  const [query, setQuery] = useState("");
  const [picked, setPicked] = useState<Event>();
  const events = useMemo(() => {
    const wanted = query.trim().toLowerCase();
    return wanted ? rec.events.filter((event) => event.name.toLowerCase().includes(wanted) || event.step.toLowerCase().includes(wanted)) : rec.events;
  }, [rec, query]);
  if (!rec.events.length) return <Empty>This recording has no events.</Empty>;
  const active = events.findLastIndex((event) => event.moment <= cursor);
  return (
    <div className="view full">
      <div className="view-head">
        <h2>Events</h2>
        <span className="muted">{count(events.length)}{query ? ` of ${count(rec.events.length)}` : ""}</span>
        <span className="grow" />
        <input type="search" placeholder="name or step" value={query} onChange={(change) => setQuery(change.target.value)} aria-label="filter events" />
      </div>
      <Rows
        count={events.length} size={30} active={active} label="events"
        row={(index) => {
          const event = events[index]!;
          return (
            <button type="button" className={`event-row${event.moment > cursor ? " after" : ""}${event === picked ? " lit" : ""}`} onClick={() => { setPicked(event); seek(event.moment); }}>
              <span className="num muted">{event.n}</span>
              <b>{excerpt(event.name, 44)}</b>
              <span className="muted event-brief">{brief(event.payload, 120)}</span>
              <span className="num muted">{event.offsetMs === undefined ? "" : `+${count(Math.round(event.offsetMs))} ms`}</span>
            </button>
          );
        }}
      />
      {picked && (
        <div className="event-detail">
          <div className="piece-head"><b>{excerpt(picked.name, 60)}</b> <StepLink step={picked.step} moment={picked.moment} /><span className="grow" /><button type="button" className="link" onClick={() => setPicked(undefined)}>close</button></div>
          <Json value={picked.raw} open={2} />
        </div>
      )}
    </div>
  );
}
