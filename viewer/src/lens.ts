// What every view gets: the recording with its derived lists, and the one cursor.

import { createContext, useContext } from "react";
import { type Call, findCalls } from "./model/calls.ts";
import { type Finding, findFindings } from "./model/findings.ts";
import { runsOf } from "./model/lit.ts";
import { type Overview, overviewOf } from "./model/overview.ts";
import type { Recording } from "./model/recording.ts";
import { summaries } from "./model/summary.ts";
import { type ToolCall, findTools } from "./model/tools.ts";

/** The recording with everything the views share, each part made once. */
export class Subject {
  constructor(readonly rec: Recording) {}
  private made = new Map<string, unknown>();
  private once<T>(key: string, make: () => T): T {
    if (!this.made.has(key)) this.made.set(key, make());
    return this.made.get(key) as T;
  }
  get calls(): Call[] {
    return this.once("calls", () => findCalls(this.rec));
  }
  get tools(): ToolCall[] {
    return this.once("tools", () => findTools(this.rec, this.calls));
  }
  get findings(): Finding[] {
    return this.once("findings", () => findFindings(this.rec, this.tools));
  }
  get overview(): Overview {
    return this.once("overview", () => overviewOf(this.rec, this.calls, this.tools));
  }
  get summaries(): Map<number, string> {
    return this.once("summaries", () => summaries(this.rec, this.calls, this.tools));
  }
  get runs(): Map<string, number[]> {
    return this.once("runs", () => runsOf(this.rec));
  }
}

export const VIEWS = ["call", "state", "tools", "why", "findings", "story", "events"] as const;
export type View = (typeof VIEWS)[number] | "moments" | "flow";

export interface Lens {
  subject: Subject;
  rec: Recording;
  /** Position on the axis. */
  cursor: number;
  seek(moment: number): void;
  grouped: boolean;
  setGrouped(grouped: boolean): void;
  view: View;
  show(view: View): void;
}

export const LensContext = createContext<Lens | undefined>(undefined);

export function useLens(): Lens {
  const lens = useContext(LensContext);
  if (!lens) throw new Error("a view stands outside of the lens");
  return lens;
}
