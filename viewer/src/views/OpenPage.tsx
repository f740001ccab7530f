// The page without a recording.

import { Logo } from "./Header.tsx";

export function OpenPage({ problem, busy, onPick }: { problem: string; busy: string; onPick: () => void }) {
  return (
    <main className="open-page">
      <div className="open-card">
        <div className="brand big"><Logo /><span>agentfootprint lens</span></div>
        <p>Open a recording to see what happened in a run, why, on what evidence, and what cannot be known.</p>
        {problem && <p className="failed" role="alert">{problem}</p>}
        {busy ? <p className="muted" role="status">{busy}</p> : <button type="button" className="primary" onClick={onPick}>Choose a recording…</button>}
        <p className="muted">or drop the file anywhere on this page</p>
        <hr />
        <p className="small">
          <b>Nothing leaves this page.</b> It has no network access but to where it came from, and it keeps nothing. A recording itself is not redacted unless the run had a
          redaction policy: prompts, arguments and results stand in it word for word.
        </p>
      </div>
    </main>
  );
}
