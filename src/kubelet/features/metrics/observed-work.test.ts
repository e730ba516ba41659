import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { createAgentMetrics } from './agent-metrics.ts';
import type { CsiDrivers } from '../../ports/csi-drivers.ts';
import { createObservation } from './observation.ts';
import { observedCredentialPlugins, observedDrivers } from './observed-calls.ts';
import { observedSyncer } from './observed-syncer.ts';

const lines = (text: string, family: RegExp): string[] =>
  text.split('\n').filter((line) => !line.startsWith('#') && family.test(line) && !line.includes('_bucket{'));

describe('work that is counted where it is composed', () => {
  it('a credential provider that fails, by its exit code or its start, is an error of the plugin', async () => {
    const metrics = createAgentMetrics();
    const answers: (() => Promise<{ exitCode: number; stdout: string; stderr: string }>)[] = [
      () => Promise.resolve({ exitCode: 0, stdout: '', stderr: '' }),
      () => Promise.resolve({ exitCode: 3, stdout: '', stderr: '' }),
      () => Promise.reject(new Error('not there')),
    ];
    const plugins = observedCredentialPlugins(
      { run: () => answers.shift()?.() ?? Promise.reject(new Error('too often')) },
      new FakeClock(),
      metrics,
    );
    const run = (): Promise<unknown> => plugins.run('/bin/of/ecr', [], { timeoutMs: 1, outputLimitBytes: 1 });
    await run();
    await run();
    await assert.rejects(run(), /not there/);
    assert.deepEqual(lines(await metrics.main.text(), /credential_provider.*(_count|errors_total)/), [
      'kubelet_credential_provider_plugin_duration_count{plugin_name="ecr"} 3',
      'kubelet_credential_provider_plugin_errors_total{plugin_name="ecr"} 2',
    ]);
  });

  it('calls of a driver are counted under its name', async () => {
    const metrics = createAgentMetrics();
    const refusing = {
      getInfo: () => Promise.resolve({ ok: false, code: 'Unavailable', message: 'no' }),
    } as unknown as ReturnType<CsiDrivers['node']>;
    const answer = await observedDrivers({ node: () => refusing }, new FakeClock(), metrics)
      .node('/d.sock', 'd.example')
      .getInfo(1000);
    assert.equal(answer.ok, false);
    assert.deepEqual(lines(await metrics.main.text(), /csi_operations_seconds_count/), [
      'csi_operations_seconds_count{driver_name="d.example",method_name="/csi.v1.Node/NodeGetInfo",grpc_status_code="Unavailable",migrated="false"} 1',
    ]);
  });

  it('a pod counts once as started, an orphan once as found, and one that is wanted again as restarted', async () => {
    const clock = new FakeClock();
    const observation = createObservation(() => clock.nowMs());
    const done = (): Promise<void> => Promise.resolve();
    const syncer = observedSyncer(
      {
        syncPod: () => Promise.resolve({ terminal: false }),
        syncTerminatingPod: done,
        syncTerminatedPod: done,
        finished: () => undefined,
      },
      observation,
      () => clock.monotonicMs(),
    );
    const pod = buildPod({ 'metadata.uid': 'u', 'metadata.annotations': { 'kubernetes.io/config.source': 'file' } });
    const { signal } = new AbortController();
    const firstSeenMs = clock.monotonicMs();
    await clock.advance(500);
    for (let pass = 0; pass < 2; pass++) await syncer.syncPod({ pod, firstSeenMs, signal });
    type Ending = Parameters<typeof syncer.syncTerminatingPod>[0];
    const orphan = {
      subject: { kind: 'orphan', runtime: { uid: 'x' } },
      termination: { cause: 'orphaned', graceMs: 1000, gone: true },
      signal,
    } as unknown as Ending;
    for (let pass = 0; pass < 2; pass++) await syncer.syncTerminatingPod(orphan);
    type Finished = Parameters<typeof syncer.finished>[0];
    syncer.finished({ uid: 'u', pod, gone: true, revived: true } as unknown as Finished);
    syncer.finished({ uid: 'x', pod: undefined, gone: true, revived: false } as unknown as Finished);
    assert.deepEqual(
      lines(await observation.metrics.main.text(), /orphaned_runtime|restarted_pods|worker_start_duration_seconds_/),
      [
        'kubelet_orphaned_runtime_pods_total 1',
        'kubelet_pod_worker_start_duration_seconds_sum 0.5',
        'kubelet_pod_worker_start_duration_seconds_count 1',
        'kubelet_restarted_pods_total{static="true"} 1',
      ],
    );
  });
});
