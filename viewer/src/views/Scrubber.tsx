// Transport and scrubber: one position, two axes.

import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { useLens } from "../lens.ts";
import { stopBefore } from "../model/axis.ts";
import { roleOf } from "../model/steps.ts";
import { count } from "../model/text.ts";

export interface Transport {
  step(by: number, everyCommit?: boolean): void;
  loop(by: number): void;
  playing: boolean;
  setPlaying(playing: boolean): void;
}

export function Scrubber({ transport }: { transport: Transport }) {
  const { rec, cursor, seek, grouped, subject } = useLens();
  const { moments } = rec.axis;
  const stops = useMemo(() => (grouped ? rec.axis.grouped : moments.map((moment) => moment.i)), [rec, grouped, moments]);
  const place = stopBefore(stops, cursor);
  const here = moments[cursor];
  return (
    <div className="scrubber">
      <div className="transport">
        <Key label="first (Home)" onClick={() => seek(0)}><path d="M3 3v10M13 3v10L5 8z" /></Key>
        <Key label="previous loop ([)" onClick={() => transport.loop(-1)}><path d="M8 3v10L2 8zM14 3v10L8 8z" /></Key>
        <Key label="back (←)" onClick={() => transport.step(-1)}><path d="M11 3v10L4 8z" /></Key>
        <Key label={transport.playing ? "pause (space)" : "play (space)"} onClick={() => transport.setPlaying(!transport.playing)}>{transport.playing ? <path d="M4 3h3v10H4zM9 3h3v10H9z" /> : <><circle cx="8" cy="8" r="6.6" fill="none" strokeWidth="1.4" /><path d="M6.5 5v6L11 8z" /></>}</Key>
        <Key label="forward (→)" onClick={() => transport.step(1)}><path d="M5 3v10l7-5z" /></Key>
        <Key label="next loop (])" onClick={() => transport.loop(1)}><path d="M2 3v10l6-5zM8 3v10l6-5z" /></Key>
        <Key label="last (End)" onClick={() => seek(moments.length - 1)}><path d="M3 3v10l8-5zM13 3v10" /></Key>
      </div>
      <div className="track">
        <Strip stops={stops} place={place} findings={subject.findings.filter((finding) => finding.severity !== "note").map((finding) => [finding.moment, finding.severity])} />
        <input
          type="range" min={0} max={Math.max(0, stops.length - 1)} value={place} aria-label="position in the run"
          aria-valuetext={here ? `${here.name}, commit ${here.rootIdx + 1} of ${rec.root.commits.length}` : "empty"}
          onChange={(change) => seek(stops[Number(change.target.value)] ?? 0)}
        />
      </div>
      <div className="where">
        <b>{here?.loop ? `loop ${here.loop} of ${rec.axis.loops.length}` : "before the first loop"}</b>
        <span>
          {rec.eventsOnly ? "step" : "commit"} {count(Math.max(0, (here?.rootIdx ?? -1) + 1))} of {count(rec.root.commits.length)}
          {here && here.depth > 0 ? ` · inside ${here.log.key}` : ""}
        </span>
      </div>
    </div>
  );
}

function Key({ label, onClick, children }: { label: string; onClick: () => void; children: ReactNode }) {
  return (
    <button type="button" className="key" aria-label={label} title={label} onClick={onClick}>
      <svg width="14" height="14" viewBox="0 0 16 16" fill="currentColor" stroke="currentColor" strokeWidth="1.2" strokeLinejoin="round" aria-hidden="true">{children}</svg>
    </button>
  );
}

/** Bands for loops, ticks for what happened, marks for findings; painted, because it may stand for tens of thousands of commits. */
function Strip({ stops, place, findings }: { stops: number[]; place: number; findings: [number, string][] }) {
  const { rec } = useLens();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, theme: "" });
  useEffect(() => {
    const box = canvas.current?.parentElement;
    if (!box) return;
    const look = () => setSize({ width: box.clientWidth, theme: document.documentElement.dataset["theme"] ?? "" });
    const watcher = new ResizeObserver(look);
    watcher.observe(box);
    const theme = new MutationObserver(look);
    theme.observe(document.documentElement, { attributes: true });
    return () => {
      watcher.disconnect();
      theme.disconnect();
    };
  }, []);
  // The picture of the whole run, made when the run or the axis changes; the cursor is drawn over a copy of it.
  const picture = useMemo(() => {
    if (!size.width) return undefined;
    const scale = window.devicePixelRatio || 1;
    const board = document.createElement("canvas");
    board.width = Math.round(size.width * scale);
    board.height = Math.round(34 * scale);
    const pen = board.getContext("2d");
    if (!pen) return undefined;
    pen.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string): string => style.getPropertyValue(name).trim();
    const x = (n: number): number => 8 + (stops.length < 2 ? 0 : (n / (stops.length - 1)) * (size.width - 16));
    let band = 0;
    for (let n = 0; n < stops.length; ) {
      const loop = rec.axis.moments[stops[n]!]?.loop ?? 0;
      let end = n;
      while (end < stops.length && rec.axis.moments[stops[end]!]?.loop === loop) end++;
      pen.fillStyle = colour(band++ % 2 ? "--band-b" : "--band-a");
      pen.fillRect(x(n), 5, Math.max(1, x(Math.min(end, stops.length - 1)) - x(n)), 24);
      n = end;
    }
    const tick: Record<string, string> = { llm: "--llm", action: "--tool", slot: "--slot" };
    let painted = -1;
    for (let n = 0; n < stops.length; n++) {
      const moment = rec.axis.moments[stops[n]!]!;
      const role = moment.first ? tick[roleOf(moment.step)] : undefined;
      const at = Math.round(x(n) * 2);
      if (!role && at === painted) continue;
      painted = at;
      pen.fillStyle = colour(role ?? "--tick");
      const tall = role === "--llm" || role === "--tool";
      pen.fillRect(x(n) - (tall ? 1 : 0.5), tall ? 9 : 14, tall ? 2 : 1, tall ? 16 : 6);
    }
    for (const [moment, severity] of findings) {
      pen.fillStyle = colour(severity === "error" ? "--bad" : "--warn");
      pen.beginPath();
      pen.arc(x(stopBefore(stops, moment)), 4.5, 3, 0, 7);
      pen.fill();
    }
    return { board, x, scale, ink: colour("--cursor") };
  }, [rec, stops, size, findings.length]);
  useEffect(() => {
    const pen = canvas.current?.getContext("2d");
    if (!pen || !canvas.current || !picture) return;
    canvas.current.width = picture.board.width;
    canvas.current.height = picture.board.height;
    pen.drawImage(picture.board, 0, 0);
    pen.scale(picture.scale, picture.scale);
    pen.fillStyle = picture.ink;
    pen.fillRect(picture.x(place) - 1.25, 2, 2.5, 30);
    pen.beginPath();
    pen.arc(picture.x(place), 30, 4, 0, 7);
    pen.fill();
  }, [picture, place]);
  return <canvas ref={canvas} className="strip" aria-hidden="true" />;
}
