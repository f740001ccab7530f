// What went wrong, what was checked, and what this file cannot show.

import { useLens } from "../lens.ts";
import { dispositions, headline } from "../model/findings.ts";
import { explainLimit } from "../model/limits.ts";
import { excerpt } from "../model/text.ts";
import { Json } from "./Json.tsx";
import { Chip, Empty, Section, StepLink } from "./parts.tsx";
import { Text } from "./Text.tsx";

const SHOWN = 200;

export function FindingsView() {
  const { rec, subject } = useLens();
  const { findings } = subject;
  const checked = dispositions(rec);
  return (
    <div className="view">
      <div className="view-head"><h2>Findings</h2><span className="muted">{headline(rec, findings)}</span></div>
      {findings.slice(0, SHOWN).map((finding, i) => (
        <article className={`finding ${finding.severity}`} key={i}>
          <div className="piece-head">
            <Chip tone={finding.severity === "error" ? "bad" : finding.severity === "warning" ? "warn" : ""}>{finding.severity}</Chip>
            <code>{excerpt(finding.kind, 50)}</code>
            <StepLink step={finding.step} moment={finding.moment} />
          </div>
          <div className="piece-text"><Text value={finding.message} first={800} /></div>
          {finding.detail && <details><summary>as recorded</summary><Json value={finding.detail} open={2} /></details>}
        </article>
      ))}
      {findings.length > SHOWN && <p className="muted">{findings.length - SHOWN} more are not listed.</p>}
      <Section title="What was checked" aside="“not checked” is not “clean”">
        {checked.length === 0 && <Empty>The record does not say that anything was checked.</Empty>}
        {checked.length > 0 && (
          <table>
            <thead><tr><th>check</th><th>where</th><th>looked at</th><th>result</th></tr></thead>
            <tbody>
              {checked.map((row, i) => (
                <tr key={i}>
                  <td>{excerpt(row.check, 40)}</td><td>{excerpt(row.seam, 30)}</td><td className="num">{row.checked}</td>
                  <td><Chip tone={row.state === "clean" ? "ok" : row.state === "findings" ? "bad" : ""}>{row.state === "findings" ? `${row.findings} found` : row.state}</Chip></td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Section>
      <Section title="What this file cannot show">
        {rec.limits.length === 0 && <Empty>Nothing is missing from this recording.</Empty>}
        <ul className="limits-list">
          {rec.limits.map((id) => {
            const limit = explainLimit(id);
            return <li key={id}><code>{excerpt(id, 40)}</code> {limit.what} <span className="muted">{limit.remedy}</span></li>;
          })}
        </ul>
      </Section>
    </div>
  );
}
