// The run as a story, lit up to the cursor.

import { useMemo } from "react";
import { useLens } from "../lens.ts";
import { tell } from "../model/story.ts";
import { Empty } from "./parts.tsx";
import { Rows } from "./Rows.tsx";
import { Text } from "./Text.tsx";

const BASIS = { narrative: "as the run's own narrator wrote it", events: "told from the events; no narrative was recorded", steps: "told from the steps; no narrative and no events were recorded" };

export function StoryView() {
  const { rec, cursor, seek } = useLens();
  const { lines, basis } = useMemo(() => tell(rec), [rec]);
  if (!lines.length) return <Empty>Nothing is on record that could be told.</Empty>;
  const active = lines.findLastIndex((line) => line.moment >= 0 && line.moment <= cursor);
  return (
    <div className="view full">
      <div className="view-head"><h2>Story</h2><span className="muted">{BASIS[basis]}</span></div>
      <Rows
        count={lines.length} size={46} measured active={active} label="the run in sentences"
        row={(index) => {
          const line = lines[index]!;
          return (
            <button type="button" className={`story-line w-${line.who}${line.moment > cursor ? " after" : ""}${index === active ? " lit" : ""}`} style={{ paddingLeft: 14 + line.depth * 16 }} onClick={() => line.moment >= 0 && seek(line.moment)}>
              <span className="story-text"><Text value={line.text} first={600} /></span>
              {line.quote && <span className="story-quote"><Text value={line.quote.slice(0, 1200)} first={1200} /></span>}
            </button>
          );
        }}
      />
    </div>
  );
}
