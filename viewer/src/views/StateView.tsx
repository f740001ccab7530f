// The state as of the cursor, what this commit changed, and the history of one key.

import { useMemo, useState } from "react";
import { useLens } from "../lens.ts";
import { diff } from "../model/diff.ts";
import type { Json as Value } from "../model/json.ts";
import type { Log } from "../model/log.ts";
import { brief, count, excerpt } from "../model/text.ts";
import { Json } from "./Json.tsx";
import { Chip, Empty, Section, StepLink } from "./parts.tsx";
import { Text } from "./Text.tsx";

export function StateView({ onTrace }: { onTrace: (log: Log, key: string, before: number) => void }) {
  const { rec, cursor, seek } = useLens();
  const [whole, setWhole] = useState(false);
  const [query, setQuery] = useState("");
  const here = rec.axis.moments[cursor];
  // Inside a mount the inner log's state is shown; the run's own state is one switch away.
  const log = here && !whole ? here.log : rec.root;
  const idx = here ? (whole ? here.rootIdx : here.idx) : -1;
  const state = useMemo(() => log.stateAt(idx), [log, idx]);
  const commit = here ? here.log.commits[here.idx] : undefined;
  if (!here || !commit) return <Empty>This recording has no commits, so there is no state to show.</Empty>;
  const step = rec.tree.get(here.step);
  const touched = new Set(commit.rows.map((row) => row.segments[0]!));
  const keys = [...state.keys()].filter((key) => key.toLowerCase().includes(query.toLowerCase())).sort((a, b) => Number(touched.has(b)) - Number(touched.has(a)) || (a < b ? -1 : 1));
  const commits = here.log.commitsOf(here.step);
  return (
    <div className="view">
      <div className="view-head">
        <h2>
          {excerpt(here.name, 40)} <small>commit {here.idx + 1} of {count(here.log.commits.length)}{here.log.key ? ` in ${excerpt(here.log.key, 40)}` : ""}</small>
        </h2>
        <StepLink step={here.step} moment={here.i} />
        {commit.phase && <Chip title="this step commits more than once">{excerpt(commit.phase, 20)}</Chip>}
        {commits.length > 1 && <span className="muted">{commits.indexOf(here.idx) + 1} of {commits.length} commits of this step</span>}
        <span className="grow" />
        {here.depth > 0 && (
          <label className="check-line">
            <input type="checkbox" checked={whole} onChange={(change) => setWhole(change.target.checked)} /> the run's own state
          </label>
        )}
      </div>
      {step?.description && <p className="meta-line">{excerpt(step.description, 300)}</p>}
      {!log.hasBase && <ul className="gaps"><li>The record holds no starting state: a value that was never written during the run is missing here.</li></ul>}
      {commit.gap && <ul className="gaps"><li>Part of this commit could not be folded: {excerpt(commit.gap, 120)}</li></ul>}
      <Section title="Changed by this commit" aside={`${touched.size} key${touched.size === 1 ? "" : "s"}`}>
        {touched.size === 0 && <Empty>Nothing: the step ran and wrote nothing new.</Empty>}
        {[...touched].map((key) => (
          <Changes key={key} name={key} before={here.log.valueAt(key, here.idx - 1)} after={here.log.valueAt(key, here.idx)} verb={commit.rows.filter((row) => row.segments[0] === key).map((row) => row.verb)} redacted={here.log.isRedacted(key, here.idx)} />
        ))}
        {(step?.reads.length ?? 0) > 0 && (
          <p className="reads">
            read{" "}
            {step!.reads.map((read) => (
              <button type="button" className="keylink" key={read} onClick={() => onTrace(here.log, read, commits[0] ?? here.idx)} title="who wrote it?">{excerpt(read, 40)}</button>
            ))}
          </p>
        )}
        {commit.untracked.length > 0 && <p className="reads warn-text">also read something this log does not hold: {commit.untracked.map((source) => excerpt(source, 20)).join(", ")}</p>}
        {step?.flow.map((row, i) => (
          <p className="reads" key={i}>{excerpt(row.description || row.type, 300)}</p>
        ))}
        {step && Object.keys(step.errors).length > 0 && <div className="failed"><Json value={step.errors} open={2} /></div>}
      </Section>
      <Section title="State here" aside={<input type="search" placeholder="key" value={query} onChange={(change) => setQuery(change.target.value)} aria-label="filter keys" />}>
        {keys.length === 0 && <Empty>No key {query ? "matches" : "is set"}.</Empty>}
        {keys.map((key) => (
          <Key key={key} name={key} value={state.get(key)} touched={touched.has(key)} redacted={log.isRedacted(key, idx)} touches={log.touchesOf(key)} idx={idx} onPick={(commitIdx) => seek(rec.axis.ofCommit.get(log.key)?.[commitIdx] ?? cursor)} onTrace={() => onTrace(log, key, idx + 1)} />
        ))}
      </Section>
    </div>
  );
}

function Changes({ name, before, after, verb, redacted }: { name: string; before: Value | undefined; after: Value | undefined; verb: string[]; redacted: boolean }) {
  const rows = useMemo(() => diff(before, after, name, 40), [before, after, name]);
  return (
    <div className="change-set">
      {rows.map((row, i) => (
        <div className={`change ${row.kind}`} key={i}>
          <span className="change-path">
            <i aria-hidden="true">{row.kind === "removed" ? "−" : row.kind === "changed" ? "~" : "+"}</i>
            {excerpt(row.path, 90)} {i === 0 && <span className="muted">{[...new Set(verb)].join(", ")}</span>} {i === 0 && redacted && <Chip tone="warn">redacted</Chip>}
          </span>
          {row.before !== undefined && <div className="old"><Text value={brief(row.before, 600)} /></div>}
          {row.after !== undefined && <div className="new"><Text value={brief(row.after, 600)} /></div>}
        </div>
      ))}
      {rows.length === 0 && <div className="change"><span className="change-path">{excerpt(name, 90)} <span className="muted">written with the value it had</span></span></div>}
    </div>
  );
}

function Key({ name, value, touched, redacted, touches, idx, onPick, onTrace }: { name: string; value: Value | undefined; touched: boolean; redacted: boolean; touches: readonly number[]; idx: number; onPick: (commit: number) => void; onTrace: () => void }) {
  const [open, setOpen] = useState(false);
  const past = touches.filter((touch) => touch <= idx).length;
  return (
    <div className={`state-key${touched ? " touched" : ""}`}>
      <button type="button" className="j-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span className="caret">{open ? "▾" : "▸"}</span>
        <span className="j-key">{excerpt(name, 60)}</span>
        {redacted && <Chip tone="warn">redacted</Chip>}
        {!open && <span className="muted j-brief">{brief(value, 120)}</span>}
      </button>
      {open && (
        <div className="state-open">
          <div className="reads">
            {past === 0 ? "there from the start" : `written ${past} of ${touches.length}×`}
            {touches.slice(Math.max(0, past - 8), past + 4).map((touch) => (
              <button type="button" className={`keylink${touch > idx ? " after" : ""}`} key={touch} onClick={() => onPick(touch)}>#{touch}</button>
            ))}
            <button type="button" className="keylink strong" onClick={onTrace}>trace back</button>
          </div>
          <Json value={value} />
        </div>
      )}
    </div>
  );
}
