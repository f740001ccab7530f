// What this file cannot answer, and what would have answered it.

export interface Limit {
  id: string;
  what: string;
  remedy: string;
}

const TEXTS: Record<string, [string, string]> = {
  "no-events": ["There are no events: durations, token counts, findings and decisions on the way are unknown.", "Record with the event tail on."],
  "no-snapshot": ["There are only events: state, diffs and data traces are not available.", "Save the recording when the run has ended."],
  "no-structure": ["The chart's structure is not in the file: the steps that ran are listed instead of a flowchart.", "Keep `structure` in the recording."],
  "no-fold-base": ["The starting state is not in the file: values that were never written during the run are missing from the state.", "Recordings of this project always hold `initialState`."],
  "no-boundaries": ["Entries and exits of subflows were not recorded.", "Record through the run's recorder, not by hand."],
  "lean-boundaries": ["Boundary rows are lean: payloads at entries and exits are not in the file.", "Record with `boundary_detail: full`."],
  "no-narrative": ["There is no narrative; the story below is told from events and steps.", "Attach the narrative recorder."],
  "no-control-deps": ["Which decision let a step run was not recorded; it is derived from the tree where possible.", "Attach the control-dependency recorder."],
  "not-complete": ["The file says that the run had not ended when it was written.", "Save it again after the run."],
};

export function explainLimit(id: string): Limit {
  const known = TEXTS[id];
  if (known) return { id, what: known[0], remedy: known[1] };
  const counted = /^([a-z-]+)\((.*)\)$/.exec(id);
  const n = counted?.[2] ?? "";
  if (counted?.[1] === "events-dropped") return { id, what: `${n} early events were dropped because the buffer was full.`, remedy: "Raise `max_events`." };
  if (counted?.[1] === "events-unreadable") return { id, what: `${n} events could not be read and are left out.`, remedy: "The file is damaged or was edited." };
  if (counted?.[1] === "commit-gaps") return { id, what: `${n} commits could not be folded; the state after them may be incomplete.`, remedy: "Open it with the version that wrote it." };
  return { id, what: id, remedy: "" };
}
