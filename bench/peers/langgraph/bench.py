"""The LangGraph side of the agent benchmarks: the same loop, timed in one process.

Runs the workloads named on the command line (all when none is) and prints one JSON object per line:
{"workload": name, "steps": n, "totalMs": t, "perStepUs": u, "heapBytesPerStep": b}

A step is one model call of an agent with one tool: every call but the last asks for the tool. `agent-bare-<n>` has no
checkpointer; `agent-recorded-<n>` keeps a checkpoint of every step with the checkpointer that comes with LangGraph and lives
in memory.
"""

import gc
import json
import sys
import time
import tracemalloc

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

REPETITIONS = 3


@tool
def look() -> str:
    """Looks."""
    return "seen"


def agent(calls, checkpointer):
    made = 0

    def model(_state):
        nonlocal made
        made += 1
        if made == calls:
            made = 0
            return {"messages": [AIMessage("done")]}
        asked = [{"id": f"c{made}", "name": "look", "args": {}}]
        return {"messages": [AIMessage("", tool_calls=asked)]}

    def route(state):
        return "tools" if state["messages"][-1].tool_calls else END

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([look]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", route, ["tools", END])
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=checkpointer)


def once(calls, recorded, thread):
    saver = InMemorySaver() if recorded else None
    built = agent(calls, saver)
    config = {"recursion_limit": 2 * calls + 10, "configurable": {"thread_id": str(thread)}}
    started = time.perf_counter()
    state = built.invoke({"messages": [("user", "go")]}, config)
    total_ms = (time.perf_counter() - started) * 1000.0
    if len(state["messages"]) != 2 * calls:
        raise SystemExit(f"{calls} calls left {len(state['messages'])} messages")
    return total_ms, (state, saver)


def measure(name, calls, recorded):
    best = min(once(calls, recorded, at)[0] for at in range(REPETITIONS))
    # Memory in a run of its own: tracing costs time.
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    _, kept = once(calls, recorded, "memory")
    gc.collect()
    heap = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    del kept
    row = {
        "workload": name,
        "steps": calls,
        "totalMs": best,
        "perStepUs": best * 1000.0 / calls,
        "heapBytesPerStep": heap / calls,
    }
    print(json.dumps(row), flush=True)


def main():
    wanted = set(sys.argv[1:])
    once(20, True, "warm-up")
    for calls in (10, 50, 200, 1000):
        for kind in ("bare", "recorded"):
            name = f"agent-{kind}-{calls}"
            if not wanted or name in wanted:
                measure(name, calls, kind == "recorded")


main()
