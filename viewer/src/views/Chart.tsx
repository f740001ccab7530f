// The flowchart of one level, lit by the cursor.

import { Background, BaseEdge, Controls, type Edge, type EdgeProps, Handle, MarkerType, type Node, type NodeProps, Position, ReactFlow, ReactFlowProvider, useReactFlow } from "@xyflow/react";
import { useEffect, useMemo, useRef, useState } from "react";
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

/** Nothing to see: it widens what “fit” looks at by the lane in which loops run back. */
const Pad = () => <div className="pad" />;

/** A loop runs down, along a lane left of everything, and back into its target from the side. */
function LoopEdge({ id, sourceX, sourceY, targetX, targetY, data, markerEnd }: EdgeProps<Edge<{ lane: number }>>) {
  const lane = data?.lane ?? 0;
  const low = sourceY + 20;
  const r = 12;
  const path = `M${sourceX},${sourceY} V${low - r} Q${sourceX},${low} ${sourceX - r},${low} H${lane + r} Q${lane},${low} ${lane},${low - r} V${targetY + r} Q${lane},${targetY} ${lane + r},${targetY} H${targetX}`;
  return <BaseEdge id={id} path={path} {...(markerEnd ? { markerEnd } : {})} />;
}

const nodeTypes = { box: BoxNode, pad: Pad };
const edgeTypes = { back: LoopEdge };
const LANE = 34;

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
  const left = Math.min(0, ...flow.nodes.map((node) => node.x));
  const loops = flow.edges.filter((edge) => edge.kind === "loop");
  // What looks the same stays the same object: a step of the cursor redraws the two or three boxes that it changes.
  const kept = useRef({ flow, items: new Map<string, { look: string; item: Box | Edge }>() });
  if (kept.current.flow !== flow) kept.current = { flow, items: new Map() };
  const keep = <T extends Box | Edge>(id: string, look: string, make: () => T): T => {
    const old = kept.current.items.get(id);
    if (old?.look === look) return old.item as T;
    const item = make();
    kept.current.items.set(id, { look, item });
    return item;
  };
  const nodes: (Box | Node)[] = flow.nodes.map((node) => {
    const light = lights.get(node.id)!;
    return keep<Box>(node.id, `${light.done}/${light.total}/${light.current}`, () => ({
      id: node.id, type: "box", position: { x: node.x, y: node.y }, width: WIDTH, height: HEIGHT,
      data: { flow: node, light, onEnter: enterable.has(node.id) ? enter : undefined },
      ariaLabel: `${excerpt(node.name, 40)}: ran ${light.done} of ${light.total} times`,
    }));
  });
  if (loops.length) nodes.push({ id: "pad", type: "pad", position: { x: left - LANE - loops.length * 10, y: 0 }, width: 1, height: 1, data: {}, focusable: false });
  const edges: Edge[] = flow.edges.map((edge) => {
    const live = (lights.get(edge.from)?.done ?? 0) > 0 && (lights.get(edge.to)?.done ?? 0) > (edge.kind === "loop" ? 1 : 0);
    return keep<Edge>(edge.id, String(live), () => ({
      id: edge.id, source: edge.from, target: edge.to,
      ...(edge.kind === "loop" ? { type: "back", targetHandle: "in", data: { lane: left - LANE - loops.indexOf(edge) * 10 } } : { type: "smoothstep", pathOptions: { borderRadius: 10 } }),
      className: `edge ${edge.kind}${live ? " live" : ""}`,
      markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14, color: live ? "var(--accent)" : "var(--edge)" },
    }));
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
        nodes={nodes} edges={edges} nodeTypes={nodeTypes} edgeTypes={edgeTypes} nodesDraggable={false} nodesConnectable={false} edgesFocusable={false} elementsSelectable={false}
        nodesFocusable minZoom={0.15} maxZoom={1.6} fitView fitViewOptions={{ padding: 0.08, maxZoom: 1 }} deleteKeyCode={null} disableKeyboardA11y
        onNodeClick={(_click, node) => {
          if (node.type !== "box") return;
          const runs = subject.runs.get((node as Box).data.flow.stage) ?? [];
          const next = runs.find((moment) => moment > cursor) ?? runs[0];
          if (next !== undefined) seek(next);
        }}
      >
        <Background gap={22} size={1} color="var(--grid)" />
        <Controls showInteractive={false} position="top-right" orientation="horizontal" />
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
