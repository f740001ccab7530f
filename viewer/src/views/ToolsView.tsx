// Every tool call: asked, run, answered; who decided on the way; where its values went.

import { useMemo, useState } from "react";
import { useLens } from "../lens.ts";
import { duration, excerpt } from "../model/text.ts";
import { type ToolCall, lineage } from "../model/tools.ts";
import { Json } from "./Json.tsx";
import { Chip, Empty, Section, StepLink } from "./parts.tsx";
import { Rows } from "./Rows.tsx";
import { Text } from "./Text.tsx";

export const TONE: Record<ToolCall["outcome"], string> = { ok: "ok", error: "bad", denied: "warn", paused: "warn", unknown: "" };

export function ToolsView() {
  const { subject, cursor, seek } = useLens();
  const { tools } = subject;
  const [picked, setPicked] = useState<ToolCall>();
  const edges = useMemo(() => (tools.length <= 2000 ? lineage(tools) : []), [tools]);
  const active = tools.findLastIndex((tool) => tool.moment <= cursor);
  const tool = picked && tools.includes(picked) ? picked : tools[Math.max(0, active)];
  if (!tool) return <Empty>No tool was called in this run.</Empty>;
  const from = edges.filter((edge) => edge.to === tool);
  const to = edges.filter((edge) => edge.from === tool);
  return (
    <div className="view split">
      <div className="tool-list" style={{ height: Math.min(260, 4 + tools.length * 36) }}>
        <Rows
          count={tools.length} size={36} active={tools.indexOf(tool)} label="tool calls"
          row={(index) => {
            const item = tools[index]!;
            return (
              <button type="button" className={`tool-row${item === tool ? " lit" : ""}${item.moment > cursor ? " after" : ""}`} onClick={() => { setPicked(item); seek(item.moment); }}>
                <b>{excerpt(item.name, 32) || "(unnamed)"}</b>
                <Chip tone={TONE[item.outcome]}>{item.outcome}</Chip>
                {item.changed && <Chip tone="warn">arguments changed</Chip>}
                <span className="grow" />
                <code className="muted">{excerpt(item.id, 28)}</code>
                <span className="muted num">{duration(item.durationMs)}</span>
              </button>
            );
          }}
        />
      </div>
      <div className="tool-detail">
        <div className="view-head">
          <h2>{excerpt(tool.name, 60) || "(unnamed)"}</h2>
          <Chip tone={TONE[tool.outcome]}>{tool.outcome}</Chip>
          <StepLink step={tool.step} moment={tool.moment} />
          {tool.call && <span className="muted">asked by call {tool.call.n + 1} <StepLink step={tool.call.step} moment={tool.call.moment} /></span>}
        </div>
        {tool.error && <div className="failed"><Text value={tool.error} /></div>}
        <Section title="Asked for" aside="the arguments the model wrote"><Json value={tool.proposed} open={3} /></Section>
        {tool.changed && <Section title="Ran with" aside="changed on the way"><Json value={tool.ran} open={3} /></Section>}
        {tool.decisions.length > 0 && (
          <Section title="Decided on the way">
            {tool.decisions.map((decision, i) => (
              <details key={i} className="decision">
                <summary><code>{excerpt(decision.name, 40)}</code> <Text value={decision.text} first={200} /></summary>
                <Json value={decision.payload} open={2} />
              </details>
            ))}
          </Section>
        )}
        <Section title="Result" aside={tool.durationMs === undefined ? "duration unknown" : duration(tool.durationMs)}>
          {tool.result === undefined && tool.delivered === undefined ? <Empty>No result is on record.</Empty> : <Json value={tool.result ?? tool.delivered} open={3} />}
          {tool.delivered !== undefined && tool.delivered !== tool.result && (
            <details>
              <summary>as it went back to the model</summary>
              <Text value={tool.delivered} />
            </details>
          )}
          {tool.progress > 0 && <p className="muted">{tool.progress} progress reports</p>}
        </Section>
        {from.length + to.length > 0 && (
          <Section title="Values in common" aside="equal text, not proof of use">
            {from.map((edge, i) => (
              <p key={`f${i}`} className="left-row"><code>{excerpt(edge.value, 60)}</code> came from <StepLink step={`${edge.from.name} ${edge.from.id}`} moment={edge.from.moment} /></p>
            ))}
            {to.map((edge, i) => (
              <p key={`t${i}`} className="left-row"><code>{excerpt(edge.value, 60)}</code> went into <StepLink step={`${edge.to.name} ${edge.to.id}`} moment={edge.to.moment} /></p>
            ))}
          </Section>
        )}
      </div>
    </div>
  );
}
