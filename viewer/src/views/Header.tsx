// Who ran, how it ended, what it took, and what this file cannot say.

import { useLens } from "../lens.ts";
import { explainLimit } from "../model/limits.ts";
import { count, duration, excerpt } from "../model/text.ts";
import { Chip } from "./parts.tsx";

const OUTCOMES = { answered: ["answered", "ok"], failed: ["failed", "bad"], paused: ["paused", "warn"], ended: ["ended", ""], unknown: ["not ended yet", "warn"] } as const;
/** Limits that every record of an older kind has are told in the list, not shouted in the header. */
const QUIET = new Set(["no-narrative", "no-control-deps"]);

export function Header({ name, live, onOpen, theme, setTheme, onHelp }: { name: string; live: string; onOpen: () => void; theme: string; setTheme: (theme: string) => void; onHelp: () => void }) {
  const { subject, rec, show } = useLens();
  const facts = subject.overview;
  const [outcome, tone] = OUTCOMES[facts.outcome];
  const loud = rec.limits.filter((limit) => !QUIET.has(limit));
  return (
    <header className="header">
      <div className="brand">
        <Logo />
        <span>lens</span>
      </div>
      <div className="run">
        <h1 title={facts.runId}>{excerpt(facts.agent, 40)}</h1>
        <Chip tone={tone}>{outcome}</Chip>
        {live && <Chip tone="live">{live}</Chip>}
        {facts.model && <span className="muted">{excerpt(facts.model, 48)}</span>}
        <span className="muted file">{excerpt(name, 48)}</span>
      </div>
      <dl className="facts">
        <Fact label="loops" value={count(facts.loops)} />
        <Fact label="calls" value={count(facts.calls)} />
        <Fact label="tools" value={count(facts.tools)} />
        <Fact label="tokens in / out" value={`${facts.tokensIn === undefined ? "—" : count(facts.tokensIn)} / ${facts.tokensOut === undefined ? "—" : count(facts.tokensOut)}`} />
        <Fact label="cached" value={facts.tokensCached === undefined ? "unknown" : count(facts.tokensCached)} />
        <Fact label="cost" value={facts.cost === undefined ? "unknown" : `$${facts.cost.toPrecision(3)}`} />
        <Fact label="time" value={facts.durationMs === undefined ? "unknown" : duration(facts.durationMs)} />
      </dl>
      <div className="actions">
        {loud.length > 0 && (
          <button type="button" className="limits" onClick={() => show("findings")} title={loud.map((limit) => explainLimit(limit).what).join("\n")}>
            {loud.length === 1 ? excerpt(loud[0]!, 24) : `${loud.length} limits`}
          </button>
        )}
        <button type="button" onClick={onHelp} aria-label="keys (?)" title="keys (?)">?</button>
        <button type="button" onClick={() => setTheme(theme === "dark" ? "light" : "dark")} aria-label="dark or light (t)" title="dark or light (t)">{theme === "dark" ? "☾" : "☀"}</button>
        <button type="button" onClick={onOpen}>Open…</button>
      </div>
    </header>
  );
}

function Fact({ label, value }: { label: string; value: string }) {
  return (
    <div className={value === "unknown" ? "unknown" : ""}>
      <dd>{value}</dd>
      <dt>{label}</dt>
    </div>
  );
}

export function Logo() {
  return (
    <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
      <circle cx="8.5" cy="8.5" r="6" fill="none" stroke="currentColor" strokeWidth="2" />
      <path d="M13 13l5 5" stroke="currentColor" strokeWidth="2.4" strokeLinecap="round" />
      <circle cx="6.6" cy="8.6" r="1.3" fill="currentColor" />
      <circle cx="10.6" cy="8.6" r="1.3" fill="currentColor" />
    </svg>
  );
}
