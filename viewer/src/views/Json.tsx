// A value as a tree that opens part by part.

import { useState } from "react";
import { type Json as Value, isObj } from "../model/json.ts";
import { brief, count } from "../model/text.ts";
import { Pieces, Text } from "./Text.tsx";

const PAGE = 50;

export function Json({ value, open = 1 }: { value: Value | undefined; open?: number }) {
  if (value === undefined) return <span className="muted">not recorded</span>;
  if (Array.isArray(value)) return <Branch entries={value.map((item, i) => [String(i), item])} list open={open} />;
  if (isObj(value)) return <Branch entries={Object.keys(value).map((key) => [key, value[key] as Value])} list={false} open={open} />;
  if (typeof value === "string")
    return (
      <span className="j-str">
        <Text value={value} first={1200} />
      </span>
    );
  return <span className={`j-${value === null ? "null" : typeof value}`}>{String(value)}</span>;
}

function Branch({ entries, list, open }: { entries: [string, Value][]; list: boolean; open: number }) {
  const [shown, setShown] = useState(PAGE);
  if (!entries.length) return <span className="muted">{list ? "[ ]" : "{ }"}</span>;
  return (
    <div className="j-branch">
      {entries.slice(0, shown).map(([key, value]) => (
        <Entry key={key} name={key} value={value} open={open} list={list} />
      ))}
      {entries.length > shown && (
        <button type="button" className="link" onClick={() => setShown(shown + PAGE * 4)}>
          {count(entries.length - shown)} more
        </button>
      )}
    </div>
  );
}

function Entry({ name, value, open, list }: { name: string; value: Value; open: number; list: boolean }) {
  const deep = value !== null && typeof value === "object" && Object.keys(value).length > 0;
  const [isOpen, setOpen] = useState(open > 0);
  const label = (
    <span className={list ? "j-index" : "j-key"}>
      <Pieces value={name.slice(0, 200)} />
    </span>
  );
  if (!deep)
    return (
      <div className="j-row">
        {label} <Json value={value} open={open - 1} />
      </div>
    );
  return (
    <div className="j-row">
      <button type="button" className="j-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span className="caret">{isOpen ? "▾" : "▸"}</span>
        {label}
        {!isOpen && <span className="muted j-brief">{brief(value, 100)}</span>}
      </button>
      {isOpen && <Json value={value} open={open - 1} />}
    </div>
  );
}
