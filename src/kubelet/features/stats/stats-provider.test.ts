import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../../../base/log.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { containerId, podUid, sandboxId } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { MeasuredVolume } from './disk-facts.ts';
import { DiskFacts } from './disk-facts.ts';
import { statsEndpoints } from './stats-endpoints.ts';
import { StatsProvider } from './stats-provider.ts';
import type { Summary } from './summary-types.ts';
import { ModelNode } from './testing/model-node.ts';

const CREATED_MS = Date.parse('2026-01-01T00:00:00Z');

function container(
  id: string,
  name: string,
  state: ContainerRuntimeStatus['state'] = 'running',
): ContainerRuntimeStatus {
  return {
    id: containerId(id),
    sandboxId: sandboxId('sand'),
    name,
    attempt: 0,
    state,
    createdAtMs: CREATED_MS,
    startedAtMs: CREATED_MS,
    finishedAtMs: 0,
    exitCode: 0,
    reason: '',
    message: '',
    image: 'web:1',
    imageRef: '',
    imageId: '',
    logPath: '',
    labels: {},
    annotations: {},
  };
}

function pod(uid: string, containers: readonly ContainerRuntimeStatus[], ready = true): PodRuntimeStatus {
  const sandbox = {
    id: sandboxId(`sand-${uid}`),
    podUid: podUid(uid),
    podName: `pod-${uid}`,
    podNamespace: 'default',
    attempt: 0,
    ready,
    createdAtMs: CREATED_MS,
    ips: [],
    hostNetwork: false,
    runtimeHandler: '',
    labels: {},
    annotations: {},
  };
  return {
    uid: podUid(uid),
    name: `pod-${uid}`,
    namespace: 'default',
    sandboxes: [sandbox],
    containers,
    observedAtMs: 0,
  };
}

/** A node with one pod that has one container, and what a test adds. */
function fixture(volumes: readonly MeasuredVolume[] = []) {
  const clock = new FakeClock();
  const random = { next: () => 0.5, uuid: () => '' };
  const node = new ModelNode(() => clock.nowMs());
  const pods: PodRuntimeStatus[] = [pod('1', [container('c1', 'web')])];
  node.add('/kubepods', { cpuNs: 9000 });
  node.add('/kubepods/pod1', { limits: { memoryBytes: 10_000 } });
  node.add('/kubepods/pod1/sand-1', { pids: [41] });
  node.add('/kubepods/pod1/cri-c1', { pids: [42, 43], limits: { cpuQuotaUs: 20_000 } });
  const sources = node.sources();
  const disks = new DiskFacts({
    clock,
    log: silentLogger,
    fs: sources.fs,
    runtime: sources.runtime,
    rootDir: '/root',
    logFolder: ({ uid }) => `/logs/${uid}`,
    list: (path) =>
      Promise.resolve(path === '/logs/1/web' ? ['0.log'] : path === '/root/pods/1/containers/web' ? ['a1b2'] : []),
    volumes: () => volumes,
    volumePeriodMs: 60_000,
  });
  const provider = new StatsProvider({
    housekeeping: { periodMs: 10_000, longestMs: 15_000 },
    clock,
    random,
    log: silentLogger,
    sources,
    disks,
    nodeName: 'node',
    runtimePods: () => pods,
    place: (uid) => ({ path: `/kubepods/pod${uid}`, parent: `/kubepods/pod${uid}` }),
    podsGroups: ['/kubepods'],
  });
  const endpoints = statsEndpoints({
    stats: provider,
    machine: sources.machine,
    nowMs: () => clock.nowMs(),
    gzip: async (pieces) => new Uint8Array(Buffer.from(`packed ${(await Array.fromAsync(pieces)).join('')}`)),
    log: silentLogger,
  });
  const ask = async (endpoint: string, query = '', acceptEncoding = '') => {
    const answer = await endpoints.get(endpoint)?.({
      method: 'GET',
      query: new URLSearchParams(query),
      acceptEncoding,
    });
    assert.ok(answer !== undefined, endpoint);
    return { ...answer, text: typeof answer.body === 'string' ? answer.body : Buffer.from(answer.body).toString() };
  };
  return { clock, node, pods, disks, provider, ask };
}

const parsed = (text: string): Summary => JSON.parse(text) as Summary;

describe('/stats/summary', () => {
  it('returns a pod with its containers, network, processes and disk', async () => {
    const { node, ask } = fixture([
      { name: 'data', path: '/data', how: 'tree', ephemeral: true },
      {
        name: 'claimed',
        path: '/claimed',
        how: 'fileSystem',
        ephemeral: false,
        claim: { name: 'c', namespace: 'default' },
      },
    ]);
    node.layers.set('c1', { atMs: 0, usedBytes: 100, inodesUsed: 2 });
    node.trees
      .set('/logs/1/web/0.log', 10)
      .set('/data', 1000)
      .set('/root/pods/1/etc-hosts', 4)
      .set('/root/pods/1/containers/web/a1b2', 7);
    const { pods, node: whole } = parsed((await ask('GET /stats/summary')).text);
    const [one] = pods;
    assert.deepEqual(
      [one?.podRef, one?.startTime, one?.containers.map(({ name }) => name)],
      [{ name: 'pod-1', namespace: 'default', uid: '1' }, '2026-01-01T00:00:00Z', ['web']],
    );
    assert.deepEqual(
      [one?.memory?.usageBytes, one?.memory?.availableBytes, one?.process_stats?.process_count],
      [4096, 10_000 - 4096, 2],
    );
    assert.deepEqual([one?.network?.name, one?.network?.rxBytes, one?.network?.txBytes], ['eth0', 41, 82]);
    assert.deepEqual([one?.containers[0]?.rootfs?.usedBytes, one?.containers[0]?.logs?.usedBytes], [100, 10]);
    assert.deepEqual(
      one?.volume?.map(({ name, usedBytes, pvcRef }) => [name, usedBytes, pvcRef?.name]),
      [
        ['data', 1000, undefined],
        ['claimed', 500, 'c'],
      ],
    );
    assert.deepEqual(
      [one?.['ephemeral-storage']?.usedBytes, one?.['ephemeral-storage']?.inodesUsed],
      [1121, 6],
      'what the pod writes to files of the agent counts (CVE-2020-8557)',
    );
    assert.deepEqual(
      [
        whole.fs?.usedBytes,
        whole.runtime?.imageFs?.usedBytes,
        whole.rlimit?.maxpid,
        whole.memory?.availableBytes,
        whole.systemContainers?.map(({ name }) => name),
      ],
      [500, 77, 100, 1e9 - 4096, ['pods']],
    );
  });

  it('computes rates between samples, and omits what does not run', async () => {
    const { clock, node, pods, ask } = fixture();
    pods.push(pod('2', [container('gone', 'web', 'exited')], false));
    assert.equal(parsed((await ask('GET /stats/summary')).text).pods[0]?.containers[0]?.cpu?.usageNanoCores, 0);
    node.work('/kubepods/pod1/cri-c1', 5e9);
    await clock.advance(10_000);
    const { pods: shown } = parsed((await ask('GET /stats/summary')).text);
    assert.equal(shown[0]?.containers[0]?.cpu?.usageNanoCores, 500_000_000);
    assert.equal(shown.length, 1);
  });

  it('shows pressure as zeros where the kernel does not measure it', async () => {
    const { ask } = fixture();
    const none = { total: 0, avg10: 0, avg60: 0, avg300: 0 };
    const { node, pods } = parsed((await ask('GET /stats/summary')).text);
    for (const use of [node.cpu, node.memory, pods[0]?.memory, pods[0]?.containers[0]?.cpu])
      assert.deepEqual(use?.psi, { full: none, some: none });
  });

  it('has only CPU and memory when exactly these are requested', async () => {
    const { ask } = fixture();
    const { pods, node } = parsed((await ask('GET /stats/summary', 'only_cpu_and_memory=true')).text);
    assert.deepEqual(
      [Object.keys(node).sort(), Object.keys(pods[0] ?? {}).sort()],
      [
        ['cpu', 'memory', 'nodeName', 'startTime', 'swap', 'systemContainers'],
        ['containers', 'cpu', 'memory', 'podRef', 'startTime', 'swap'],
      ],
    );
    assert.ok(parsed((await ask('POST /stats/summary', 'only_cpu_and_memory=yes')).text).node.fs !== undefined);
  });

  it('does not wait for a hung disk, except briefly the first time', async () => {
    const { clock, node, ask } = fixture();
    let release = (): void => {};
    node.hung = new Promise((resolve) => (release = resolve));
    const first = ask('GET /stats/summary');
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(2000);
    const answer = parsed((await first).text);
    assert.deepEqual([answer.pods.length, answer.node.fs], [1, undefined]);
    release();
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(parsed((await ask('GET /stats/summary')).text).node.fs !== undefined);
  });
});

describe('samples between requests', () => {
  it('are taken only while there are requests', async () => {
    const { clock, node, provider, ask } = fixture();
    provider.start();
    await clock.advance(60_000);
    assert.equal(node.looks, 0);
    await ask('GET /metrics/resource');
    const once = node.looks;
    await clock.advance(60_000);
    assert.ok(node.looks >= once * 4, `${node.looks} looks, ${once} at once`);
    await clock.advance(120_000);
    const before = node.looks;
    await clock.advance(600_000);
    assert.equal(node.looks, before);
    await provider.stop();
  });

  it('serve concurrent requests', async () => {
    const { node, ask } = fixture();
    await ask('GET /metrics/resource');
    const once = node.looks;
    await Promise.all([ask('GET /metrics/resource'), ask('GET /metrics/resource')]);
    assert.equal(node.looks, once);
  });
});

describe('/metrics/cadvisor while it is scraped', () => {
  const memoryLines = (text: string): string[] =>
    text.split('\n').filter((line) => line.startsWith('container_memory_usage_bytes{'));
  const ids = (text: string): string[] => memoryLines(text).map((line) => /,id="([^"]*)"/.exec(line)?.[1] ?? '');

  it('has the numbers of the last housekeeping with their time, and reads no group itself', async () => {
    const { clock, node, provider, ask } = fixture();
    provider.start();
    const first = await ask('GET /metrics/cadvisor');
    await clock.advance(16_000);
    const before = node.looks;
    const second = await ask('GET /metrics/cadvisor');
    assert.equal(node.looks, before);
    const timeOf = (text: string): number => Number(/ (\d+)$/.exec(memoryLines(text)[0] ?? '')?.[1]);
    const age = clock.nowMs() - timeOf(second.text);
    assert.ok(age >= 0 && age < 15_000, `${age} ms old`);
    assert.ok(timeOf(second.text) > timeOf(first.text));
    assert.deepEqual(ids(second.text), ids(first.text));
    await provider.stop();
  });

  it('has a pod as soon as it runs, and none that is gone', async () => {
    const { node, pods, provider, ask } = fixture();
    provider.start();
    await ask('GET /metrics/cadvisor');
    pods.splice(0, 1, pod('2', [container('c2', 'other')]));
    node.add('/kubepods/pod2', {});
    node.add('/kubepods/pod2/sand-2', { pids: [51] });
    node.add('/kubepods/pod2/cri-c2', { pids: [52] });
    const shown = ids((await ask('GET /metrics/cadvisor')).text);
    assert.ok(shown.includes('/kubepods/pod2/cri-c2'));
    assert.ok(
      shown.every((id) => !id.includes('pod1')),
      shown.join(),
    );
    await provider.stop();
  });

  it('is read at once where housekeeping is late, and ahead no longer after the last scrape', async () => {
    const { clock, node, provider, ask } = fixture();
    await ask('GET /metrics/cadvisor');
    await clock.advance(25_000);
    const before = node.looks;
    await ask('GET /metrics/cadvisor');
    assert.ok(node.looks > before, 'nothing was read ahead');
    provider.start();
    await clock.advance(300_000);
    const after = node.looks;
    await clock.advance(60_000);
    assert.equal(node.looks, after);
    await provider.stop();
  });
});

describe('/metrics/resource', () => {
  it('has the eleven families of upstream, with the time of each number', async () => {
    const { clock, ask } = fixture();
    const { text, headers } = await ask('GET /metrics/resource');
    const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name);
    assert.deepEqual(names, [
      'container_cpu_usage_seconds_total',
      'container_memory_working_set_bytes',
      'container_start_time_seconds',
      'container_swap_usage_bytes',
      'node_cpu_usage_seconds_total',
      'node_memory_working_set_bytes',
      'node_swap_usage_bytes',
      'pod_cpu_usage_seconds_total',
      'pod_memory_working_set_bytes',
      'pod_swap_usage_bytes',
      'resource_scrape_error',
    ]);
    assert.ok(
      text.includes(
        `container_memory_working_set_bytes{container="web",namespace="default",pod="pod-1"} 4096 ${clock.nowMs()}\n`,
      ),
    );
    assert.ok(text.endsWith('resource_scrape_error 0\n'));
    assert.equal(headers['Content-Type'], 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores');
  });

  it('is compressed for clients that accept it', async () => {
    const { ask } = fixture();
    const packed = await ask('GET /metrics/resource', '', 'deflate, gzip;q=0.5');
    assert.deepEqual([packed.headers['Content-Encoding'], packed.text.slice(0, 8)], ['gzip', 'packed #']);
    assert.equal((await ask('GET /metrics/resource', '', 'gzip;q=0')).headers['Content-Encoding'], undefined);
  });
});

describe('/metrics/cadvisor', () => {
  it('has every group with all six labels, sorted among those of the family', async () => {
    const { clock, ask } = fixture();
    const { text } = await ask('GET /metrics/cadvisor');
    const at = clock.nowMs();
    const own = 'id="/kubepods/pod1/cri-c1",image="web:1"';
    for (const line of [
      `container_memory_usage_bytes{container="web",${own},name="c1",namespace="default",pod="pod-1"} 4096 ${at}`,
      `container_memory_failures_total{container="web",failure_type="pgfault",${own},name="c1",namespace="default",pod="pod-1",scope="container"} 5 ${at}`,
      `container_network_receive_bytes_total{container="",id="/kubepods/pod1/sand-1",image="",interface="eth0",name="sand-1",namespace="default",pod="pod-1"} 41 ${at}`,
      `container_blkio_device_usage_total{container="web",device="/dev/vda",${own},major="253",minor="0",name="c1",namespace="default",operation="Read",pod="pod-1"} 512 ${at}`,
      `container_spec_cpu_quota{container="web",${own},name="c1",namespace="default",pod="pod-1"} 20000`,
      `container_memory_usage_bytes{container="",id="/kubepods/pod1",image="",name="",namespace="default",pod="pod-1"} 4096 ${at}`,
      'container_spec_memory_limit_bytes{container="",id="/",image="",name="",namespace="",pod=""} 1000000000',
      'container_scrape_error 0',
      `machine_cpu_cores{boot_id="b",machine_id="m",system_uuid="s"} 2 ${at}`,
    ])
      assert.ok(text.includes(`\n${line}\n`), line);
    assert.equal(text.match(/^container_cpu_cfs_periods_total/gm)?.length, 1, 'only groups with a quota are throttled');
    assert.equal(
      new Set(text.split('\n').filter((line) => line.startsWith('# TYPE'))).size,
      text.split('\n').filter((line) => line.startsWith('# TYPE')).length,
    );
  });
});
