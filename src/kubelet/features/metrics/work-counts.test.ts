import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { AgentMetrics } from './agent-metrics.ts';
import { createAgentMetrics } from './agent-metrics.ts';
import { countPodCertificates } from './devices.ts';
import { countPullRecords, noteEnsured } from './images.ts';
import { createObservation, noteRuntimeSeen, observeHooks, observeRelists } from './observation.ts';
import { countResizes, noteRequestedResizes } from './resizes.ts';
import { StatusTimes } from './status-times.ts';
import { countStorage, noteCsiCall, noteVolumeOperation } from './storage.ts';

async function linesOf({ main }: AgentMetrics, family: RegExp): Promise<string[]> {
  return (await main.text())
    .split('\n')
    .filter((line) => !line.startsWith('#') && family.test(line) && !line.includes('_bucket{'));
}

describe('metrics of work on the node', () => {
  it('count requested resizes by resource, requirement and direction', async () => {
    const pod = (resources: object): Pod =>
      ({
        metadata: { name: 'p', namespace: 'd', uid: 'u' },
        spec: { containers: [{ name: 'c', image: 'i', resources }] },
      }) as Pod;
    const metrics = createAgentMetrics();
    noteRequestedResizes(
      metrics,
      pod({ requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '1' } }),
      pod({ requests: { cpu: '0.2', memory: '67108864' }, limits: { memory: '1Gi' } }),
    );
    noteRequestedResizes(metrics, pod({ requests: { cpu: '200m' } }), pod({ requests: { cpu: '100m' } }));
    assert.deepEqual(await linesOf(metrics, /requested_resizes/), [
      'kubelet_container_requested_resizes_total{resource="memory",requirement="limits",operation="add"} 1',
      'kubelet_container_requested_resizes_total{resource="cpu",requirement="requests",operation="increase"} 1',
      'kubelet_container_requested_resizes_total{resource="cpu",requirement="limits",operation="remove"} 1',
      'kubelet_container_requested_resizes_total{resource="cpu",requirement="requests",operation="decrease"} 1',
    ]);
  });

  it('show the certificates of pods by signer and state, and none that are gone', async () => {
    const metrics = createAgentMetrics();
    const [a, b] = ['example.com/a', 'example.com/b'];
    countPodCertificates(metrics, [
      { signerName: a, phase: 'fresh' },
      { signerName: b, phase: 'fresh' },
      { signerName: a, phase: 'fresh' },
      { signerName: a, phase: 'denied' },
    ]);
    assert.deepEqual(await linesOf(metrics, /podcertificate/), [
      'kubelet_podcertificate_states{signer_name="example.com/a",state="fresh"} 2',
      'kubelet_podcertificate_states{signer_name="example.com/b",state="fresh"} 1',
      'kubelet_podcertificate_states{signer_name="example.com/a",state="denied"} 1',
    ]);
    countPodCertificates(metrics, []);
    assert.deepEqual(await linesOf(metrics, /podcertificate/), []);
  });

  it('show current resizes, and none that are over', async () => {
    const metrics = createAgentMetrics();
    countResizes(metrics, {
      pending: new Map([
        ['Deferred', 2],
        ['Infeasible', 1],
      ]),
      inProgress: 3,
    });
    countResizes(metrics, { pending: new Map([['Deferred', 1]]), inProgress: 0 });
    assert.deepEqual(await linesOf(metrics, /_(pending|in_progress)_resizes/), [
      'kubelet_pod_in_progress_resizes 0',
      'kubelet_pod_pending_resizes{reason="deferred"} 1',
    ]);
  });

  it('count requests for images, with undetermined facts as unknown', async () => {
    const metrics = createAgentMetrics();
    noteEnsured(metrics, { policy: 'IfNotPresent', wasPresent: true, pullWasNeeded: false });
    noteEnsured(metrics, { policy: 'Always', wasPresent: undefined, pullWasNeeded: true });
    assert.deepEqual(await linesOf(metrics, /ensure_image/), [
      'kubelet_image_manager_ensure_image_requests_total{pull_policy="ifnotpresent",present_locally="true",pull_required="false"} 1',
      'kubelet_image_manager_ensure_image_requests_total{pull_policy="always",present_locally="unknown",pull_required="true"} 1',
    ]);
  });

  it("measure pull records by the size of upstream's cache", async () => {
    const metrics = createAgentMetrics();
    countPullRecords(metrics, { intents: 11, records: 55 }, { maxPods: 110, maxParallelPulls: 0 });
    assert.deepEqual(await linesOf(metrics, /imagemanager_.*pull/), [
      'kubelet_imagemanager_inmemory_pulledrecords_usage_percent 10',
      'kubelet_imagemanager_inmemory_pullintents_usage_percent 5',
      'kubelet_imagemanager_ondisk_pulledrecords 55',
      'kubelet_imagemanager_ondisk_pullintents 11',
    ]);
  });

  it('time volume operations and calls to drivers under the names of upstream', async () => {
    const metrics = createAgentMetrics();
    noteVolumeOperation(metrics, {
      plugin: 'kubernetes.io/csi:d.example',
      name: 'volume_mount',
      durationMs: 500,
      failed: true,
    });
    noteCsiCall(metrics, { driver: 'd.example', method: 'NodePublishVolume', code: 'OK', durationMs: 250 });
    noteCsiCall(metrics, { driver: 'd.example', method: 'NodeGetInfo', code: 'Local', durationMs: 0 });
    assert.deepEqual(await linesOf(metrics, /^(csi|storage)_operation.*_sum/), [
      'csi_operations_seconds_sum{driver_name="d.example",method_name="/csi.v1.Node/NodePublishVolume",grpc_status_code="OK",migrated="false"} 0.25',
      'csi_operations_seconds_sum{driver_name="d.example",method_name="/csi.v1.Node/NodeGetInfo",grpc_status_code="unknown-non-grpc",migrated="false"} 0',
      'storage_operation_duration_seconds_sum{volume_plugin="kubernetes.io/csi:d.example",operation_name="volume_mount",status="fail-unknown",migrated="false"} 0.5',
    ]);
  });

  it('show volumes and plugins by desired and actual state', async () => {
    const metrics = createAgentMetrics();
    const gone = {
      desired: new Map([['kubernetes.io/nfs', 9]]),
      actual: new Map([['kubernetes.io/nfs', 9]]),
      reconstructed: 4,
      orphans: { found: 9, left: 9 },
    };
    countStorage(metrics, { volumes: gone, plugins: { desired: ['/old.sock'], registered: ['/old.sock'] } });
    countStorage(metrics, {
      volumes: {
        desired: new Map([['kubernetes.io/empty-dir', 2]]),
        actual: new Map([['kubernetes.io/empty-dir', 1]]),
        reconstructed: 4,
        orphans: { found: 2, left: 1 },
      },
      plugins: { desired: ['/a.sock'], registered: [] },
    });
    assert.deepEqual(
      await linesOf(metrics, /orphan_pod|total_plugins|total_volumes|reconstruct_volume_operations_total/),
      [
        'kubelet_orphan_pod_cleaned_volumes 2',
        'kubelet_orphan_pod_cleaned_volumes_errors 1',
        'plugin_manager_total_plugins{socket_path="/a.sock",state="desired_state_of_world"} 1',
        'reconstruct_volume_operations_total 4',
        'volume_manager_total_volumes{plugin_name="kubernetes.io/empty-dir",state="desired_state_of_world"} 2',
        'volume_manager_total_volumes{plugin_name="kubernetes.io/empty-dir",state="actual_state_of_world"} 1',
      ],
    );
  });

  it('measure a status from its first unpublished change', async () => {
    const metrics = createAgentMetrics();
    let nowMs = 1000;
    const times = new StatusTimes(metrics, () => nowMs);
    times.changed('u');
    nowMs = 3000;
    times.changed('u');
    nowMs = 4000;
    times.published('u');
    times.published('u');
    assert.deepEqual(await linesOf(metrics, /status_sync_duration_seconds_(sum|count)/), [
      'kubelet_pod_status_sync_duration_seconds_sum 3',
      'kubelet_pod_status_sync_duration_seconds_count 1',
    ]);
  });
});

describe('metrics of relists and hooks', () => {
  it('measure the interval between two relists, not before the first', async () => {
    const observation = createObservation(() => 0);
    let nowMs = 1000;
    const { onRelist } = observeRelists(observation, () => nowMs);
    onRelist(40);
    assert.deepEqual(await linesOf(observation.metrics, /relist_interval_seconds_count/), [
      'kubelet_pleg_relist_interval_seconds_count 0',
    ]);
    nowMs = 3500;
    onRelist(60);
    assert.deepEqual(await linesOf(observation.metrics, /pleg_relist_(interval|duration)_seconds_sum/), [
      'kubelet_pleg_relist_duration_seconds_sum 0.1',
      'kubelet_pleg_relist_interval_seconds_sum 2.5',
    ]);
  });

  it('show on the wall clock when the runtime was last active, and nothing before', async () => {
    const { metrics } = createObservation(() => 0);
    const clock = { nowMs: () => 900_000, monotonicMs: () => 70_000 };
    noteRuntimeSeen(metrics, undefined, clock);
    assert.deepEqual(await linesOf(metrics, /last_seen/), ['kubelet_pleg_last_seen_seconds 0']);
    noteRuntimeSeen(metrics, 50_000, clock);
    assert.deepEqual(await linesOf(metrics, /last_seen/), ['kubelet_pleg_last_seen_seconds 880']);
  });

  it('count hooks that did not run as configured, by what happened', async () => {
    const observation = createObservation(() => 0);
    const count = observeHooks(observation);
    count('httpFallback');
    count('sleepCutShort');
    count('sleepCutShort');
    assert.deepEqual(await linesOf(observation.metrics, /http_fallbacks|terminated_early/), [
      'kubelet_lifecycle_handler_http_fallbacks_total 1',
      'kubelet_sleep_action_terminated_early_total 2',
    ]);
  });
});
