// Runs the workloads of `cargo xtask bench` on footprintjs and prints one JSON object per line:
// {"workload": name, "steps": n, "totalMs": t, "perStepUs": u, "heapBytesPerStep": b, "windowsUs": [first, last]}
import { flowChart, FlowChartExecutor } from 'footprintjs';
import { performance } from 'node:perf_hooks';

const wanted = new Set(process.argv.slice(2));
const selected = (name) => wanted.size === 0 || wanted.has(name);
const gc = globalThis.gc ?? (() => {});

async function measure(workload, steps, chart, options, stamps) {
  if (!selected(workload)) return;
  gc();
  const before = process.memoryUsage().heapUsed;
  const executor = new FlowChartExecutor(chart, options);
  const started = performance.now();
  await executor.run({ maxIterations: steps + 10 });
  const totalMs = performance.now() - started;
  const snapshot = executor.getSnapshot();
  if (snapshot.commitLog.length < steps) throw new Error(`${workload}: only ${snapshot.commitLog.length} commits`);
  gc();
  const heapBytesPerStep = (process.memoryUsage().heapUsed - before) / steps;
  const row = { workload, steps, totalMs, perStepUs: (totalMs * 1000) / steps, heapBytesPerStep };
  if (stamps?.length) row.windowsUs = windows(stamps);
  console.log(JSON.stringify(row));
}

// Mean cost of a step among the first and among the last ten per cent of the run.
function windows(stamps) {
  const width = Math.max(2, Math.floor(stamps.length / 10));
  const mean = (from) => ((stamps[from + width - 1] - stamps[from]) * 1000) / (width - 1);
  return [mean(0), mean(stamps.length - width)];
}

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

await measure('warm-up', 500, counterLoop(500));
await measure('loop-10000', 10_000, counterLoop(10_000));
for (const steps of [200, 500, 1_000, 2_000]) {
  const stamps = [];
  await measure(`append-${steps}`, steps, appendLoop(steps, stamps), { commitValues: 'delta' }, stamps);
}
