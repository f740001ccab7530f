import { describe, expect, it } from "vitest";
import { stopBefore } from "../src/model/axis.ts";
import { flowOf } from "../src/model/flow.ts";
import { levelOf, lightsAt, runsOf } from "../src/model/lit.ts";
import { agentOf, localOf, milestoneOf, roleOf, stageOf } from "../src/model/steps.ts";
import { flattenTrees } from "../src/model/tree.ts";
import type { Obj } from "../src/model/json.ts";
import { commit, recording } from "./helpers.ts";

describe("step ids", () => {
  it("are read on their last segment, bare and prefixed", () => {
    expect(localOf("a/sf-tools/compose#13")).toBe("compose");
    expect(stageOf("a/b#13")).toBe("a/b");
    expect(stageOf("tool-calls#paused")).toBe("tool-calls");
    expect(roleOf("step-x/call-llm#4")).toBe("llm");
    expect(roleOf("final#4")).toBe("boundary");
    expect(roleOf("anything#1")).toBe("boundary");
    expect(agentOf("step-x/sf-llm-call/call-llm#4")).toBe("step-x");
    expect(agentOf("sf-llm-call/call-llm#4")).toBe(agentOf("tool-calls#9"));
  });
  it("declared tags win over ids", () => {
    expect(milestoneOf("call-llm#1", [])).toEqual({ kind: "llm-turn", label: "LLM turn" });
    expect(milestoneOf("call-llm#1", ["milestone:custom", "milestone-label:Mine"])).toEqual({ kind: "custom", label: "Mine" });
    expect(milestoneOf("call-llm#1", ["other"])).toBeUndefined();
  });
});

const inner = (key: string, stages: string[]) => ({
  treeContext: { history: [commit(0, key, [["in", "set", 1]]), ...stages.map((stage, i) => commit(i + 1, stage, [["out", "set", i]]))] },
});

describe("the axis", () => {
  const rec = recording(
    [
      commit(0, "seed#0"), commit(1, "sf-injection-engine#1"), commit(2, "sf-injection-engine#1", [], { phase: "exit" }), commit(3, "call-llm#4"), commit(4, "tool-calls#5"),
      commit(5, "sf-injection-engine#6", [], { stage: "sf-injection-engine.1" }), commit(6, "call-llm#8"), commit(7, "final#9"),
    ],
    { snapshot: { subflowResults: { "sf-injection-engine": inner("sf-injection-engine#6", []), "sf-injection-engine#1": inner("sf-injection-engine#1", ["sf-injection-engine/gather#2"]), "sf-injection-engine#6": inner("sf-injection-engine#6", ["sf-injection-engine/gather#7"]) } } },
  );
  it("puts the commits of a mount before its merge-back and holds every commit once", () => {
    expect(rec.axis.moments.map((moment) => `${moment.depth}${moment.step}`)).toEqual([
      "0seed#0", "1sf-injection-engine#1", "1sf-injection-engine/gather#2", "0sf-injection-engine#1", "0sf-injection-engine#1", "0call-llm#4", "0tool-calls#5",
      "1sf-injection-engine#6", "1sf-injection-engine/gather#7", "0sf-injection-engine#6", "0call-llm#8", "0final#9",
    ]);
    expect(rec.axis.moments.map((moment) => moment.i)).toEqual(rec.axis.moments.map((_, i) => i));
  });
  /// Proves REC-169.
  it("counts loops where they open, and the root position moves only with the run's own commits", () => {
    expect(rec.axis.loops).toEqual([1, 7]);
    expect(rec.axis.moments.map((moment) => moment.loop)).toEqual([0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
    expect(rec.axis.moments.map((moment) => moment.rootIdx)).toEqual([0, 0, 0, 1, 2, 3, 4, 4, 4, 5, 6, 7]);
  });
  it("stops at milestones and at both ends", () => {
    expect(rec.axis.grouped.map((i) => rec.axis.moments[i]!.step)).toEqual(["seed#0", "sf-injection-engine#1", "call-llm#4", "tool-calls#5", "sf-injection-engine#6", "call-llm#8", "final#9"]);
  });
  it("names a stage visited again by its first name", () => {
    expect(rec.axis.moments[9]!.name).toBe("sf-injection-engine");
  });
  it("finds the stop at or before a moment", () => {
    expect(stopBefore([0, 5, 9], 4)).toBe(0);
    expect(stopBefore([0, 5, 9], 5)).toBe(1);
    expect(stopBefore([0, 5, 9], 99)).toBe(2);
    expect(stopBefore([], 3)).toBe(0);
  });
  /// Proves REC-170.
  it("lights the chart as of the cursor", () => {
    const flow = flowOf({ id: "seed", type: "stage", next: { id: "call-llm", type: "stage", next: { id: "never", type: "stage" } } }, [])!;
    const runs = runsOf(rec);
    const at = (cursor: number) => flow.nodes.map((node) => lightsAt(rec, runs, flow, cursor).get(node.id)!).map((light) => `${light.done}/${light.total}${light.current ? "*" : ""}`);
    expect(at(0)).toEqual(["1/1*", "0/2", "0/0"]);
    expect(at(5)).toEqual(["1/1", "1/2*", "0/0"]);
    expect(at(11)).toEqual(["1/1", "2/2", "0/0"]);
  });
  it("shows a step at the level whose chart holds it", () => {
    expect(levelOf("step-a/sf-messages/compose#4")).toEqual(["step-a"]);
    expect(levelOf("step-a/sf-llm-call/call-llm#4")).toEqual(["step-a", "sf-llm-call"]);
    expect(levelOf("sf-tools/discover#4")).toEqual([]);
  });
});

describe("the flowchart", () => {
  const structure: Obj = {
    id: "seed", type: "stage", next: {
      id: "pick", type: "decider", hasDecider: true, children: [
        { id: "again", type: "stage", loopTarget: "seed", next: { id: "seed", type: "loop", isLoopReference: true } },
        { id: "done", type: "stage", isSubflowRoot: true, subflowId: "done", subflowStructure: { id: "in", type: "stage" } },
      ], next: { id: "after", type: "stage" },
    },
  };
  it("draws branches beside one another, joins them, and turns a loop reference into an edge back", () => {
    const flow = flowOf(structure, [])!;
    expect(flow.nodes.map((node) => `${node.stage}:${node.kind}`)).toEqual(["seed:stage", "pick:decider", "again:stage", "done:mount", "after:stage"]);
    const name = (id: string) => flow.nodes.find((node) => node.id === id)!.stage;
    expect(flow.edges.map((edge) => `${name(edge.from)}>${name(edge.to)}:${edge.kind}`)).toEqual(["seed>pick:next", "pick>again:branch", "pick>done:branch", "done>after:next", "again>seed:loop"]);
    const boxes = flow.nodes.map((node) => `${node.x},${node.y}`);
    expect(new Set(boxes).size).toBe(boxes.length);
  });
  it("goes into mounts and says when it cannot", () => {
    expect(flowOf(structure, ["done"])!.nodes.map((node) => node.stage)).toEqual(["done/in"]);
    expect(flowOf(structure, ["nowhere"])).toBeUndefined();
    expect(flowOf(undefined, [])).toBeUndefined();
  });
  it("survives a structure that contains itself", () => {
    const loop: { id: string; type: string; next?: unknown } = { id: "a", type: "stage" };
    loop.next = loop;
    expect(flowOf(loop as never, [])!.nodes).toHaveLength(1);
  });
});

describe("execution trees", () => {
  it("are walked without recursion and name the decider of a branch", () => {
    let tree: Record<string, unknown> = { runtimeStageId: "end#0" };
    for (let i = 1; i < 30_000; i++) tree = { runtimeStageId: `s#${i}`, next: tree };
    const steps = flattenTrees([{ runtimeStageId: "d#1", flowMessages: [{ type: "branch" }], children: [{ runtimeStageId: "b#2", stageReads: { k: 1 } }], next: tree }]);
    expect(steps.size).toBe(30_002);
    expect(steps.get("b#2")).toMatchObject({ decider: "d#1", reads: ["k"] });
  });
});
