// One line per moment for the rail: what happened there, in the words of the record.

import type { Call } from "./calls.ts";
import { str } from "./json.ts";
import type { Recording } from "./recording.ts";
import { excerpt } from "./text.ts";
import type { ToolCall } from "./tools.ts";

export function summaries(rec: Recording, calls: Call[], tools: ToolCall[]): Map<number, string> {
  const lines = new Map<number, string>();
  const add = (moment: number, line: string): void => {
    const old = lines.get(moment);
    lines.set(moment, old ? `${old} · ${line}` : line);
  };
  for (const call of calls) {
    if (call.content) add(call.moment, excerpt(call.content, 90));
    if (call.asked.length) add(call.moment, `asks ${call.asked.map((asked) => str(asked["name"])).join(", ")}`);
  }
  for (const tool of tools) add(tool.moment, `${tool.name}${tool.outcome === "ok" ? "" : ` (${tool.outcome})`}`);
  for (const event of rec.eventsNamed("agent.route_decided")) add(event.moment, str(event.payload["chosen"]));
  for (const event of rec.eventsNamed("composition.route_decided")) add(event.moment, str(event.payload["chosen"]));
  for (const event of rec.eventsNamed("context.evaluated")) {
    const ids = event.payload["activeIds"];
    // Said by an inner step; shown at the mount it belongs to as well.
    if (Array.isArray(ids) && ids.length) add(event.moment, `active: ${ids.map(str).join(", ")}`);
  }
  return lines;
}
