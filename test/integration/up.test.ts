// `up --standalone` and `down` as commands, in their own data folder, with a fake agent: these tests only check the
// commands themselves.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { deriveInstance } from '../../src/up/instance.ts';
import { findByOption, readProcessFile, waitUntil } from '../../src/up/processes.ts';
import { findLeftovers } from '../../src/up/teardown.ts';
import { builtUp } from './support/agent-build.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'kts-up-')));
const dataDir = join(folder, 'data');
const instance = deriveInstance(dataDir);
const standIn = join(folder, 'stand-in.mjs');
// Says that every example pod is ready, on the socket where the agent would.
writeFileSync(
  standIn,
  `#!${process.execPath}
import { createServer } from 'node:http';
import { rmSync } from 'node:fs';
const socket = process.argv[process.argv.indexOf('--root-dir') + 1] + '/kubelet.sock';
rmSync(socket, { force: true });
const items = ['two-containers', 'sidecar', 'init-container', 'probes', 'settings'].map((name) => ({ metadata: { name: name + '-node' }, status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }], containerStatuses: [{ name: 'c', ready: true }] } }));
createServer((request, response) => {
  if (request.url === '/api/watch') response.writeHead(200).flushHeaders();
  else response.end(JSON.stringify({ items }));
}).listen(socket);
`,
);
chmodSync(standIn, 0o755);

const environment = { ...process.env, KUBELET_TS_DATA: dataDir, KUBELET_TS_PROGRAM: standIn };
let program: readonly string[] = [];
function run(...args: string[]): { status: number | null; stdout: string } {
  return spawnSync(process.execPath, [...program, ...args], { env: environment, encoding: 'utf8' });
}

before(async () => {
  program = await builtUp();
});

after(() => {
  run('down', '--purge');
  rmSync(folder, { recursive: true, force: true });
});

/** Resolves when `up` reports that all is ready. */
async function startUp(): Promise<{ child: ChildProcess; output: () => string; exit: Promise<number | null> }> {
  const child = spawn(process.execPath, [...program, 'up', '--standalone'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const exit = new Promise<number | null>((resolve) => child.on('exit', resolve));
  assert.ok(await waitUntil(() => text.includes('all 5 pods are ready') || child.exitCode !== null, 30_000), text);
  return { child, output: () => text, exit };
}

test('up makes all pods ready, says so, and Ctrl-C removes everything', async () => {
  const { child, output, exit } = await startUp();
  const again = run('up', '--standalone');
  assert.match(again.stdout, /already running/);
  assert.equal(again.status, 0);
  child.kill('SIGINT');
  assert.equal(await exit, 0);
  assert.match(output(), /all removed/);
  assert.deepEqual(await findLeftovers(instance), []);
});

test('an agent that dies is started again, with its last words shown', async () => {
  const { output, exit } = await startUp();
  const first = readProcessFile(join(instance.runDir, 'kubelet.json'));
  assert.ok(first);
  process.kill(first.pid, 'SIGKILL');
  assert.ok(await waitUntil(() => output().includes('restarting it'), 5000), output());
  assert.ok(
    await waitUntil(
      () => (readProcessFile(join(instance.runDir, 'kubelet.json'))?.pid ?? first.pid) !== first.pid,
      5000,
    ),
  );
  assert.equal(run('down').status, 0);
  assert.equal(await exit, 0);
});

test('detached, it stays until down, and down twice is no error', async () => {
  assert.equal(run('up', '--standalone', '--detach').status, 0);
  assert.equal(run('status').status, 0);
  assert.equal(run('down').status, 0);
  assert.deepEqual(await findLeftovers(instance), []);
  assert.equal(run('down').status, 0);
  assert.equal(run('status').status, 3);
  assert.ok(existsSync(join(dataDir, 'manifests', 'probes.yaml')), 'manifests stay');
});

test('after everything was killed with -9 the next up cleans and starts, and down --purge leaves not even the folder', async () => {
  assert.equal(run('up', '--standalone', '--detach').status, 0);
  for (const name of ['kubelet', 'containerd'])
    process.kill(
      (JSON.parse(readFileSync(join(instance.runDir, `${name}.json`), 'utf8')) as { pid: number }).pid,
      'SIGKILL',
    );
  const { stdout, status } = run('up', '--standalone', '--detach');
  assert.match(stdout, /did not stop cleanly/);
  assert.equal(status, 0);
  assert.equal(run('down', '--purge').status, 0);
  assert.deepEqual(await findLeftovers(instance), []);
  assert.equal(existsSync(dataDir), false);
});

test('an up that is killed at any moment leaves nothing that the next down --purge or up does not remove, recorded or not', async () => {
  const moments: readonly [appears: string, ...unwritten: string[]][] = [
    ['run/up.json'],
    ['containerd/config.toml'],
    ['run/containerd.json', 'run/containerd.json'],
    ['kubelet.yaml'],
    ['run/kubelet.json', 'run/kubelet.json', 'run/containerd.json'],
  ];
  for (const [index, [appears, ...unwritten]] of moments.entries()) {
    const child = spawn(process.execPath, [...program, 'up', '--standalone'], { env: environment, stdio: 'ignore' });
    const exit = new Promise((resolve) => child.on('exit', resolve));
    assert.ok(await waitUntil(() => existsSync(join(dataDir, appears)), 30_000, 1), appears);
    child.kill('SIGKILL');
    await exit;
    // As if it had died before it wrote them.
    for (const record of unwritten) rmSync(join(dataDir, record), { force: true });
    if (index % 2 === 1 || unwritten.length > 1) {
      const { status, stdout } = run('up', '--standalone', '--detach');
      assert.equal(status, 0, `${appears}: ${stdout}`);
    }
    assert.equal(run('down', '--purge').status, 0, appears);
    assert.deepEqual([await findLeftovers(instance), existsSync(dataDir)], [[], false], appears);
    for (const config of [instance.kubeletConfig, instance.containerdConfig])
      assert.equal(findByOption('--config', config), undefined, appears);
  }
});

test('of several that start at once one runs, and several that take down at once end well', async () => {
  const at = (...args: string[]): Promise<string> =>
    new Promise((resolve) => {
      const child = spawn(process.execPath, [...program, ...args], {
        env: environment,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let said = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
      child.on('exit', (code) => resolve(code === 0 ? 'done' : `exit ${code}: ${said}`));
    });
  const ends = await Promise.all(Array.from({ length: 3 }, () => at('up', '--standalone', '--detach')));
  assert.deepEqual(ends, ['done', 'done', 'done']);
  assert.equal(run('status').status, 0);
  assert.deepEqual(await Promise.all(Array.from({ length: 3 }, () => at('down', '--purge'))), ends);
  assert.deepEqual([await findLeftovers(instance), existsSync(dataDir)], [[], false]);
});
