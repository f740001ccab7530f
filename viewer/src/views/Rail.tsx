// The moments of the run, in order; the cursor's is lit.

import { memo, useMemo, useState } from "react";
import { useLens } from "../lens.ts";
import { type Moment, stopBefore } from "../model/axis.ts";
import { localOf, roleOf } from "../model/steps.ts";
import { excerpt } from "../model/text.ts";
import { Rows } from "./Rows.tsx";

export function Rail() {
  const { rec, subject, cursor, seek, grouped, setGrouped } = useLens();
  const [query, setQuery] = useState("");
  const { moments } = rec.axis;
  const stops = useMemo(() => {
    const all = grouped ? rec.axis.grouped : moments.map((moment) => moment.i);
    const wanted = query.trim().toLowerCase();
    if (!wanted) return all;
    return all.filter((i) => {
      const moment = moments[i]!;
      return (
        moment.step.toLowerCase().includes(wanted) || moment.name.toLowerCase().includes(wanted) ||
        (subject.summaries.get(i) ?? "").toLowerCase().includes(wanted) ||
        moment.log.commits[moment.idx]!.rows.some((row) => row.segments.join(".").toLowerCase().includes(wanted))
      );
    });
  }, [rec, grouped, query, moments, subject]);
  const bad = useMemo(() => new Set(subject.findings.filter((finding) => finding.severity === "error").map((finding) => finding.moment)), [subject]);
  const active = stopBefore(stops, cursor);
  return (
    <div className="rail">
      <div className="rail-head">
        <div className="seg" role="group" aria-label="axis">
          <button type="button" aria-pressed={grouped} onClick={() => setGrouped(true)}>Moments</button>
          <button type="button" aria-pressed={!grouped} onClick={() => setGrouped(false)}>Every commit</button>
        </div>
        <input id="search" type="search" placeholder="Filter steps, keys, tools  ( / )" value={query} onChange={(change) => setQuery(change.target.value)} aria-label="filter the moments" />
      </div>
      <Rows
        count={stops.length} size={44} active={active} label="moments of the run"
        row={(index) => {
          const moment = moments[stops[index]!]!;
          return (
            <RailRow
              moment={moment} line={subject.summaries.get(moment.i) ?? ""} lit={index === active} after={moment.i > cursor}
              between={index === active && moment.i !== cursor} bad={bad.has(moment.i)} onPick={seek} first={index === 0} last={index === stops.length - 1}
            />
          );
        }}
      />
      <div className="rail-foot muted">
        {stops.length === 0 ? "nothing matches" : `${active + 1} of ${stops.length}${query ? " matching" : ""}`}
      </div>
    </div>
  );
}

const RailRow = memo(function RailRow({ moment, line, lit, after, between, bad, onPick, first, last }: { moment: Moment; line: string; lit: boolean; after: boolean; between: boolean; bad: boolean; onPick: (i: number) => void; first: boolean; last: boolean }) {
  const kind = moment.milestone?.kind ?? roleOf(moment.step);
  const opens = moment.milestone?.kind === "iteration" && moment.loop > 0;
  return (
    <button type="button" className={`rail-row k-${kind}${lit ? " lit" : ""}${after ? " after" : ""}${opens ? " opens" : ""}`} onClick={() => onPick(moment.i)} aria-current={lit ? "step" : undefined} style={{ paddingLeft: 12 + Math.min(moment.depth, 6) * 10 }}>
      <span className="dot" aria-hidden="true" />
      <span className="rail-text">
        <span className="rail-name">
          {opens ? `Loop ${moment.loop}` : moment.milestone ? moment.milestone.label : excerpt(moment.name, 40) || localOf(moment.step)}
          {bad && <span className="badmark" title="a finding stands here">!</span>}
          {between && <span className="muted"> + {"\u00a0"}inside</span>}
        </span>
        <span className="rail-line">{line || (first ? "start" : last ? "end" : `${moment.step}${moment.writes ? ` · ${moment.writes} write${moment.writes > 1 ? "s" : ""}` : ""}`)}</span>
      </span>
    </button>
  );
});
