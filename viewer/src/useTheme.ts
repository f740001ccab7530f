import { useEffect, useState } from "react";

/** Dark or light: the system's choice until the reader makes one, which lasts as long as the page. */
export function useTheme(): [string, (theme: string) => void] {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const [chosen, choose] = useState("");
  const [system, setSystem] = useState(dark.matches ? "dark" : "light");
  useEffect(() => {
    const look = () => setSystem(dark.matches ? "dark" : "light");
    dark.addEventListener("change", look);
    return () => dark.removeEventListener("change", look);
  });
  const theme = chosen || system;
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
  }, [theme]);
  return [theme, choose];
}

export function useNarrow(width: number): boolean {
  const query = window.matchMedia(`(max-width: ${width}px)`);
  const [narrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const look = () => setNarrow(query.matches);
    query.addEventListener("change", look);
    return () => query.removeEventListener("change", look);
  });
  return narrow;
}
