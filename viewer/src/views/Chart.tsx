// The flowchart of one level, lit by the cursor.

import { Background, Controls, type Edge, Handle, MarkerType, type Node, type NodeProps, Position, ReactFlow, ReactFlowProvider, useReactFlow } from "@xyflow/react";
import { useEffect, useMemo, useState } from "react";
import { useLens } from "../lens.ts";
import { type FlowNode, HEIGHT, WIDTH, flowOf, flowOfSteps } from "../model/flow.ts";
import { type Light, levelOf, lightsAt } from "../model/lit.ts";
import { excerpt } from "../model/text.ts";

type Box = Node<{ flow: FlowNode; light: Light; onEnter: ((id: string) => void) | undefined }, "box">;

const KINDS: Record<FlowNode["kind"], string> = { stage: "", decider: "decides", selector: "selects", fork: "splits", mount: "" };

function BoxNode({ data }: NodeProps<Box>) {
  const { flow, light, onEnter } = data;
  const status = light.current ? "current" : light.done ? "done" : light.total ? "later" : "never";
  return (
    <div className={`box ${status} r-${flow.role} t-${flow.kind}`} title={excerpt(flow.description, 200)} style={{ width: WIDTH, height: HEIGHT }}>
      <Handle type="target" position={Position.Top} />
      <Handle type="source" position={Position.Bottom} />
      <Handle type="target" position={Position.Left} id="in" />
      <Handle type="source" position={Position.Left} id="out" />
      <span className="box-name">{excerpt(flow.name, 26)}</span>
      <span className="box-sub">
        {light.total === 0 ? "did not run" : light.done === light.total ? `ran ${light.total}×` : `${light.done} of ${light.total}×`}
        {KINDS[flow.kind] && ` · ${KINDS[flow.kind]}`}
        {flow.pausable && " · may pause"}
      </span>
      {onEnter && (
        <button type="button" className="enter nodrag" onClick={(click) => { click.stopPropagation(); onEnter(flow.stage.slice(flow.stage.lastIndexOf("/") + 1)); }} aria-label={`look inside ${excerpt(flow.name, 26)}`} title="look inside">
          ⤢
        </button>
      )}
    </div>
  );
}

const nodeTypes = { box: BoxNode };

export function Chart() {
  return (
    <ReactFlowProvider>
      <Inner />
    </ReactFlowProvider>
  );
}

function Inner() {
  const { rec, subject, cursor, seek } = useLens();
  const here = rec.axis.moments[cursor];
  const wanted = here ? levelOf(here.step).join("/") : "";
  const [pinned, setPinned] = useState<string | undefined>(undefined);
  const key = pinned ?? wanted;
  const flow = useMemo(() => {
    const path = key ? key.split("/") : [];
    // A level that the structure does not hold (a mount recorded without it): show the nearest one above.
    for (let depth = path.length; depth >= 0; depth--) {
      const found = flowOf(rec.structure, path.slice(0, depth));
      if (found) return found;
    }
    return flowOfSteps(rec);
  }, [rec, key]);
  const lights = lightsAt(rec, subject.runs, flow, cursor);
  const canEnter = (node: FlowNode): boolean => node.kind === "mount" || flowOf(rec.structure, [...flow.path, node.stage.slice(node.stage.lastIndexOf("/") + 1)]) !== undefined;
  const enterable = useMemo(() => new Set(flow.nodes.filter(canEnter).map((node) => node.id)), [flow]);
  const enter = (id: string): void => setPinned([...flow.path, id].join("/"));
  const nodes: Box[] = flow.nodes.map((node) => ({
    id: node.id, type: "box", position: { x: node.x, y: node.y }, width: WIDTH, height: HEIGHT,
    data: { flow: node, light: lights.get(node.id)!, onEnter: enterable.has(node.id) ? enter : undefined },
    ariaLabel: `${excerpt(node.name, 40)}: ran ${lights.get(node.id)!.done} of ${lights.get(node.id)!.total} times`,
  }));
  const edges: Edge[] = flow.edges.map((edge) => {
    const live = (lights.get(edge.from)?.done ?? 0) > 0 && (lights.get(edge.to)?.done ?? 0) > (edge.kind === "loop" ? 1 : 0);
    return {
      id: edge.id, source: edge.from, target: edge.to, type: "smoothstep",
      ...(edge.kind === "loop" ? { sourceHandle: "out", targetHandle: "in", pathOptions: { offset: 28, borderRadius: 14 } } : { pathOptions: { borderRadius: 10 } }),
      className: `edge ${edge.kind}${live ? " live" : ""}`,
      markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14, color: live ? "var(--accent)" : "var(--edge)" },
    };
  });
  return (
    <div className="chart">
      <nav className="crumbs" aria-label="level of the chart">
        <button type="button" onClick={() => setPinned("")}>run</button>
        {flow.path.map((part, i) => (
          <span key={i}>
            <i>›</i>
            <button type="button" onClick={() => setPinned(flow.path.slice(0, i + 1).join("/"))}>{excerpt(part, 30)}</button>
          </span>
        ))}
        <span className="grow" />
        {pinned !== undefined && <button type="button" className="follow" onClick={() => setPinned(undefined)}>follow the cursor</button>}
        {!rec.structure && <span className="muted">no structure: the steps that ran, in order</span>}
      </nav>
      <ReactFlow
        nodes={nodes} edges={edges} nodeTypes={nodeTypes} nodesDraggable={false} nodesConnectable={false} edgesFocusable={false} elementsSelectable={false}
        nodesFocusable minZoom={0.15} maxZoom={1.6} fitView fitViewOptions={{ padding: 0.08, maxZoom: 1 }} deleteKeyCode={null} disableKeyboardA11y
        onNodeClick={(_click, node) => {
          const runs = subject.runs.get(node.data.flow.stage) ?? [];
          const next = runs.find((moment) => moment > cursor) ?? runs[0];
          if (next !== undefined) seek(next);
        }}
      >
        <Background gap={22} size={1} color="var(--grid)" />
        <Controls showInteractive={false} />
        <Fit level={flow.path.join("/")} />
      </ReactFlow>
    </div>
  );
}

/** A new level or a new size is looked at as a whole. */
function Fit({ level }: { level: string }) {
  const { fitView } = useReactFlow();
  useEffect(() => {
    const fit = () => void fitView({ padding: 0.08, maxZoom: 1 });
    const frame = requestAnimationFrame(fit);
    window.addEventListener("resize", fit);
    return () => {
      cancelAnimationFrame(frame);
      window.removeEventListener("resize", fit);
    };
  }, [level, fitView]);
  return null;
}
