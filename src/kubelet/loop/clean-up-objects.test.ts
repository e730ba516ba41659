import assert from 'node:assert/strict';
import { it } from 'node:test';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { PodStore } from '../features/pod-store/pod-store.ts';
import { cleanUpObjects } from './clean-up-objects.ts';

it('objects are kept for wanted pods; tokens and certificates also for pods that only a worker knows', () => {
  const store = new PodStore();
  store.set(buildPod({ 'metadata.uid': 'wanted' }));
  const kept: Record<string, string[]> = {};
  const retain = (part: string) => (known: { has(uid: string): boolean }) =>
    void (kept[part] = ['wanted', 'ending', 'gone'].filter((uid) => known.has(uid)));
  cleanUpObjects(new Set(['ending']) as never, {
    store,
    clusterObjects: { retain: (pods) => void (kept['objects'] = [...pods].map(({ metadata }) => metadata.uid)) },
    tokens: { retain: retain('tokens') },
    podCredentials: { certificates: { retain: retain('certificates') } },
  });
  assert.deepEqual(kept, {
    objects: ['wanted'],
    tokens: ['wanted', 'ending'],
    certificates: ['wanted', 'ending'],
  });
});
