import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodAllocation } from '../../../api/pod-allocation.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { PodUid } from '../../model/ids.ts';
import { AllocatedPods } from './allocated-pods.ts';

const cpu = (amount: string) => ({ requests: { cpu: amount } });
const podAsking = (amount: string) =>
  buildPod({ 'metadata.uid': 'u', 'spec.containers[0].name': 'main', 'spec.containers[0].resources': cpu(amount) });
const allocation = (amount: string): PodAllocation => ({ containers: { main: cpu(amount) } });

function fixture(record: Record<string, PodAllocation> = {}) {
  const asked: PodUid[] = [];
  const pods = new AllocatedPods({
    get: (uid) => {
      asked.push(uid);
      return record[uid];
    },
  });
  return { pods, record, asked };
}

const requestOf = (pod: ReturnType<typeof buildPod>): unknown => pod.spec.containers[0]?.resources?.requests;

describe('allocated pods', () => {
  it('have the resources on record, and not those that they ask for', () => {
    const { pods, asked } = fixture({ u: allocation('100m') });
    const wanted = podAsking('200m');
    const applied = pods.apply(wanted);
    assert.deepEqual(requestOf(applied), { cpu: '100m' });
    assert.deepEqual(requestOf(wanted), { cpu: '200m' }, 'the pod itself stays as it was');
    assert.deepEqual(asked, ['u']);
  });

  it('are the pods themselves where nothing is on record, and where they have what they ask for', () => {
    const wanted = podAsking('200m');
    assert.equal(fixture().pods.apply(wanted), wanted);
    assert.equal(fixture({ u: allocation('0.2') }).pods.apply(wanted), wanted);
  });

  it('are the same object until the pod or its record changes', () => {
    const { pods, record } = fixture({ u: allocation('100m') });
    const wanted = podAsking('200m');
    const first = pods.apply(wanted);
    assert.equal(pods.apply(wanted), first);
    record['u'] = allocation('150m');
    const second = pods.apply(wanted);
    assert.deepEqual(requestOf(second), { cpu: '150m' });
    assert.deepEqual(requestOf(first), { cpu: '100m' });
    assert.notEqual(pods.apply(podAsking('200m')), second);
    delete record['u'];
    assert.equal(pods.apply(wanted), wanted);
  });
});
