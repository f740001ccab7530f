// A list of any length: only the rows in sight exist.

import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef } from "react";

export function Rows({ count, size, row, active, label, measured = false }: { count: number; size: number; row: (index: number) => ReactNode; active?: number; label: string; measured?: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({ count, getScrollElement: () => box.current, estimateSize: () => size, overscan: 8 });
  useEffect(() => {
    if (active === undefined || active < 0 || active >= count) return;
    // Asking where things are costs a layout, so a row well in sight is left alone.
    const seen = list.range;
    if (seen && active > seen.startIndex && active < seen.endIndex) return;
    list.scrollToIndex(active, { align: "center" });
  }, [active, count, list]);
  return (
    <div className="rows" ref={box} role="list" aria-label={label} tabIndex={-1}>
      <div style={{ height: list.getTotalSize(), position: "relative" }}>
        {list.getVirtualItems().map((item) => (
          <div
            key={item.key}
            role="listitem"
            className="rows-item"
            data-index={item.index}
            ref={measured ? list.measureElement : undefined}
            style={{ transform: `translateY(${item.start}px)`, ...(measured ? {} : { height: size }) }}
          >
            {row(item.index)}
          </div>
        ))}
      </div>
    </div>
  );
}
