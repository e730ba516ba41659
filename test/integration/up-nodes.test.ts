// `up --nodes 3 --ip-family dual`: one cluster of three nodes, each in a network namespace, which shows all features.
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Instance } from '../../src/up/instance.ts';
import { deriveInstance } from '../../src/up/instance.ts';
import { findShims, isAlive, readProcessFile, signalProcess } from '../../src/up/processes.ts';
import { findLeftovers, kubeletPidFile, localNodes } from '../../src/up/teardown.ts';
import { eventually } from '../e2e/support/eventually.ts';
import { builtUp } from './support/agent-build.ts';
import { claimAndKeeper } from './support/claim-and-keeper.ts';
import type { CommandResult } from './support/up-commands.ts';
import { runCommand } from './support/up-commands.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'kts-nodes-')));
const cluster = deriveInstance(join(folder, 'c'));
const names = [1, 2, 3].map((at) => `${hostname().toLowerCase()}-${at}`) as [string, string, string];
let program: readonly string[] = [];

const run = (command: string, args: readonly string[]): Promise<CommandResult> =>
  runCommand({ home: folder, timeoutMs: 300_000 }, command, args);

async function kubectl(...args: string[]): Promise<string> {
  const { status, output } = await run('kubectl', ['--kubeconfig', cluster.adminConfig, ...args]);
  assert.equal(status, 0, `kubectl ${args.join(' ')}: ${output}`);
  return output.trim();
}

const nodeOf = async (pod: string): Promise<string> =>
  kubectl('get', 'pod', pod, '--output=jsonpath={.spec.nodeName} {.status.phase}');
const isReady = async (name: string): Promise<string> =>
  kubectl('get', 'node', name, '--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}');

/** Pods that stay when a node reports late on a busy machine; the cluster evicts other pods after a second. */
const tolerations = ['not-ready', 'unreachable'].map((why) => ({
  ...{ key: `node.kubernetes.io/${why}`, operator: 'Exists', effect: 'NoExecute' },
}));
/** A pod on each node that serves the node's name, and a service with all of them. */
const podOn = (node: string, at: number): string[] => [
  'run',
  `web-${at}`,
  '--image=busybox',
  '--labels=app=web',
  `--overrides=${JSON.stringify({ spec: { nodeName: node, terminationGracePeriodSeconds: 1, tolerations } })}`,
  '--command',
  '--',
  ...['sh', '-c', 'mkdir /w && echo $HOSTNAME > /w/index.html && exec httpd -f -p 80 -h /w'],
];
const inPod = async (pod: string, script: string): Promise<string> =>
  (await run('kubectl', ['--kubeconfig', cluster.adminConfig, 'exec', pod, '--', 'sh', '-c', script])).output.trim();
const fetchFrom = async (pod: string, host: string): Promise<string> =>
  (await inPod(pod, `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 2 ${host} 80`)).split('\n').at(-1) ?? '';

/** How long the start took, for readers of the output: wall time depends on other work of the machine. */
let started = '';

before(async () => {
  program = await builtUp();
  const startMs = performance.now();
  const { status, output } = await run(process.execPath, [
    ...program,
    ...['up', '--data', cluster.dataDir, '--nodes', '3', '--ip-family', 'dual', '--detach', '--no-example'],
    '--control-plane-arg=--node-monitor-grace-period=8s',
    '--control-plane-arg=--default-not-ready-toleration-seconds=1',
    '--kubelet-arg=--node-status-update-frequency=2s',
  ]);
  started = `started in ${Math.round(performance.now() - startMs)} ms\n${output}`;
  assert.equal(status, 0, output);
});

after(async () => {
  await run(process.execPath, [...program, 'down', '--data', cluster.dataDir, '--purge']);
  rmSync(folder, { recursive: true, force: true });
});

test('each node is ready with a range of its own, and announces itself as flannel does', async (context) => {
  context.diagnostic(started);
  const lines = (
    await kubectl(
      'get',
      'nodes',
      '--output=jsonpath={range .items[*]}{.metadata.name} {.spec.podCIDR} {.metadata.annotations.flannel\\.alpha\\.coreos\\.com/backend-type} {.status.conditions[?(@.type=="NetworkUnavailable")].status}{"\\n"}{end}',
    )
  ).split('\n');
  assert.deepEqual(
    lines.map((line) => line.replace(/ 10\.\d+\.\d+\.0\/24 /, ' RANGE ')),
    names.map((name) => `${name} RANGE vxlan False`),
  );
  assert.equal(new Set(lines.map((line) => line.split(' ')[1])).size, 3);
});

test('pods reach services and names across nodes, and the API server reaches the kubelets', async () => {
  await Promise.all(names.map((name, at) => kubectl(...podOn(name, at + 1))));
  await kubectl('create', 'service', 'clusterip', 'web', '--tcp=80:80');
  await kubectl('wait', '--for=condition=Ready', 'pod', '--selector=app=web', '--timeout=60s');
  assert.deepEqual(
    await Promise.all([1, 2, 3].map((at) => nodeOf(`web-${at}`))),
    names.map((name) => `${name} Running`),
  );
  const ip = await kubectl('get', 'pod', 'web-2', '--output=jsonpath={.status.podIP}');
  await eventually(async () => assert.equal(await fetchFrom('web-1', ip), 'web-2'));
  const service = await kubectl('get', 'service', 'web', '--output=jsonpath={.spec.clusterIP}');
  assert.match(
    await inPod('web-3', 'nslookup web.default.svc.cluster.local'),
    new RegExp(service.replaceAll('.', '\\.')),
  );
  const seen = new Set<string>();
  await eventually(async () => {
    seen.add(await fetchFrom('web-3', service));
    assert.deepEqual([...seen].filter((each) => each.startsWith('web-')).toSorted(), ['web-1', 'web-2', 'web-3']);
  });
  assert.equal(await kubectl('logs', 'web-2'), '');
});

test('pods, nodes and services have IPv6 too, and reach each other across nodes by it', async () => {
  const ranges = await kubectl('get', 'nodes', '--output=jsonpath={range .items[*]}{.spec.podCIDRs[1]}{"\\n"}{end}');
  assert.match(ranges, /^(fd84:\S+::\/64\n?){3}$/);
  const addresses = '{.status.podIPs[1].ip} {.status.hostIPs[1].ip}';
  const [ip = '', host = ''] = (await kubectl('get', 'pod', 'web-2', `--output=jsonpath=${addresses}`)).split(' ');
  assert.match(`${ip} ${host}`, /^fd84:\S+ fd84:\S+$/);
  await eventually(async () => assert.equal(await fetchFrom('web-1', ip), 'web-2'));
  const patch = '{"spec":{"ipFamilyPolicy":"RequireDualStack","type":"NodePort"}}';
  await kubectl('patch', 'service', 'web', `--patch=${patch}`);
  const [service = '', nodePort = ''] = (
    await kubectl('get', 'service', 'web', '--output=jsonpath={.spec.clusterIPs[1]} {.spec.ports[0].nodePort}')
  ).split(' ');
  const seen = new Set<string>();
  await eventually(async () => {
    seen.add(await fetchFrom('web-3', service));
    assert.deepEqual([...seen].filter((each) => each.startsWith('web-')).toSorted(), ['web-1', 'web-2', 'web-3']);
  });
  // The machine itself, which is no node, comes from outside.
  const answer = await fetch(`http://[${host}]:${nodePort}/`);
  assert.match(await answer.text(), /^web-\d\n$/);
  const found = (name: string): Promise<string> => inPod('web-3', `nslookup ${name}`);
  await eventually(async () => assert.ok((await found('web.default.svc.cluster.local')).includes(service)));
  assert.match(await found(service), /web\.default\.svc\.cluster\.local/);
  assert.equal((await inPod('web-3', 'grep -c ^nameserver.*: /etc/resolv.conf')).trim(), '1');
});

test('a drained node loses its pods and takes none; a node whose agent restarts keeps them', async () => {
  await kubectl('create', 'deployment', 'app', '--image=busybox', '--replicas=2', '--', 'sleep', '1000000');
  await kubectl('rollout', 'status', 'deployment/app', '--timeout=60s');
  await kubectl('drain', names[0], '--force', '--ignore-daemonsets', '--grace-period=1', '--timeout=60s');
  const places = await kubectl('get', 'pods', '--output=jsonpath={.items[*].spec.nodeName}');
  assert.ok(!places.split(' ').includes(names[0]), places);
  await kubectl('uncordon', names[0]);
  const [, second] = localNodes(cluster).toSorted((left, right) => (left.dataDir < right.dataDir ? -1 : 1));
  const agent = second === undefined ? undefined : readProcessFile(kubeletPidFile(second));
  assert.ok(isAlive(agent));
  signalProcess(agent, 'SIGKILL');
  await eventually(async () => {
    const again = second === undefined ? undefined : readProcessFile(kubeletPidFile(second));
    assert.ok(isAlive(again) && again.pid !== agent.pid);
    assert.equal(await isReady(names[1]), 'True');
  });
  assert.equal(
    await kubectl('get', 'pod', 'web-2', '--output=jsonpath={.status.containerStatuses[0].restartCount}'),
    '0',
  );
});

/** Like a power loss: kills agent, runtime, shims and containers at the same time. */
async function killNode(node: Instance): Promise<void> {
  const { output } = await run('ip', ['netns', 'pids', `kts-${node.id}`]);
  const { shims, children } = findShims(node.containerdSocket);
  const pids = new Set([...output.split('\n').map(Number), ...[...shims, ...children].map(({ pid }) => pid)]);
  await run('kill', ['-KILL', ...[...pids].filter((pid) => pid > 1).map(String)]);
}

/** Keeps the previous content when it is started. */
const countStarts = 'test -e /d/starts && cp /d/starts /d/before; echo x >> /d/starts; exec sleep 1000000';

test('a node that crashes and restarts runs its pods again, with the data on its disk', async () => {
  const manifest = join(folder, 'keeper.json');
  writeFileSync(manifest, JSON.stringify(claimAndKeeper(names[1], countStarts)));
  await kubectl('apply', '-f', manifest);
  await kubectl('wait', '--for=condition=Ready', 'pod/keeper', '--timeout=60s');
  const second = localNodes(cluster).find(({ dataDir }) => dataDir.endsWith('/2')) ?? assert.fail();
  await killNode(second);
  await eventually(async () => assert.equal(await inPod('keeper', 'wc -l < /d/before'), '1'), 90_000);
  await kubectl('wait', '--for=condition=Ready', 'pod/keeper', 'pod/web-2', '--timeout=60s');
  const ip = await kubectl('get', 'pod', 'web-2', '--output=jsonpath={.status.podIP}');
  await eventually(async () => assert.equal(await fetchFrom('web-3', ip), 'web-2'));
});

/** For each running pod of the deployment that is not being deleted: whether its node is reachable. */
async function livePlaces(): Promise<boolean[]> {
  const { items } = JSON.parse(await kubectl('get', 'pods', '--selector=app=app', '--output=json')) as {
    items: { metadata: { deletionTimestamp?: string }; spec: { nodeName?: string }; status: { phase?: string } }[];
  };
  return items
    .filter(({ metadata, status }) => metadata.deletionTimestamp === undefined && status.phase === 'Running')
    .map(({ spec }) => spec.nodeName !== names[2]);
}

test('pods of a node that is cut off move, and the node comes back', async () => {
  const third = localNodes(cluster).find(({ dataDir }) => dataDir.endsWith('/3'));
  const cut = (state: 'up' | 'down'): Promise<unknown> => run('ip', ['link', 'set', `ktv${third?.id}`, state]);
  await cut('down');
  await eventually(async () => assert.equal(await isReady(names[2]), 'Unknown'), 60_000);
  await eventually(async () => assert.deepEqual(await livePlaces(), [true, true]), 60_000);
  await cut('up');
  await eventually(async () => assert.equal(await isReady(names[2]), 'True'), 60_000);
});

test('down leaves nothing of any node', async () => {
  const { status, output } = await run(process.execPath, [...program, 'down', '--data', cluster.dataDir]);
  assert.equal(status, 0, output);
  assert.deepEqual(await findLeftovers(cluster), []);
});
