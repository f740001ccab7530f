// Small parts that several views use.

import { Component, type ReactNode } from "react";
import { useLens } from "../lens.ts";
import type { Check } from "../model/receipt.ts";
import { excerpt } from "../model/text.ts";

/** A step id that moves the cursor. */
export function StepLink({ step, moment }: { step: string; moment?: number | undefined }) {
  const { rec, seek } = useLens();
  const target = moment ?? rec.axis.ofStep.get(step);
  const label = excerpt(step, 70) || "(no step)";
  if (target === undefined || target < 0) return <code className="step dead">{label}</code>;
  return (
    <button type="button" className="step" onClick={() => seek(target)} title="move the cursor here">
      {label}
    </button>
  );
}

export function Chip({ tone = "", children, title }: { tone?: string; children: ReactNode; title?: string }) {
  return (
    <span className={`chip ${tone}`} title={title}>
      {children}
    </span>
  );
}

const CHECKS: Record<Check, [string, string, string]> = {
  verified: ["✓ verified", "ok", "its hash is on the receipt of this call: it went out exactly like this"],
  mismatch: ["≠ mismatch", "bad", "the receipt of this call has another hash: something else went out"],
  "cannot-say": ["unproven", "", "no receipt covers this piece"],
};

export function CheckChip({ check }: { check: Check }) {
  const [label, tone, title] = CHECKS[check];
  return (
    <Chip tone={`check ${tone}`} title={title}>
      {label}
    </Chip>
  );
}

export function Section({ title, aside, children }: { title: ReactNode; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="section">
      <header>
        <h3>{title}</h3>
        <span className="aside">{aside}</span>
      </header>
      {children}
    </section>
  );
}

export function Empty({ children }: { children: ReactNode }) {
  return <p className="empty">{children}</p>;
}

/** One view failing leaves the others working. */
export class Guard extends Component<{ name: string; children: ReactNode }, { error: string }> {
  override state = { error: "" };
  static getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <div className="failed" role="alert">
        <p>
          The view “{this.props.name}” could not be drawn: {excerpt(this.state.error, 200)}
        </p>
        <button type="button" onClick={() => this.setState({ error: "" })}>
          Try again
        </button>
      </div>
    );
  }
}
