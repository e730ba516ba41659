import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { podUid } from '../../model/ids.ts';
import { createObservation } from './observation.ts';
import type { CountedVerdict } from './pod-statuses.ts';
import { observePodStatuses } from './pod-statuses.ts';

const pod = buildPod();
const uid = podUid(pod.metadata.uid);
const failed: PodStatus = { phase: 'Failed', message: 'Pod was rejected: no room' };

function fixture(verdict?: CountedVerdict) {
  const observation = createObservation(() => 0);
  const observe = observePodStatuses(observation, () => verdict);
  const lines = async (family: RegExp): Promise<string[]> =>
    (await observation.metrics.main.text()).split('\n').filter((line) => !line.startsWith('#') && family.test(line));
  const change = (status: PodStatus, previous?: PodStatus): void => observe({ uid, pod, status, previous });
  return { change, rejections: () => lines(/admission_rejections/), containers: () => lines(/per_pod_count_count/) };
}

describe('rejected pods', () => {
  it('are counted once each, by the reason of admission', async () => {
    const { change, rejections } = fixture({ kind: 'rejected', reason: 'OutOfcpu' });
    change(failed, { phase: 'Pending' });
    change({ ...failed, message: 'more' }, failed);
    assert.deepEqual(await rejections(), ['kubelet_admission_rejections_total{reason="OutOfcpu"} 1']);
  });

  it("follow admission's verdict, and not the message of a status", async () => {
    for (const verdict of [
      undefined,
      { kind: 'preempted', reason: 'Preempting' },
      { kind: 'held', reason: 'x' },
    ] as const) {
      const { change, rejections } = fixture(verdict);
      change(failed, { phase: 'Running' });
      assert.deepEqual(await rejections(), []);
    }
  });
});

it('the containers of a pod are counted with its first status', async () => {
  const { change, containers } = fixture();
  change({ phase: 'Pending' });
  change({ phase: 'Running' }, { phase: 'Pending' });
  assert.deepEqual(await containers(), ['kubelet_containers_per_pod_count_count 1']);
});
