import assert from 'node:assert/strict';
import { it } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { podUid } from '../../model/ids.ts';
import { createAgentMetrics } from './agent-metrics.ts';
import type { FigureSources } from './collect-figures.ts';
import { collectFigures } from './collect-figures.ts';

const none = new Map<string, never>();

function sourcesOf(more: Partial<FigureSources>): FigureSources {
  const pod = buildPod();
  return {
    store: { pods: () => [pod], mirrorPods: () => [pod, pod], byUid: () => pod },
    cache: { all: () => [] },
    states: { known: () => new Map([[podUid(pod.metadata.uid), { phase: 'syncing', pod }]]) },
    admission: { activePods: () => [pod] },
    pleg: { health: () => ({ lastActiveMs: 500 }) },
    claims: { claimsInUse: () => new Map([['gpu.example.com', 3]]) },
    podCertificates: { phases: () => [{ signerName: 'example.com/s', phase: 'fresh' }] },
    nodeShutdown: { times: () => ({ startMs: 7000, endMs: undefined }) },
    allocation: { counts: () => ({ pending: new Map([['Deferred', 2]]), inProgress: 1 }) },
    cpuManager: { usage: () => ({ sharedPool: new Set([0, 1]), exclusive: new Set([2]), perNuma: new Map() }) },
    volumes: { counts: () => ({ desired: none, actual: none, reconstructed: 4, orphans: { found: 0, left: 0 } }) },
    plugins: { counts: () => ({ desired: ['/a.sock'], registered: [] }) },
    disks: undefined,
    clock: { nowMs: () => 10_000, monotonicMs: () => 1000 },
    ...more,
  };
}

async function scrape(more: Partial<FigureSources> = {}): Promise<string[]> {
  const metrics = createAgentMetrics();
  collectFigures(metrics, sourcesOf(more));
  return (await metrics.main.text()).split('\n').filter((line) => !line.startsWith('#'));
}

const expected = [
  'kubelet_desired_pods{static=""} 1',
  'kubelet_active_pods{static=""} 1',
  'kubelet_pleg_last_seen_seconds 9.5',
  'dra_resource_claims_in_use{driver_name="gpu.example.com"} 3',
  'kubelet_podcertificate_states{signer_name="example.com/s",state="fresh"} 1',
  'kubelet_graceful_shutdown_start_time_seconds 7',
  'kubelet_pod_pending_resizes{reason="deferred"} 2',
  'kubelet_cpu_manager_shared_pool_size_millicores 2000',
  'plugin_manager_total_plugins{socket_path="/a.sock",state="desired_state_of_world"} 1',
  'reconstruct_volume_operations_total 4',
];

it('shows at each scrape what the parts of the agent say then', async () => {
  const lines = await scrape();
  for (const line of expected) assert.ok(lines.includes(line), `${line} in\n${lines.join('\n')}`);
});

it('shows no certificates of pods on a node that has none', async () => {
  const lines = await scrape({ podCertificates: undefined });
  assert.equal(
    lines.some((line) => line.startsWith('kubelet_podcertificate_states{')),
    false,
  );
});
