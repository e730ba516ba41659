import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { Pod } from '../../api/core/pod.ts';
import type { Service } from '../../api/core/service.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { LAST_CHANGE_TRIGGER_TIME, TriggerTimes, withTriggerTime } from './trigger-times.ts';

const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, '0')}Z`;
const service = (uid = 'u'): Service => ({
  metadata: { namespace: 'default', name: 'web', uid, creationTimestamp: at(0) },
  spec: {},
});
const pod = (name: string, second: number | undefined): Pod =>
  buildPod({
    'metadata.name': name,
    'metadata.uid': name,
    ...(second !== undefined && {
      status: { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: at(second) }] },
    }),
  });

it('the first pass has the time of the service, later ones the earliest change since the last pass', () => {
  const times = new TriggerTimes();
  assert.equal(times.take('web', service(), { pods: [pod('a', 5)] }), at(0));
  assert.equal(times.take('web', service(), { pods: [pod('a', 5)] }), undefined);
  assert.equal(times.take('web', service(), { pods: [pod('a', 5), pod('b', 9), pod('c', 7)] }), at(7));
  assert.equal(times.take('web', service(), { pods: [pod('a', 5), pod('b', undefined)] }), undefined);
});

it('a service that was deleted and created again has its own creation time', () => {
  const times = new TriggerTimes();
  times.take('web', service(), { pods: [] });
  assert.equal(times.take('web', service('other'), { pods: [] }), at(0));
  times.forget('web');
  assert.equal(times.take('web', service('other'), { pods: [] }), at(0));
});

it('a pass over the changed pods returns what a pass over all pods returns', () => {
  const step = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.option(fc.nat(59), { nil: undefined })));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), (steps) => {
      const [full, partial] = [new TriggerTimes(), new TriggerTimes()];
      const pods = new Map<string, Pod>();
      full.take('web', service(), { pods: [] });
      partial.take('web', service(), { pods: [] });
      for (const changes of steps) {
        // Without a time the pod is deleted.
        for (const [name, second] of changes)
          if (second === undefined) pods.delete(name);
          else pods.set(name, pod(name, second));
        const uids = new Set(changes.map(([name]) => name));
        const among = [...uids].map((uid) => pods.get(uid)).filter((each) => each !== undefined);
        assert.equal(
          partial.take('web', service(), { pods: among, uids }),
          full.take('web', service(), { pods: [...pods.values()] }),
        );
      }
    }),
  );
});

it('replaces the annotation, or removes it', () => {
  assert.deepEqual(withTriggerTime({ x: 'y', [LAST_CHANGE_TRIGGER_TIME]: at(1) }, at(2)), {
    x: 'y',
    [LAST_CHANGE_TRIGGER_TIME]: at(2),
  });
  assert.deepEqual(withTriggerTime({ x: 'y', [LAST_CHANGE_TRIGGER_TIME]: at(1) }, undefined), { x: 'y' });
  assert.deepEqual(withTriggerTime(undefined, undefined), {});
});
