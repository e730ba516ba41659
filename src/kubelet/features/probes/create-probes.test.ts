import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { podUid } from '../../model/ids.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../../model/runtime-status.ts';
import { FakeNetDial } from '../../ports/testing/fake-net-dial.ts';
import { createProbes } from './create-probes.ts';

const uid = podUid('pod-1');

function fixture(entries: readonly unknown[] = []) {
  const clock = new FakeClock();
  const saved: unknown[] = [];
  let snapshot = (): readonly unknown[] => [];
  const probes = createProbes({
    saved: { entries, isWhole: true },
    keep: (given) => {
      snapshot = given;
      return (change) => void saved.push(change);
    },
    runtime: { execSync: async () => ({ stdout: new Uint8Array(), stderr: new Uint8Array(), exitCode: 0 }) },
    dial: new FakeNetDial(clock),
    recorder: { event: () => undefined },
    hostIp: () => '192.0.2.1',
    onUpdate: () => undefined,
    clock,
    random: seededRandom(1),
    log: silentLogger,
  });
  return { clock, probes, saved, snapshot: () => snapshot() };
}

test('each change of the results is saved', async () => {
  const { clock, probes, saved } = fixture();
  probes.addPod({
    metadata: { name: 'p', namespace: 'default', uid },
    spec: { containers: [{ name: 'web', readinessProbe: { exec: { command: ['true'] } } }] },
  });
  probes.noteStatus({
    ...emptyPodRuntimeStatus({ uid, name: 'p', namespace: 'default' }, 0),
    containers: [
      {
        id: 'web-1',
        name: 'web',
        state: 'running',
        attempt: 0,
        createdAtMs: clock.nowMs(),
        startedAtMs: clock.nowMs(),
      },
    ] as unknown as ContainerRuntimeStatus[],
  });
  await clock.advance(20_000);
  probes.stop();
  assert.ok(
    saved.some((change) => JSON.stringify(change).includes('"id":"web-1"')),
    JSON.stringify(saved),
  );
});

test('results of an earlier run are part of what is saved', () => {
  const { probes, snapshot } = fixture([{ id: 'web-1', type: 'readiness', verdict: 'success' }]);
  assert.ok(JSON.stringify(snapshot()).includes('web-1'));
  probes.stop();
});
