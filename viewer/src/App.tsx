// Opens a recording and hands it to the workspace.

import { type DragEvent, useCallback, useEffect, useRef, useState } from "react";
import { Subject } from "./lens.ts";
import { watch } from "./model/live.ts";
import type { Opened } from "./model/parse.ts";
import { Recording } from "./model/recording.ts";
import { embeddedText, fetchText, findSource, open, ownAddress, sentence, textOf } from "./source.ts";
import { useTheme } from "./useTheme.ts";
import { OpenPage } from "./views/OpenPage.tsx";
import { Workspace } from "./Workspace.tsx";

const SOURCE = findSource();
const EMBEDDED = SOURCE.kind === "embedded" ? embeddedText() : Promise.resolve(undefined);
const FIRST_BUSY = { embedded: "Opening…", address: "Loading the recording…", live: "Waiting for the run…", none: "" }[SOURCE.kind];

export function App() {
  const [subject, setSubject] = useState<Subject>();
  const [name, setName] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(FIRST_BUSY);
  const [live, setLive] = useState("");
  const [dragging, setDragging] = useState(false);
  const [theme, setTheme] = useTheme();
  const picker = useRef<HTMLInputElement>(null);
  const stopLive = useRef<() => void>(undefined);

  const take = useCallback((opened: Opened, from: string) => {
    setSubject(new Subject(new Recording(opened)));
    setName(from);
    setProblem("");
    setBusy("");
  }, []);
  const attempt = useCallback((act: () => void | Promise<void>) => {
    const fail = (error: unknown): void => {
      setProblem(sentence(error));
      setBusy("");
    };
    try {
      void Promise.resolve(act()).catch(fail);
    } catch (error) {
      fail(error);
    }
  }, []);
  /** Lets the page be drawn before a large text is read. */
  const later = useCallback((act: () => void | Promise<void>) => setTimeout(() => attempt(act), 20), [attempt]);

  useEffect(() => {
    if (SOURCE.kind === "embedded")
      attempt(async () => {
        const text = await EMBEDDED;
        if (text === undefined) setBusy("");
        else later(() => take(open(text), "in this page"));
      });
    if (SOURCE.kind === "address") attempt(async () => take(open(await fetchText(SOURCE.url)), SOURCE.url));
    if (SOURCE.kind === "live")
      attempt(() => {
        const base = ownAddress(SOURCE.base).href;
        setLive("live");
        stopLive.current = watch(
          base,
          (opened, done) => {
            take(opened, "live");
            setLive(done ? "ended" : "live");
          },
          (text) => setLive(text.slice(0, 80)),
        );
      });
    return () => stopLive.current?.();
  }, [attempt, later, take]);

  const openFile = useCallback(
    (file: File | undefined) => {
      if (!file) return;
      stopLive.current?.();
      setLive("");
      setBusy(`Opening ${file.name}…`);
      setProblem("");
      later(async () => {
        try {
          take(open(await textOf(file)), file.name);
        } catch (error) {
          setSubject(undefined);
          throw error;
        }
      });
    },
    [later, take],
  );
  const onDrop = (drop: DragEvent): void => {
    drop.preventDefault();
    setDragging(false);
    openFile(drop.dataTransfer.files[0]);
  };
  const pick = useCallback(() => picker.current?.click(), []);
  return (
    <div className="app" onDragOver={(drag) => { drag.preventDefault(); setDragging(true); }} onDragLeave={() => setDragging(false)} onDrop={onDrop}>
      <input ref={picker} type="file" accept=".json,.ndjson,.gz,application/json" hidden data-testid="file" onChange={(change) => { openFile(change.target.files?.[0]); change.target.value = ""; }} />
      {subject ? (
        <Workspace subject={subject} name={name} live={live} onOpen={pick} theme={theme} setTheme={setTheme} />
      ) : (
        <OpenPage problem={problem} busy={busy} onPick={pick} />
      )}
      {dragging && <div className="dropping">Drop the recording</div>}
    </div>
  );
}
