// The statistics that the agent reports about pods and itself, compared with the files of the kernel and with the
// runtime; and kubectl top with the embedded control plane.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Summary } from '../../src/kubelet/features/stats/summary-types.ts';
import { eventually } from '../e2e/support/eventually.ts';
import { clusterFixture } from './support/cluster-agent.ts';
import { container, pod, thenSleep } from './support/manifests.ts';

const fixture = clusterFixture({
  name: 'stats',
  cluster: { flags: ['--kubelet-preferred-address-types=InternalIP'] },
  agent: {
    config: { address: '0.0.0.0', authentication: { anonymous: { enabled: true }, webhook: { enabled: false } } },
  },
});

const kubelet = (path: string): Promise<string> =>
  fixture.cluster.kubectl(['get', '--raw', `/api/v1/nodes/node/proxy${path}`]);
const summary = async (): Promise<Summary> => JSON.parse(await kubelet('/stats/summary')) as Summary;

/** The value of the metric with these labels. */
function valueOf(text: string, family: string, ...labels: readonly string[]): number | undefined {
  const line = text
    .split('\n')
    .find((each) => each.startsWith(`${family}{`) && labels.every((label) => each.includes(label)));
  return line === undefined ? undefined : Number(line.slice(line.indexOf('} ') + 2).split(' ')[0]);
}

/** The limit of the busy container, with some room for when it was read. On a busy machine it gets less. */
const isUpToAFifth = (cpus: number): boolean => cpus > 0.02 && cpus < 0.3;

async function startPods(): Promise<void> {
  const busy = container('busy', {
    command: thenSleep(
      'dd if=/dev/zero of=/layer bs=1M count=2; dd if=/dev/zero of=/data/file bs=1M count=3; echo a line of its log; while :; do :; done',
    ),
    resources: { limits: { cpu: '200m', memory: '64Mi' } },
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
  });
  await fixture.cluster.kubectl(
    ['create', '-f', '-'],
    JSON.stringify(
      pod(
        'busy',
        { nodeName: 'node', containers: [busy], volumes: [{ name: 'data', emptyDir: {} }] },
        { labels: { app: 'busy' } },
      ),
    ),
  );
  await fixture.cluster.kubectl(['create', '-f', '-'], JSON.stringify(pod('idle', { nodeName: 'node' })));
  await fixture.cluster.kubectl(['wait', 'pod/busy', 'pod/idle', '--for=condition=Ready', '--timeout=30s']);
}

test('numbers of containers are those of their groups, and everything that is shown of one is there', async () => {
  await startPods();
  const text = await kubelet('/metrics/cadvisor');
  const id = /container_memory_usage_bytes\{container="busy",id="([^"]+)"/.exec(text)?.[1];
  assert.ok(id !== undefined, 'the container is listed');
  const v1 = existsSync('/sys/fs/cgroup/memory');
  const read = (controller: string, file: string): string =>
    readFileSync(`/sys/fs/cgroup${v1 ? `/${controller}` : ''}${id}/${file}`, 'utf8').trim();
  const own = [`container="busy"`, `pod="busy"`];
  assert.equal(valueOf(text, 'container_spec_memory_limit_bytes', ...own), 64 * 1024 * 1024);
  assert.equal(valueOf(text, 'container_spec_cpu_quota', ...own), 20_000);
  assert.equal(valueOf(text, 'container_spec_cpu_period', ...own), 100_000);
  const before = (valueOf(text, 'container_cpu_usage_seconds_total', ...own) ?? 0) * 1e9;
  const now = v1
    ? Number(read('cpuacct', 'cpuacct.usage'))
    : Number(/usage_usec (\d+)/.exec(read('cpu', 'cpu.stat'))?.[1]) * 1000;
  assert.ok(before > 0 && before <= now && now - before < 2e9, `${before} of ${now}`);
  // A container that began a moment ago may not have used its quota yet.
  await eventually(async () => {
    const later = await kubelet('/metrics/cadvisor');
    const periods = valueOf(later, 'container_cpu_cfs_throttled_periods_total', ...own) ?? 0;
    assert.ok(periods > 0, 'it is held to its quota');
  }, 20_000);
  assert.ok((valueOf(text, 'container_processes', ...own) ?? 0) >= 1);
  assert.ok(
    (valueOf(text, 'container_network_receive_bytes_total', 'container=""', 'pod="busy"', 'interface="eth0"') ?? 0) > 0,
    "the sandbox has the pod's network",
  );
  assert.equal(valueOf(text, 'container_network_receive_bytes_total', ...own), undefined);
});

test('the summary has rates, layers, logs and volumes as the runtime and the disk have them', async () => {
  await summary();
  const [busy, all] = await eventually(async () => {
    const answer = await summary();
    const found = answer.pods.find(({ podRef }) => podRef.name === 'busy');
    assert.ok(
      (found?.containers[0]?.cpu?.usageNanoCores ?? 0) > 0 && (found?.containers[0]?.rootfs?.usedBytes ?? 0) > 2e6,
      JSON.stringify(found),
    );
    return [found, answer] as const;
  }, 30_000);
  const usage = busy?.containers[0]?.cpu?.usageNanoCores ?? 0;
  assert.ok(isUpToAFifth(usage / 1e9), `at most a fifth of a CPU, and not much less: ${usage}`);
  const MIB = 1024 * 1024;
  const within = (value: number | undefined, least: number, most: number, what: string): void =>
    assert.ok(value !== undefined && value >= least && value <= most, `${what}: ${value}`);
  within(busy?.containers[0]?.rootfs?.usedBytes, 2 * MIB, 2.5 * MIB, 'writable layer');
  within(busy?.containers[0]?.logs?.usedBytes, 1, 64 * 1024, 'log');
  within(busy?.volume?.find(({ name }) => name === 'data')?.usedBytes, 3 * MIB, 3.5 * MIB, 'emptyDir');
  within(busy?.['ephemeral-storage']?.usedBytes, 5 * MIB, 6.5 * MIB, 'all of the pod on the disk');
  assert.equal(all.node.nodeName, 'node');
  assert.deepEqual(
    [all.node.fs, all.node.runtime?.imageFs, all.node.rlimit, all.node.memory?.availableBytes].map(
      (each) => each !== undefined,
    ),
    [true, true, true, true],
  );
  assert.ok(all.node.systemContainers?.some(({ name }) => name === 'pods'));
});

test('kubectl top shows nodes, pods and containers, by selector and in order', async () => {
  const lines = async (...args: string[]): Promise<string[][]> =>
    (await fixture.cluster.kubectl(['top', ...args, '--no-headers']))
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/));
  const [node] = await eventually(() => lines('nodes'), 20_000);
  assert.equal(node?.[0], 'node');
  assert.match(node?.[1] ?? '', /^\d+m$/);
  const pods = await lines('pods', '--sort-by=cpu');
  assert.deepEqual(
    pods.map(([name]) => name),
    ['busy', 'idle'],
  );
  const millis = Number(pods[0]?.[1]?.replace('m', ''));
  assert.ok(isUpToAFifth(millis / 1000), `at most a fifth of a CPU, and not much less: ${millis}`);
  assert.deepEqual(
    (await lines('pods', '-l', 'app=busy', '--containers')).map(([name, one]) => [name, one]),
    [['busy', 'busy']],
  );
  assert.match(await fixture.cluster.kubectl(['get', 'pods.metrics.k8s.io']), /NAME\s+CPU\s+MEMORY\s+WINDOW/);
});

test('metrics of the agent count its operations', async () => {
  const text = await kubelet('/metrics');
  assert.ok((valueOf(text, 'kubelet_runtime_operations_total', 'operation_type="run_podsandbox"') ?? 0) >= 2);
  assert.ok((valueOf(text, 'kubelet_started_containers_total', 'container_type="container"') ?? 0) >= 2);
  assert.match(text, /^kubelet_running_pods 2$/m);
  assert.match(text, /^kubelet_node_name\{node="node"\} 1$/m);
  assert.match(text, /^kubelet_pod_start_sli_duration_seconds_count 2$/m);
  assert.match(await kubelet('/metrics/resource'), /^resource_scrape_error 0$/m);
  assert.match(await kubelet('/metrics/probes'), /^process_start_time_seconds /m);
});
