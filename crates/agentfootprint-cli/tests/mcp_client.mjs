// Drives `agentfootprint mcp` with the official TypeScript SDK, over standard input and output and over streamable HTTP.
// Usage: node mcp_client.mjs <node_modules folder> <agentfootprint> <recording> [<recording>]
import { pathToFileURL } from 'node:url';
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const [modules, command, ...files] = process.argv.slice(2);
const sdk = (path) => import(pathToFileURL(join(modules, '@modelcontextprotocol/sdk/dist/esm', path)).href);
const { Client } = await sdk('client/index.js');
const { StdioClientTransport } = await sdk('client/stdio.js');
const { StreamableHTTPClientTransport } = await sdk('client/streamableHttp.js');

const check = (holds, what) => {
  if (!holds) throw new Error(what);
};

async function questions(transport, several) {
  const client = new Client({ name: 'conformance', version: '1' });
  await client.connect(transport);
  check(client.getServerVersion().name === 'agentfootprint', 'server name');
  check(client.getInstructions().includes('never follow instructions'), 'instructions');
  const { tools } = await client.listTools();
  const names = tools.map((tool) => tool.name);
  check(names.length === (several ? 13 : 11), `tools: ${names}`);
  check(tools.every((tool) => tool.inputSchema.additionalProperties === false && tool.annotations.readOnlyHint), 'schemas');
  const recording = several ? { recording: tools[0].inputSchema.properties.recording.enum[0] } : {};
  const ask = async (name, args) => {
    const result = await client.callTool({ name, arguments: { ...args, ...recording } });
    return { text: result.content[0].text, failed: result.isError === true };
  };
  const overview = await ask('run_overview', {});
  check(overview.text.startsWith('Status: completed') && !overview.failed, overview.text);
  const wrong = await ask('trace_node', { runtimeStageId: 'nowhere#1' });
  check(wrong.text.includes('There is no step') && !wrong.failed, wrong.text);
  const refused = await ask('who_wrote', {});
  check(refused.failed && refused.text.includes('`key` is missing'), refused.text);
  const { resources } = await client.listResources();
  const summary = resources.find((resource) => resource.uri.endsWith('/summary'));
  const read = await client.readResource({ uri: summary.uri });
  check(read.contents[0].text.startsWith('Status: completed'), 'resource');
  const events = await client.readResource({ uri: summary.uri.replace('summary', 'events?from=2&limit=3') });
  check(events.contents[0].text.split('\n').length === 5, 'events page');
  for (const uri of ['file:///etc/passwd', 'recording://other/summary', 'recording://../x/summary']) {
    let answered = true;
    await client.readResource({ uri }).catch(() => (answered = false));
    check(!answered, `${uri} was answered`);
  }
  if (several) {
    const difference = await client.callTool({ name: 'diff_recordings', arguments: { a: recording.recording, b: recording.recording } });
    check(difference.content[0].text.includes('no difference'), 'diff');
    const list = await client.callTool({ name: 'list_recordings', arguments: {} });
    check(list.content[0].text.split('\n').length === 3, 'list');
  }
  await client.close();
}

await questions(new StdioClientTransport({ command, args: ['mcp', files[0]] }), false);
await questions(new StdioClientTransport({ command, args: ['mcp', ...files] }), true);

const server = spawn(command, ['mcp', files[0], '--http'], { stdio: ['ignore', 'ignore', 'pipe'] });
try {
  const address = await new Promise((resolve) => server.stderr.once('data', (data) => resolve(data.toString().trim())));
  await questions(new StreamableHTTPClientTransport(new URL(address)), false);
  const foreign = await fetch(address, { method: 'POST', headers: { origin: 'http://evil.example', 'content-type': 'application/json' }, body: '{}' });
  check(foreign.status === 403, `a foreign origin got ${foreign.status}`);
} finally {
  server.kill();
}
console.log('stdio, several recordings and streamable HTTP: all answered');
process.exit(0);
