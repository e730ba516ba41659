// Real shortages of disk space, inodes and process ids. The root directory of the agent is a small file system in
// memory, and the processes of a pod are limited, so the host is not affected.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { nodes, pods } from '../../src/api/client/resource-types.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import { eventually } from '../e2e/support/eventually.ts';
import type { ClusterFixture } from './support/cluster-agent.ts';
import { startClusterAgent } from './support/cluster-agent.ts';
import { container, pod, shell } from './support/manifests.ts';

const namespace = 'default';
const folder = mkdtempSync(join(tmpdir(), 'kts-evict-'));
const rootDir = join(folder, 'root');
let fixture: ClusterFixture & { stop(): Promise<void> };
let client: ReturnType<ClusterFixture['cluster']['client']>;

const thresholds = { 'nodefs.available': '100Mi', 'nodefs.inodesFree': '20%' };
const config = { evictionHard: thresholds, evictionPressureTransitionPeriod: '3s' };

before(async () => {
  mkdirSync(rootDir);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256m,nr_inodes=6000', 'kts-evict', rootDir]);
  fixture = await startClusterAgent({ name: 'evictdisk', agent: { rootDir, config } });
  client = fixture.cluster.client();
});
after(async () => {
  try {
    await fixture?.stop();
  } finally {
    unmountAll();
    rmSync(folder, { recursive: true, force: true });
  }
});

/** The agent mounts its root directory on itself. */
function unmountAll(): void {
  while (spawnSync('umount', ['-l', rootDir]).status === 0);
}

const get = (name: string): Promise<Pod> => client.get(pods, { namespace, name });

async function until(name: string, accept: (seen: Pod) => boolean): Promise<Pod> {
  return await eventually(async () => {
    const seen = await get(name);
    assert.ok(accept(seen), `pod ${name}: ${JSON.stringify(seen.status)}`);
    return seen;
  }, 60_000);
}

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
const isFailed = ({ status }: Pod): boolean => status?.phase === 'Failed';

const statusOf = async (type: string): Promise<string | undefined> =>
  (await client.get(nodes, { namespace: '', name: 'node' })).status?.conditions?.find((each) => each.type === type)
    ?.status;

/** Creates a pod with a volume on the root directory's file system; it runs a script and then waits. */
async function create(name: string, script: string, resources: object = {}, emptyDir: object = {}): Promise<void> {
  const manifest = pod(name, {
    nodeName: 'node',
    volumes: [{ name: 'data', emptyDir }],
    containers: [
      container('main', {
        command: shell(`${script}; sleep 2147483647`),
        resources,
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      }),
    ],
  });
  await fixture.cluster.kubectl(['create', '-f', '-'], JSON.stringify(manifest));
}

async function assertEvicted(name: string, message: RegExp): Promise<void> {
  const { status = {} } = await until(name, isFailed);
  assert.equal(status.reason, 'Evicted');
  assert.match(status.message ?? '', message);
}

test('the pod with the most data is evicted when the disk of the root directory is short, and its data is freed', async () => {
  await create('keeper', 'dd if=/dev/zero of=/data/f bs=1M count=20');
  await until('keeper', isReady);
  await create('writer', 'sleep 1; dd if=/dev/zero of=/data/f bs=1M count=170');
  await assertEvicted(
    'writer',
    /^The node was low on resource: ephemeral-storage\. Threshold quantity: 100Mi, available: \d+Ki\. /,
  );
  assert.equal(await statusOf('DiskPressure'), 'True');
  await eventually(async () => assert.equal(await statusOf('DiskPressure'), 'False'), 30_000);
  assert.ok(isReady(await get('keeper')));
});

test('of inodes the pod with the most files', async () => {
  await create('files', 'sleep 1; mkdir /data/d; cd /data/d; seq 5000 | xargs touch');
  await assertEvicted('files', /^The node was low on resource: inodes\. Threshold quantity: 1200, available: \d+\. $/);
  await eventually(async () => assert.equal(await statusOf('DiskPressure'), 'False'), 30_000);
  assert.ok(isReady(await get('keeper')));
});

test('a pod above its own limits of storage is evicted although the node has room', async () => {
  await create('volume', 'dd if=/dev/zero of=/data/f bs=1M count=20', {}, { sizeLimit: '10Mi' });
  await create('logs', 'seq 400000', { limits: { 'ephemeral-storage': '1Mi' } });
  await Promise.all([
    assertEvicted('volume', /^Usage of EmptyDir volume "data" exceeds the limit "10Mi"\. $/),
    assertEvicted('logs', /^Pod ephemeral local storage usage exceeds the total limit of containers 1Mi\. $/),
  ]);
  assert.equal(await statusOf('DiskPressure'), 'False');
});

test('a dry run shows the pods to evict, with numbers', async () => {
  const { code, stdout } = await fixture.agent.cli('evict', '--dry-run');
  assert.equal(code, 0);
  assert.match(stdout, /nodefs\.available +\d+Mi +256Mi +hard 100Mi +\d+Mi +ok\n/);
  assert.match(stdout, /for nodefs\.available: default\/keeper would be evicted first\n/);
  assert.match(stdout, /1 +default\/keeper +20Mi +0 +20Mi +0\s*\n/);
});

test('of process ids the pod with the most processes', async (context) => {
  const number = (file: string): number => Number(readFileSync(`/proc/sys/kernel/${file}`, 'utf8'));
  const limit = Math.min(number('pid_max'), number('threads-max'));
  const current = Number(/\/(\d+) /.exec(readFileSync('/proc/loadavg', 'utf8'))?.[1]);
  fixture.agent.writeConfig({
    ...config,
    evictionHard: { 'pid.available': String(limit - current - 500) },
    podPidsLimit: 1500,
  });
  await fixture.agent.restart();
  await create('forks', 'i=0; while [ $i -lt 1200 ]; do sleep 1000 & i=$((i+1)); done');
  await assertEvicted('forks', /^The node was low on resource: pids\. Threshold quantity: \d+, available: \d+\. $/);
  context.diagnostic((await get('forks')).status?.message ?? '');
  assert.ok(isReady(await get('keeper')));
});
