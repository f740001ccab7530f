// Recorded text. It enters the page only as text nodes; control and direction characters are shown by name, and a long
// text is shown in parts, so that neither its content nor its size can do anything.

import { useState } from "react";
import { count, pieces } from "../model/text.ts";

const STEP = 64_000;

export function Text({ value, first = 4000, className = "" }: { value: string; first?: number; className?: string }) {
  const [shown, setShown] = useState(first);
  const rest = value.length - shown;
  return (
    <span className={`text ${className}`} dir="auto">
      <Pieces value={rest > 0 ? value.slice(0, shown) : value} />
      {rest > 0 && (
        <span className="more-line">
          … {count(rest)} of {count(value.length)} characters not shown{" "}
          <button type="button" className="link" onClick={() => setShown(shown + STEP)}>
            show {count(Math.min(STEP, rest))} more
          </button>
        </span>
      )}
    </span>
  );
}

export function Pieces({ value }: { value: string }) {
  return pieces(value).map((piece, i) =>
    piece.mark ? (
      <span key={i} className="ctl" title="a character that is not shown by itself">
        {piece.text}
      </span>
    ) : (
      piece.text
    ),
  );
}
