// What the model was sent at one call, piece by piece: who put it there, why, and whether the receipt agrees.

import { useMemo, useState } from "react";
import { useLens } from "../lens.ts";
import { type Call, type Piece, servedAt, usageOf } from "../model/calls.ts";
import { num, objs, str } from "../model/json.ts";
import { count, duration, excerpt } from "../model/text.ts";
import { Json } from "./Json.tsx";
import { CheckChip, Chip, Empty, Section, StepLink } from "./parts.tsx";
import { Text } from "./Text.tsx";

/** The call at the cursor: the last one begun, or the first to come. */
export const callAt = (calls: Call[], cursor: number): Call | undefined => calls.findLast((call) => call.moment <= cursor) ?? calls[0];

export function CallView() {
  const { rec, subject, cursor, seek } = useLens();
  const { calls } = subject;
  const call = callAt(calls, cursor);
  const served = useMemo(() => (call ? servedAt(rec, calls, call) : undefined), [rec, calls, call]);
  const [onlyNew, setOnlyNew] = useState(false);
  if (!call || !served) return <Empty>No model call is on record in this run.</Empty>;
  const kept = (pieces: Piece[]): Piece[] => (onlyNew ? pieces.filter((piece) => piece.change !== "same") : pieces);
  const checks = [...served.system, ...served.messages, ...served.tools].map((piece) => piece.check);
  const proven = checks.filter((check) => check === "verified").length;
  const go = (by: number): void => {
    const next = calls[call.n + by];
    if (next) seek(next.moment);
  };
  return (
    <div className="view">
      <div className="view-head">
        <div className="pager">
          <button type="button" onClick={() => go(-1)} disabled={call.n === 0} aria-label="previous call">‹</button>
          <h2>
            Call {call.n + 1} <small>of {count(calls.length)}</small>
          </h2>
          <button type="button" onClick={() => go(1)} disabled={call.n === calls.length - 1} aria-label="next call">›</button>
        </div>
        <StepLink step={call.step} moment={call.moment} />
        {call.moment > cursor && <Chip tone="warn">after the cursor</Chip>}
        <span className="grow" />
        <label className="check-line">
          <input type="checkbox" checked={onlyNew} onChange={(change) => setOnlyNew(change.target.checked)} /> only what changed
        </label>
      </div>
      <div className="meta-line">
        <span>{[call.provider, call.model].filter(Boolean).join(" · ") || "model not recorded"}</span>
        <span>{usageText(call)}</span>
        <span>{call.durationMs === undefined ? "duration unknown" : duration(call.durationMs)}</span>
        <Chip tone={proven === checks.length && proven ? "ok" : ""} title="pieces whose hash is on the receipt of this call">
          {served.receipt ? `${proven} of ${checks.length} pieces verified` : "no receipt"}
        </Chip>
      </div>
      {served.gaps.length > 0 && (
        <ul className="gaps">
          {served.gaps.map((gap) => (
            <li key={gap}>{gap}</li>
          ))}
        </ul>
      )}
      <Section title="System prompt" aside={<>{count(served.systemText.length)} characters <CheckChip check={served.systemCheck} /></>}>
        <Pieces pieces={kept(served.system)} all={served.system.length} />
      </Section>
      <Section title="Messages" aside={`${count(served.messages.length)} sent`}>
        <Pieces pieces={kept(served.messages)} all={served.messages.length} />
        {served.requestOnly.map((line, i) => (
          <div className="piece" key={i}>
            <div className="piece-head">
              <Chip tone="src">request only</Chip> <span className="muted">{str(line["role"])} {str(line["reason"])}</span>
            </div>
          </div>
        ))}
      </Section>
      <Section title="Tools on offer" aside={`${served.tools.length}${served.receipt?.forced ? ` · forced: ${served.receipt.forced}` : ""}${served.receipt?.withheld ? ` · withheld: ${served.receipt.withheld}` : ""}`}>
        <Pieces pieces={kept(served.tools)} all={served.tools.length} />
      </Section>
      {served.removed.length > 0 && (
        <Section title="No longer sent" aside="present at the previous call">
          {served.removed.map((piece, i) => (
            <PieceCard key={i} piece={piece} gone />
          ))}
        </Section>
      )}
      {served.left.length > 0 && (
        <Section title="Available, but not sent">
          {served.left.map((row, i) => (
            <p className="left-row" key={i}>
              <Text value={row.what} first={300} /> <span className="muted">{excerpt(row.why, 160)}</span>
            </p>
          ))}
        </Section>
      )}
      <Section title="What came back" aside={call.stopReason || undefined}>
        {call.content ? <blockquote className="said"><Text value={call.content} /></blockquote> : <Empty>{call.end || call.idx >= 0 ? "No text." : "The call did not return."}</Empty>}
        {call.asked.map((asked, i) => (
          <div className="asked" key={i}>
            <Chip tone="tool">{excerpt(str(asked["name"]), 60)}</Chip> <code className="muted">{excerpt(str(asked["id"]), 40)}</code>
            <Json value={asked["args"]} />
          </div>
        ))}
        {call.thinking !== undefined && (
          <details>
            <summary>thinking</summary>
            <Json value={call.thinking} />
          </details>
        )}
      </Section>
    </div>
  );
}

function usageText(call: Call): string {
  const input = usageOf(call, "input");
  const cached = usageOf(call, "cacheRead");
  if (input === undefined) return "tokens unknown";
  return `${count(input)} tokens in, ${count(usageOf(call, "output") ?? 0)} out${cached === undefined ? "" : `, ${count(cached)} cached`}`;
}

function Pieces({ pieces, all }: { pieces: Piece[]; all: number }) {
  const [shown, setShown] = useState(60);
  if (!all) return <Empty>Nothing of this kind is on record for this call.</Empty>;
  if (!pieces.length) return <Empty>Unchanged: the same {all} as at the previous call.</Empty>;
  // The newest of a long conversation are the ones to read first.
  const hidden = Math.max(0, pieces.length - shown);
  return (
    <>
      {hidden > 0 && (
        <button type="button" className="link" onClick={() => setShown(shown + 200)}>
          {count(hidden)} earlier
        </button>
      )}
      {pieces.slice(hidden).map((piece) => (
        <PieceCard key={`${piece.slot}${piece.position}`} piece={piece} />
      ))}
    </>
  );
}

function PieceCard({ piece, gone = false }: { piece: Piece; gone?: boolean }) {
  const schema = piece.slot === "tools" ? piece.whole?.["inputSchema"] : undefined;
  const calls = piece.slot === "messages" ? objs(piece.whole?.["toolCalls"]) : [];
  const score = num(piece.extra["retrievalScore"]);
  return (
    <article className={`piece s-${piece.slot} c-${gone ? "removed" : piece.change}`}>
      <div className="piece-head">
        {piece.role && <span className={`role role-${["user", "assistant", "tool", "system"].includes(piece.role) ? piece.role : "other"}`}>{excerpt(piece.role, 20)}</span>}
        <Chip tone="src" title="who put it there">{excerpt(piece.source, 40)}</Chip>
        {piece.sourceId && <code>{excerpt(piece.sourceId, 60)}</code>}
        {piece.change !== "same" && !gone && <Chip tone={piece.change === "added" ? "new" : "moved"}>{piece.change === "added" ? "new" : "moved"}</Chip>}
        <span className="grow" />
        <span className="muted">{count(piece.text.length)} ch</span>
        {!gone && <CheckChip check={piece.check} />}
      </div>
      <div className="piece-why">
        {piece.reason ? <>why: <Text value={piece.reason} first={200} /></> : "why: not recorded"}
        {score !== undefined && ` · relevance ${Math.round(score * 100)} %`}
      </div>
      <div className="piece-text">
        {piece.text ? <Text value={piece.text} first={900} /> : <span className="muted">no text</span>}
        {calls.map((call, i) => (
          <div className="asked" key={i}>
            <Chip tone="tool">{excerpt(str(call["name"]), 60)}</Chip> <code className="muted">{excerpt(str(call["id"]), 40)}</code> <Json value={call["args"]} />
          </div>
        ))}
        {schema !== undefined && (
          <details>
            <summary>schema</summary>
            <Json value={schema} open={3} />
          </details>
        )}
      </div>
    </article>
  );
}
