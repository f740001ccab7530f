// The workspace: one cursor, shared by the rail, the chart and the view at hand.

import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { type Lens, LensContext, type Subject, VIEWS, type View } from "./lens.ts";
import { stopBefore } from "./model/axis.ts";
import { type KeyAction, useKeys } from "./useKeys.ts";
import { useNarrow } from "./useTheme.ts";
import { CallView } from "./views/CallView.tsx";
import { Chart } from "./views/Chart.tsx";
import { EventsView } from "./views/EventsView.tsx";
import { FindingsView } from "./views/FindingsView.tsx";
import { Header } from "./views/Header.tsx";
import { Guard } from "./views/parts.tsx";
import { Rail } from "./views/Rail.tsx";
import { Scrubber } from "./views/Scrubber.tsx";
import { StateView } from "./views/StateView.tsx";
import { StoryView } from "./views/StoryView.tsx";
import { ToolsView } from "./views/ToolsView.tsx";
import { type Target, WhyView } from "./views/WhyView.tsx";

const LABELS: Record<View, string> = { moments: "Moments", flow: "Chart", call: "Call", state: "State", tools: "Tools", why: "Why", findings: "Findings", story: "Story", events: "Events" };
const PLAY_MS = 450;

interface Props {
  subject: Subject;
  name: string;
  live: string;
  onOpen: () => void;
  theme: string;
  setTheme: (theme: string) => void;
}

export function Workspace({ subject, name, live, onOpen, theme, setTheme }: Props) {
  const { rec } = subject;
  const last = Math.max(0, rec.axis.moments.length - 1);
  const link = useRef(new URLSearchParams(location.hash.slice(1)));
  const [cursor, setCursor] = useState(() => fromLink(link.current, subject, last));
  const [grouped, setGrouped] = useState(link.current.get("axis") !== "commits");
  const [view, setView] = useState<View>(() => (isView(link.current.get("view")) ? (link.current.get("view") as View) : rec.axis.ofStep.size && subject.calls.length ? "call" : "state"));
  const [target, setTarget] = useState<Target>();
  const [playing, setPlaying] = useState(false);
  const [help, setHelp] = useState(false);
  const narrow = useNarrow(1080);

  // A live run grows: who stands at its end stays there, who looks back is left alone. Another file starts at its end.
  const before = useRef({ subject, last });
  if (before.current.subject !== subject) {
    const grew = live !== "" && last >= before.current.last;
    if (!grew || cursor >= before.current.last) setCursor(last);
    if (!grew) setTarget(undefined);
    before.current = { subject, last };
  }

  const seek = useCallback((moment: number) => setCursor(Math.max(0, Math.min(last, moment))), [last]);
  const step = useCallback(
    (by: number, everyCommit = false) =>
      setCursor((now) => {
        if (everyCommit || !grouped) return Math.max(0, Math.min(last, now + by));
        const stops = rec.axis.grouped;
        const place = stopBefore(stops, now);
        // Going back from between two stops leads to the earlier one.
        const next = by < 0 && stops[place] !== now ? place : place + by;
        return stops[Math.max(0, Math.min(stops.length - 1, next))] ?? 0;
      }),
    [grouped, last, rec],
  );
  // On the grouped axis a loop begins at its first stop.
  const loops = useMemo(() => {
    const { axis } = rec;
    if (!grouped) return axis.loops;
    return axis.loops.map((start) => axis.grouped[stopBefore(axis.grouped, start - 1) + 1] ?? start);
  }, [rec, grouped]);
  const loop = useCallback(
    (by: number) =>
      setCursor((now) => {
        const place = loops.length && loops[0]! <= now ? stopBefore(loops, now) : -1;
        if (by > 0) return loops[place + 1] ?? last;
        return place >= 0 && now > loops[place]! ? loops[place]! : (loops[place - 1] ?? 0);
      }),
    [loops, last],
  );
  useEffect(() => {
    if (!playing) return;
    if (cursor >= last) return setPlaying(false);
    const timer = setTimeout(() => step(1), PLAY_MS);
    return () => clearTimeout(timer);
  }, [playing, cursor, last, step]);
  useEffect(() => {
    // Kept back a little: browsers refuse an address that changes with every frame.
    const timer = setTimeout(() => {
      const here = new URLSearchParams({ at: String(cursor), view, ...(grouped ? {} : { axis: "commits" }) });
      history.replaceState(null, "", `#${here}`);
    }, 300);
    return () => clearTimeout(timer);
  }, [cursor, view, grouped]);

  const tabs: View[] = narrow ? ["moments", "flow", ...VIEWS] : [...VIEWS];
  const shown: View = !narrow && (view === "moments" || view === "flow") ? "call" : view;
  const actions = useMemo<KeyAction[]>(
    () => [
      { keys: ["ArrowRight"], label: "forward", run: () => step(1) },
      { keys: ["ArrowLeft"], label: "back", run: () => step(-1) },
      { keys: ["Shift+ArrowRight"], label: "forward by one commit", run: () => step(1, true) },
      { keys: ["Shift+ArrowLeft"], label: "back by one commit", run: () => step(-1, true) },
      { keys: ["]"], label: "next loop", run: () => loop(1) },
      { keys: ["["], label: "previous loop", run: () => loop(-1) },
      { keys: ["Home"], label: "first", run: () => seek(0) },
      { keys: ["End"], label: "last", run: () => seek(last) },
      { keys: [" "], label: "play or pause", run: () => setPlaying((now) => !now) },
      { keys: ["g"], label: "moments or every commit", run: () => setGrouped((now) => !now) },
      ...VIEWS.map((each, i) => ({ keys: [String(i + 1)], label: LABELS[each].toLowerCase(), run: () => setView(each) })),
      { keys: ["/"], label: "search", run: () => { if (narrow) setView("moments"); requestAnimationFrame(() => document.getElementById("search")?.focus()); } },
      { keys: ["t"], label: "dark or light", run: () => setTheme(theme === "dark" ? "light" : "dark") },
      { keys: ["o"], label: "open another recording", run: onOpen },
      { keys: ["?"], label: "this help", run: () => setHelp((now) => !now) },
      { keys: ["Escape"], label: "close the help", run: () => setHelp(false) },
    ],
    [step, loop, seek, last, narrow, theme, setTheme, onOpen],
  );
  useKeys(actions);

  const lens = useMemo<Lens>(
    () => ({ subject, rec, cursor, seek, grouped, setGrouped, view: shown, show: setView }),
    [subject, rec, cursor, seek, grouped, shown],
  );
  // The rail and the scrubber follow at once; the chart and the view at hand follow when there is time, so that a held
  // key never waits for them.
  const followed = useDeferredValue(cursor);
  const calm = useMemo<Lens>(() => ({ ...lens, cursor: Math.min(followed, last) }), [lens.subject, lens.rec, lens.seek, lens.grouped, lens.view, followed, last]);
  const transport = useMemo(() => ({ step, loop, playing, setPlaying }), [step, loop, playing]);
  const trace = (log: Target["log"], key: string, at: number): void => {
    setTarget({ log, key, before: at });
    setView("why");
  };
  const body = (which: View) => (
    <Guard name={LABELS[which]} key={which}>
      {which === "moments" && <Rail />}
      {which === "flow" && <Chart />}
      {which === "call" && <CallView />}
      {which === "state" && <StateView onTrace={trace} />}
      {which === "tools" && <ToolsView />}
      {which === "why" && <WhyView key={subject.overview.runId} target={target} setTarget={setTarget} />}
      {which === "findings" && <FindingsView />}
      {which === "story" && <StoryView />}
      {which === "events" && <EventsView />}
    </Guard>
  );
  const chart = useMemo(() => body("flow"), []);
  const inspected = useMemo(() => body(shown), [shown, target, subject]);
  const badge: Partial<Record<View, number>> = { tools: subject.tools.length, findings: subject.findings.filter((finding) => finding.severity !== "note").length, call: subject.calls.length };
  return (
    <LensContext value={lens}>
      <div className={`workspace${narrow ? " narrow" : ""}`}>
        <Header name={name} live={live} onOpen={onOpen} theme={theme} setTheme={setTheme} onHelp={() => setHelp(true)} />
        <Scrubber transport={transport} />
        <div className="panes">
          {!narrow && <aside className="pane">{body("moments")}</aside>}
          <LensContext value={calm}>
          {!narrow && <div className="pane">{chart}</div>}
          <main className="pane inspector">
            <div className="tabs" role="tablist">
              {tabs.map((each) => (
                <button type="button" role="tab" key={each} id={`tab-${each}`} aria-selected={shown === each} aria-controls="view" onClick={() => setView(each)}>
                  {LABELS[each]}
                  {badge[each] ? <span className={`badge${each === "findings" ? " hot" : ""}`}>{badge[each]}</span> : null}
                </button>
              ))}
            </div>
            <div className="tab-body" id="view" role="tabpanel" aria-labelledby={`tab-${shown}`} tabIndex={-1}>
              {inspected}
            </div>
          </main>
          </LensContext>
        </div>
        {help && <Help actions={actions} onClose={() => setHelp(false)} />}
      </div>
    </LensContext>
  );
}

function Help({ actions, onClose }: { actions: KeyAction[]; onClose: () => void }) {
  return (
    <div className="help" role="dialog" aria-label="keys" onClick={onClose}>
      <div className="help-card">
        <h2>Keys</h2>
        <dl>
          {actions.map((action) => (
            <div key={action.label}>
              <dt><kbd>{action.keys[0]!.replace("Arrow", "").replace("Left", "←").replace("Right", "→").replace(/^ $/, "space")}</kbd></dt>
              <dd>{action.label}</dd>
            </div>
          ))}
        </dl>
      </div>
    </div>
  );
}

const isView = (value: string | null): value is View => value !== null && value in LABELS;

/** A position sent along with the file: a moment, a step, or a commit of the run's own log. */
function fromLink(link: URLSearchParams, subject: Subject, last: number): number {
  const { axis } = subject.rec;
  const step = axis.ofStep.get(link.get("step") ?? "");
  if (step !== undefined) return step;
  const commit = link.get("commit");
  if (commit !== null && /^\d+$/.test(commit)) return axis.ofCommit.get("")?.[Number(commit)] ?? last;
  const at = link.get("at");
  return at !== null && /^\d+$/.test(at) ? Math.min(last, Number(at)) : last;
}
