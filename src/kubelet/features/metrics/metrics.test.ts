import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import { createAgentMetrics, mainFamilies } from './agent-metrics.ts';
import { imageSizeLabel } from './image-size.ts';
import { metricsEndpoints } from './metrics-endpoints.ts';
import { MetricSet } from './metric-set.ts';
import { countPods } from './pod-counts.ts';
import { PodStarts } from './pod-starts.ts';
import { ProbeCounts } from './probe-counts.ts';
import { noteRuntimeCall, operationType } from './runtime-calls.ts';

const typesOf = (text: string): string[] => [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name);

describe('a set of metrics', () => {
  const families = {
    plain_total: { type: 'counter', help: 'Plain.' },
    of_total: { type: 'counter', help: 'Of.', labels: ['who'] },
    now: { type: 'gauge', help: 'Now.', hiddenUntilUsed: true },
  } as const;

  it('shows families with series, as upstream does: plain counters from the start, the rest after their first use', async () => {
    const set = new MetricSet(families);
    assert.deepEqual(typesOf(await set.text()), ['plain_total']);
    set.count('of_total', { who: 'a' });
    set.set('now', {}, 0);
    assert.deepEqual(typesOf(await set.text()), ['now', 'of_total', 'plain_total']);
    set.remove('of_total', { who: 'a' });
    assert.deepEqual(typesOf(await set.text()), ['now', 'plain_total']);
    set.reset();
    assert.deepEqual(typesOf(await set.text()), ['plain_total']);
  });

  it('accepts a limited number of series, wherever their labels come from', async () => {
    const set = new MetricSet(families);
    for (let each = 0; each < 10_050; each++) set.count('of_total', { who: String(each) });
    set.count('of_total', { who: '7' });
    const text = await set.text();
    assert.equal(text.match(/^of_total\{/gm)?.length, 10_000);
    assert.match(text, /^of_total\{who="7"\} 2$/m);
  });
});

describe('the metrics of the agent', () => {
  it('name calls to the runtime as upstream does', async () => {
    assert.deepEqual(
      [
        'RunPodSandbox',
        'ListPodSandbox',
        'PodSandboxStatus',
        'UpdateContainerResources',
        'UpdatePodSandboxResources',
        'ImageFsInfo',
        'ExecSync',
        'Version',
        'GetContainerEvents',
      ].map(operationType),
      [
        'run_podsandbox',
        'list_podsandbox',
        'podsandbox_status',
        'update_container',
        'update_podsandbox_resources',
        'image_fs_info',
        'exec_sync',
        'version',
        'get_container_events',
      ],
    );
    const metrics = createAgentMetrics();
    noteRuntimeCall(metrics, { op: 'RunPodSandbox', durationMs: 30, failed: true });
    const text = await metrics.main.text();
    for (const line of [
      'kubelet_runtime_operations_total{operation_type="run_podsandbox"} 1',
      'kubelet_runtime_operations_errors_total{operation_type="run_podsandbox"} 1',
      'kubelet_runtime_operations_duration_seconds_sum{operation_type="run_podsandbox"} 0.03',
    ])
      assert.ok(text.includes(line), line);
    assert.match(
      text,
      /kubelet_runtime_operations_duration_seconds_bucket\{le="0\.03125",operation_type="run_podsandbox"\} 1/,
    );
  });

  it('have labels for images of any size', () => {
    const MIB = 1024 * 1024;
    assert.deepEqual([0, 1, 10 * MIB, 10 * MIB + 1, 700 * MIB, 200_000 * MIB].map(imageSizeLabel), [
      'N/A',
      '0-10MB',
      '0-10MB',
      '10MB-100MB',
      '500MB-1GB',
      'GT100GB',
    ]);
  });

  it('keep nothing of the probes of a removed pod', async () => {
    const metrics = createAgentMetrics();
    const probes = new ProbeCounts(metrics);
    const seen = {
      type: 'readiness',
      container: 'web',
      pod: { name: 'a', namespace: 'default', uid: 'u' },
      durationMs: 20,
    } as const;
    probes.seen({ ...seen, outcome: 'successful' });
    probes.seen({ ...seen, outcome: 'failed' });
    const text = await metrics.probes.text();
    assert.match(
      text,
      /prober_probe_total\{probe_type="Readiness",container="web",pod="a",namespace="default",result="failed",pod_uid="u"\} 1/,
    );
    assert.match(text, /prober_probe_duration_seconds_count\{.*\} 1/);
    probes.podGone('u');
    assert.equal((await metrics.probes.text()).includes('prober_probe'), false);
  });

  it('count pods by their state', async () => {
    const metrics = createAgentMetrics();
    const pod: Pod = { metadata: { name: 'a', namespace: 'default', uid: 'u' }, spec: { containers: [] } };
    countPods(metrics, {
      runtimePods: [],
      desired: [pod],
      active: [],
      mirrors: 1,
      workers: [
        { lifecycle: 'sync', pod, desired: true },
        { lifecycle: 'terminating', pod: undefined, desired: false },
      ],
    });
    const text = await metrics.main.text();
    for (const line of [
      'kubelet_desired_pods{static=""} 1',
      'kubelet_active_pods{static="true"} 0',
      // Also while its static pod ends and is not active any more.
      'kubelet_mirror_pods 1',
      'kubelet_working_pods{lifecycle="sync",config="desired",static=""} 1',
      'kubelet_working_pods{lifecycle="terminating",config="runtime_only",static="unknown"} 1',
      'kubelet_running_pods 0',
    ])
      assert.ok(text.includes(line), line);
  });
});

describe('how long pods took to start', () => {
  const BORN = Date.UTC(2026, 0, 1);
  const pod: Pod = {
    metadata: { name: 'a', namespace: 'default', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  };
  const waiting: PodStatus = { phase: 'Pending', containerStatuses: [] };
  const running = {
    phase: 'Running',
    containerStatuses: [
      {
        name: 'c',
        image: 'i',
        imageID: '',
        ready: true,
        restartCount: 0,
        state: { running: { startedAt: '2026-01-01T00:00:09Z' } },
      },
    ],
  } as PodStatus;

  it('excludes pulls and init containers, and counts each pod once', async () => {
    const metrics = createAgentMetrics();
    let now = BORN + 1000;
    const starts = new PodStarts(metrics, () => now);
    starts.statusChanged(pod, waiting);
    starts.pulled('u', BORN + 2000, BORN + 5000);
    now = BORN + 10_000;
    const init = {
      name: 'i',
      image: 'i',
      imageID: '',
      ready: true,
      restartCount: 0,
      state: { terminated: { exitCode: 0, startedAt: '2026-01-01T00:00:05Z', finishedAt: '2026-01-01T00:00:07Z' } },
    };
    starts.statusChanged(pod, { ...running, initContainerStatuses: [init] } as PodStatus);
    now = BORN + 99_000;
    starts.statusChanged(pod, waiting);
    starts.statusChanged(pod, running);
    const text = await metrics.main.text();
    const sum = (name: string): string | undefined =>
      new RegExp(`^kubelet_${name}_seconds_sum (\\S+)$`, 'm').exec(text)?.[1];
    assert.deepEqual(['pod_start_duration', 'pod_start_total_duration', 'pod_start_sli_duration'].map(sum), [
      '9',
      '10',
      '5',
    ]);
    assert.match(text, /^kubelet_first_network_pod_start_sli_duration_seconds 5$/m);
  });

  it('excludes pods that already ran or have ended', async () => {
    const metrics = createAgentMetrics();
    const starts = new PodStarts(metrics, () => BORN);
    starts.statusChanged(pod, running);
    starts.statusChanged({ ...pod, metadata: { ...pod.metadata, uid: 'v' } }, { phase: 'Failed' });
    assert.match(await metrics.main.text(), /^kubelet_pod_start_duration_seconds_count 0$/m);
  });
});

describe('the endpoints', () => {
  it('of health can be reset, and no other', async () => {
    const metrics = createAgentMetrics();
    const endpoints = metricsEndpoints({
      metrics,
      answer: (_request, text) => Promise.resolve({ status: 200, headers: {}, body: text }),
    });
    metrics.slis.count('kubernetes_healthchecks_total', { name: 'ping', type: 'healthz', status: 'success' });
    const ask = async (endpoint: string) => (await endpoints.get(endpoint)?.({ acceptEncoding: '' }))?.body;
    assert.match(
      String(await ask('GET /metrics/slis')),
      /kubernetes_healthchecks_total\{name="ping",type="healthz",status="success"\} 1/,
    );
    assert.equal(await ask('DELETE /metrics/slis'), 'metrics reset\n');
    assert.equal(String(await ask('GET /metrics/slis')).includes('healthchecks_total{'), false);
    assert.equal(endpoints.has('DELETE /metrics'), false);
  });

  it('have every counted family without labels at a fresh start', async () => {
    const { main } = createAgentMetrics();
    const shown = typesOf(await main.text());
    for (const name of [
      'kubelet_containers_per_pod_count',
      'kubelet_pleg_relist_duration_seconds',
      'kubelet_pod_start_duration_seconds',
      'kubelet_started_pods_total',
      'kubelet_topology_manager_admission_duration_ms',
    ])
      assert.ok(shown.includes(name), name);
    for (const name of [
      'kubelet_evictions',
      'kubelet_preemptions',
      'kubelet_pod_start_sli_duration_seconds',
      'kubelet_runtime_operations_total',
      'hidden_metrics_total',
      'workqueue_depth',
    ])
      assert.ok(!shown.includes(name), name);
    for (const [name, { help }] of Object.entries(mainFamilies))
      assert.ok(help.length > 5 && !help.includes('undefined'), name);
  });
});
