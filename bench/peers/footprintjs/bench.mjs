// Runs the engine workloads of `cargo xtask bench` on footprintjs and prints one JSON object per line:
// {"workload": name, "steps": n, "totalMs": t, "perStepUs": u, "heapBytesPerStep": b, "windowsUs": [first, last]}
//
// Each does the work of the workload of the same name in bench/src/engine*. There is no row for append-20000: every pass clones the
// whole list there, so the cost of a pass grows with the passes (append-200 to append-2000 show how), and 20 000 of them take far more
// than a minute.
import { flowChart, FlowChartExecutor, narrative } from 'footprintjs';
import { causalChain, flattenCausalDAG, keysReadFromExecutionTree, sliceForKey } from 'footprintjs/trace';
import { performance } from 'node:perf_hooks';

const wanted = new Set(process.argv.slice(2));
const selected = (name) => wanted.size === 0 || wanted.has(name);
const gc = globalThis.gc ?? (() => {});

function expect(holds, what) {
  if (!holds) throw new Error(what);
}

// Our side counts the best of several runs after the first, so this one does too where a run is short.
const REPETITIONS = 3;
const LONG_MS = 2_000;

// `prepare` makes everything that is not timed; `run` is timed and returns what a user would keep; `check` looks at it afterwards.
async function measure(workload, steps, prepare, run, check, stamps) {
  if (!selected(workload)) return;
  let best;
  let totalMs = Infinity;
  let heapBytesPerStep;
  for (let round = 0; round < REPETITIONS; round += 1) {
    if (stamps) stamps.length = 0;
    const ready = await prepare();
    gc();
    const before = process.memoryUsage().heapUsed;
    const started = performance.now();
    const kept = await run(ready);
    const took = performance.now() - started;
    gc();
    heapBytesPerStep = (process.memoryUsage().heapUsed - before) / steps;
    check(kept);
    if (took < totalMs) {
      totalMs = took;
      best = stamps?.length ? windows(stamps) : undefined;
    }
    if (took > LONG_MS) break;
  }
  const row = { workload, steps, totalMs, perStepUs: (totalMs * 1000) / steps, heapBytesPerStep };
  if (best) row.windowsUs = best;
  console.log(JSON.stringify(row));
}

// Mean cost of a step among the first and among the last ten per cent of the run.
function windows(stamps) {
  const width = Math.max(2, Math.floor(stamps.length / 10));
  const mean = (from) => ((stamps[from + width - 1] - stamps[from]) * 1000) / (width - 1);
  return [mean(0), mean(stamps.length - width)];
}

// One walk of a chart, its executor kept.
const walk = (workload, steps, chart, { options, limits, attach, check, stamps } = {}) =>
  measure(
    workload,
    steps,
    () => {
      const executor = new FlowChartExecutor(chart(), options);
      return { executor, attached: attach?.(executor) };
    },
    async (ready) => {
      await ready.executor.run(limits);
      return ready;
    },
    check ?? commits(steps),
    stamps,
  );

const commits = (least) => ({ executor }) => {
  const made = executor.getSnapshot().commitLog.length;
  expect(made >= least, `${made} commits of ${least}`);
};

function counterLoop(steps) {
  return flowChart('Count', (scope) => {
    scope.count = (scope.count ?? 0) + 1;
    if (scope.count >= steps) scope.$break();
  }, 'count').loopTo('count').build();
}

function appendLoop(steps, stamps) {
  const item = 'x'.repeat(1024);
  let pass = 0;
  return flowChart('Append', (scope) => {
    stamps.push(performance.now());
    const history = scope.$getValue('history') ?? [];
    scope.$setValue('history', [...history, `${pass}${item}`]);
    pass += 1;
    if (pass >= steps) scope.$break();
  }, 'append').loopTo('append').build();
}

const loops = (steps) => ({ maxIterations: steps + 10 });

// --- loops -------------------------------------------------------------------------------------------------------------------

await walk('warm-up', 500, () => counterLoop(500), { limits: loops(500) });
const LOOP = 10_000;
await walk('loop-10000', LOOP, () => counterLoop(LOOP), { limits: loops(LOOP) });

for (const steps of [200, 500, 1_000, 2_000]) {
  const stamps = [];
  await walk(`append-${steps}`, steps, () => appendLoop(steps, stamps), {
    options: { commitValues: 'delta' },
    limits: loops(steps),
    stamps,
  });
}

await walk('loop-narrative', LOOP, () => counterLoop(LOOP), {
  limits: loops(LOOP),
  attach: (executor) => {
    const story = narrative();
    executor.attachCombinedRecorder(story);
    return story;
  },
  check: ({ attached }) => expect(attached.getEntries().length >= LOOP, 'the story is too short'),
});

// The observer listens to what our side's does: every kind of event such a loop has. `ref` hands events on without copying them, which
// is what ours does with its shared values; the default would clone each.
await walk('loop-deferred', LOOP, () => counterLoop(LOOP), {
  limits: loops(LOOP),
  attach: (executor) => {
    const counter = { id: 'counter', seen: 0 };
    const hooks = ['onRunStart', 'onRunEnd', 'onStageStart', 'onStageEnd', 'onStageExecuted', 'onRead', 'onWrite', 'onCommit',
      'onNext', 'onLoop', 'onBreak'];
    for (const hook of hooks) counter[hook] = () => { counter.seen += 1; };
    executor.attachCombinedRecorder(counter, { delivery: 'deferred', capture: 'ref' });
    return counter;
  },
  check: ({ attached }) => expect(attached.seen > 0, 'nothing was delivered'),
});

// --- other shapes ------------------------------------------------------------------------------------------------------------

const writes = (id) => flowChart(id, (scope) => { scope.n = 1; }, id);

await walk('for-each-1000', 1_000, () => {
  const branch = writes('work').build();
  return flowChart('seed', () => {}, 'seed')
    .addParallelForEach('each', 'each', {
      items: () => Array.from({ length: 1_000 }, (_, at) => at),
      branch: () => branch,
      maxBranches: 1_000,
      into: 'results',
    })
    .build();
}, {
  // Parallel branches count as depth there.
  limits: { maxDepth: 2_000 },
  check: ({ executor }) => expect(executor.getSnapshot().sharedState.results.length === 1_000, 'branches are missing'),
});

await walk('mounts-50', 50, () => {
  let chart = writes('in').build();
  for (let level = 0; level < 50; level += 1) {
    chart = writes('before')
      .addSubFlowChartNext(`sf${level}`, chart, `sf${level}`, { outputMapper: (end) => ({ n: end.n }) })
      .build();
  }
  return chart;
}, { check: ({ executor }) => expect(executor.getSubflowResults().size >= 50, 'mounts are missing') });

// A hundred passes of our thousand: each read copies the megabyte, so a pass costs as much as the others.
await walk('read-1mb', 100, () => {
  let pass = 0;
  return flowChart('seed', (scope) => {
    scope.$setValue('big', Array.from({ length: 1_024 }, () => 'x'.repeat(1_024)));
  }, 'seed').addFunction('read', (scope) => {
    const big = scope.$getValue('big');
    pass = (scope.$getValue('pass') ?? 0) + 1;
    scope.$setValue('pass', pass + (big.length === 0 ? 1 : 0));
    if (pass >= 100) scope.$break();
  }, 'read').loopTo('read').build();
}, { limits: loops(100) });

await measure(
  'pause-resume',
  200,
  () => writes('first')
    .addPausableFunction('ask', {
      execute: () => '?',
      resume: (scope, answer) => { scope.answer = answer; },
    }, 'ask')
    .addFunction('last', (scope) => { scope.n = 1; }, 'last')
    .build(),
  async (chart) => {
    const kept = [];
    for (let round = 0; round < 200; round += 1) {
      const asking = new FlowChartExecutor(chart);
      await asking.run();
      const text = JSON.stringify(asking.getCheckpoint());
      const going = new FlowChartExecutor(chart);
      await going.resume(JSON.parse(text), 7);
      expect(!going.isPaused(), 'the resumed leg did not complete');
      kept.push(going);
    }
    return kept;
  },
  (kept) => expect(kept.every((executor) => executor.getSnapshot().sharedState.answer === 7), 'an answer is missing'),
);

// --- questions to a long log -------------------------------------------------------------------------------------------------
//
// A hundred thousand commits that push to one list cannot be recorded with footprintjs in reasonable time (see append-20000), so the
// log and the execution tree are made in the form it records; the log is checked against a short recorded one.

const COMMITS = 100_000;

const bundle = (at) => ({
  overwrite: { pass: at + 1, list: [at + 1] },
  updates: {},
  redactedPaths: [],
  trace: [
    { path: 'pass', verb: 'set', readKeys: ['pass'] },
    { path: 'list', verb: at === 0 ? 'set' : 'append', readKeys: ['pass'] },
  ],
  stage: at < 2 ? 'step' : `step.${at - 1}`,
  stageId: 'step',
  runtimeStageId: `step#${at}`,
  idx: at,
});

async function checkForm() {
  const chart = flowChart('step', (scope) => {
    const pass = (scope.$getValue('pass') ?? 0) + 1;
    scope.$setValue('pass', pass);
    scope.$setValue('list', [...(scope.$getValue('list') ?? []), pass]);
    if (pass >= 20) scope.$break();
  }, 'step').loopTo('step').build();
  const executor = new FlowChartExecutor(chart, { commitValues: 'delta', writeProvenance: 'reads-prefix' });
  await executor.run(loops(20));
  const recorded = executor.getSnapshot().commitLog;
  // Reading the list to make the longer one is a read of its key here; our push reads nothing.
  for (const row of recorded.flatMap((b) => b.trace)) row.readKeys = row.readKeys.filter((key) => key === 'pass');
  const made = Array.from({ length: 20 }, (_, at) => bundle(at));
  expect(JSON.stringify(recorded) === JSON.stringify(made), 'the made log is not what footprintjs records');
}

let asked;
async function longLog() {
  if (!asked) {
    await checkForm();
    const log = Array.from({ length: COMMITS }, (_, at) => bundle(at));
    let tree;
    for (const { runtimeStageId, stage } of [...log].reverse()) {
      tree = { id: 'step', runtimeStageId, name: stage, stageReads: { pass: 1 }, next: tree };
    }
    asked = { log, tree, reads: keysReadFromExecutionTree(tree) };
  }
  return asked;
}

const ids = (root) => flattenCausalDAG(root).length;

// The first question to a recording: what each step read is taken from the tree, and the writers of each key from the log. Of the two,
// footprintjs keeps what was read; the writers are found again for each chain.
await measure(
  'index-100000',
  COMMITS,
  longLog,
  ({ log, tree }) => causalChain(log, log[COMMITS - 1].runtimeStageId, keysReadFromExecutionTree(tree).lookup),
  (root) => expect(ids(root) > 1, 'no chain'),
);

// Our side asks a hundred times; with the whole log read for each answer, ten spread as widely tell as much.
async function questions(workload, times, ask) {
  await measure(workload, times, longLog, (ready) => {
    const kept = [];
    for (let round = 0; round < times; round += 1) {
      // A commit from another part of the log each time.
      kept.push(ask(ready, (round + 1) * Math.floor(COMMITS / (times + 1))));
    }
    return kept;
  }, (kept) => expect(kept.every(Boolean), 'an answer is missing'));
}

await questions('causal-chain', 10, ({ log, reads }, at) =>
  ids(causalChain(log, log[at].runtimeStageId, reads.lookup)) > 1);
await questions('variable-slice', 10, ({ log, reads }, at) => sliceForKey(log, 'pass', reads, { before: at }).root);
// There is no row for element-birth: one answer about this list (elementProvenance) does not come within a minute.
