// The backtrack board: from the answer back to where its words entered the run; and the trace of one value.

import { useMemo, useState } from "react";
import { useLens } from "../lens.ts";
import type { Log } from "../model/log.ts";
import { sliceOfKey } from "../model/slice.ts";
import { count, excerpt } from "../model/text.ts";
import { type Card, type Claim, type Link, answerClaim, boardOf } from "../model/why.ts";
import { CheckChip, Chip, Empty, Section, StepLink } from "./parts.tsx";
import { Text } from "./Text.tsx";

export interface Target {
  log: Log;
  key: string;
  before: number;
}

export function WhyView({ target, setTarget }: { target: Target | undefined; setTarget: (target: Target | undefined) => void }) {
  return (
    <div className="view">
      <div className="seg wide" role="group" aria-label="what to explain">
        <button type="button" aria-pressed={!target} onClick={() => setTarget(undefined)}>Why this answer</button>
        <button type="button" aria-pressed={!!target} onClick={() => target ?? setTarget(undefined)} disabled={!target}>{target ? `Where “${excerpt(target.key, 30)}” came from` : "A value (pick one in State)"}</button>
      </div>
      {target ? <ValueTrace target={target} setTarget={setTarget} /> : <AnswerBoard setTarget={setTarget} />}
    </div>
  );
}

function AnswerBoard({ setTarget }: { setTarget: (target: Target) => void }) {
  const { rec, subject } = useLens();
  const start = useMemo(() => answerClaim(rec, subject.calls), [rec, subject]);
  const [trail, setTrail] = useState<Claim[]>([]);
  const [about, setAbout] = useState("");
  const base = trail.at(-1) ?? start;
  const claim = useMemo(() => (base ? { ...base, about } : undefined), [base, about]);
  const board = useMemo(() => (claim ? boardOf(rec, subject.calls, subject.tools, claim) : undefined), [rec, subject, claim]);
  const end = rec.root.commits.length;
  if (!claim || !board)
    return (
      <>
        <Empty>This run has no answer on record. A value of its end state can be traced back instead:</Empty>
        <p className="reads">
          {[...rec.root.stateAt(end - 1).keys()].map((key) => (
            <button type="button" className="keylink" key={key} onClick={() => setTarget({ log: rec.root, key, before: end })}>{excerpt(key, 40)}</button>
          ))}
        </p>
      </>
    );
  const go = (next: Claim[]): void => {
    setTrail(next);
    setAbout("");
  };
  return (
    <>
      <nav className="trail" aria-label="the way back">
        {[start!, ...trail].map((step, i) => (
          <span key={i}>
            {i > 0 && <i>←</i>}
            <button type="button" aria-current={i === trail.length ? "step" : undefined} onClick={() => go(trail.slice(0, i))}>{excerpt(step.title, 40)}</button>
          </span>
        ))}
      </nav>
      <div className="claim">
        <span className="claim-label">{excerpt(claim.title, 80)}</span>
        <div
          className="claim-text"
          onMouseUp={() => {
            const picked = String(window.getSelection() ?? "").trim();
            if (picked && claim.text.includes(picked)) setAbout(picked);
          }}
        >
          <Text value={claim.text} first={1500} />
        </div>
        <label className="about">
          about <input type="search" value={about} placeholder="all of it — select words above or type them" onChange={(change) => setAbout(change.target.value)} />
        </label>
      </div>
      <Chain links={claim.chain} />
      <p className="banner">Ranked by the words a piece shares with this text: correlation, not proof.</p>
      {board.cards.length === 0 && <Empty>No piece of what the model was sent shares a telling word with this.</Empty>}
      {board.cards.map((card, i) => (
        <Suspect key={i} card={card} rank={i + 1} onNext={(next) => go([...trail, next])} />
      ))}
      {(board.folded > 0 || board.silent > 0) && (
        <p className="muted">
          {board.folded > 0 && `${count(board.folded)} more share something. `}
          {board.silent > 0 && `${count(board.silent)} pieces share no telling word.`}
        </p>
      )}
      <Section title="What this cannot say">
        <ul className="honesty">
          {board.honesty.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      </Section>
    </>
  );
}

function Suspect({ card, rank, onNext }: { card: Card; rank: number; onNext: (claim: Claim) => void }) {
  const { piece } = card;
  return (
    <article className="suspect">
      <div className="piece-head">
        <span className="rank">{rank}</span>
        <div className="bar" title={`${Math.round(card.score * 100)} % of the telling words`}><i style={{ width: `${Math.max(2, card.score * 100)}%` }} /></div>
        <b className="num">{Math.round(card.score * 100)} %</b>
        <Chip tone="src">{excerpt(piece.source, 40)}</Chip>
        {piece.sourceId && <code>{excerpt(piece.sourceId, 60)}</code>}
        <span className="muted">{piece.slot}{piece.slot === "messages" ? ` · message ${piece.position}` : ""}</span>
        <span className="grow" />
        <CheckChip check={piece.check} />
      </div>
      <div className="piece-text"><Text value={piece.text} first={500} /></div>
      <p className="shares">shares {card.shared.slice(0, 10).map((word) => <mark key={word}>{excerpt(word, 40)}</mark>)}{card.shared.length > 10 && ` and ${card.shared.length - 10} more`}</p>
      <Chain links={card.custody} />
      {card.origin && <p className="origin">⚑ <Text value={card.origin} first={300} /></p>}
      {card.next && <button type="button" className="go-on" onClick={() => onNext(card.next!)}>Why {excerpt(card.next.title, 60)}? →</button>}
    </article>
  );
}

function Chain({ links }: { links: Link[] }) {
  if (!links.length) return null;
  return (
    <ol className="chain">
      {links.map((link, i) => (
        <li key={i}>
          <i aria-hidden="true">←</i> <StepLink step={link.step} moment={link.moment} /> <span><Text value={link.text} first={240} /></span>
        </li>
      ))}
    </ol>
  );
}

function ValueTrace({ target, setTarget }: { target: Target; setTarget: (target: Target) => void }) {
  const { rec, seek } = useLens();
  const slice = useMemo(() => sliceOfKey(rec, target.log, target.key, target.before), [rec, target]);
  if (slice.missing) return <Empty>{slice.missing}</Empty>;
  return (
    <>
      {slice.notes.map((note) => <p className="banner" key={note}>{note}</p>)}
      {slice.nodes.map((node) => (
        <article className={`slice d-${node.kind}`} key={node.step} style={{ marginLeft: Math.min(node.depth, 8) * 18 }}>
          <div className="piece-head">
            <Chip tone={node.kind === "control" ? "warn" : "src"}>{node.kind === "control" ? node.via : `${node.kind === "start" ? "" : "← "}${excerpt(node.via, 40)}`}</Chip>
            <b>{excerpt(node.name, 40)}</b>
            <StepLink step={node.step} moment={node.moment} />
          </div>
          <p className="reads">
            {node.reads.length ? "read " : "reads: none on record"}
            {node.reads.map((read) => (
              <button type="button" key={read.key} className={`keylink${read.writer < 0 ? " after" : ""}`} title={read.writer < 0 ? "never written before this: it was there from the start, or it is run input" : "start from here"} onClick={() => (read.writer < 0 ? seek(node.moment) : setTarget({ log: target.log, key: read.key, before: read.writer + 1 }))}>
                {excerpt(read.key, 40)}{read.writer < 0 ? " (start)" : ""}
              </button>
            ))}
          </p>
          {node.marks.map((mark) => <p className="reads warn-text" key={mark}>{mark}</p>)}
        </article>
      ))}
      {slice.truncated && <p className="banner">Cut at the limit of depth or size: go on from one of the keys above.</p>}
    </>
  );
}
