// The keyboard: one table, shown by the help as well.

import { useEffect } from "react";

export interface KeyAction {
  keys: string[];
  label: string;
  run(): void;
}

export function useKeys(actions: KeyAction[]): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const target = event.target as HTMLElement | null;
      const typing = target instanceof HTMLInputElement && target.type !== "range" && target.type !== "checkbox";
      if (typing) {
        if (event.key === "Escape") target.blur();
        return;
      }
      const name = event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : event.key;
      const action = actions.find((candidate) => candidate.keys.includes(name));
      if (!action) return;
      // The space bar presses the button that has the focus; elsewhere it plays.
      if (name === " " && target instanceof HTMLButtonElement) return;
      event.preventDefault();
      action.run();
    };
    // Before the range input sees the arrows, so that they mean the same everywhere.
    window.addEventListener("keydown", onKey, true);
    return () => window.removeEventListener("keydown", onKey, true);
  }, [actions]);
}
