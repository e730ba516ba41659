import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { OomPod } from './oom-place.ts';
import { locateOomKill } from './oom-place.ts';
import type { OomKill } from './oom-report.ts';

const place = (name: string, path: string, ...ids: readonly string[]): OomPod => ({
  pod: buildPod({ 'metadata.name': name }),
  path,
  containers: ids.map((id) => ({ id, name: `of-${id}` })),
});
const SLICE = '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice';
const pods = [
  place('one', '/kubepods/burstable/pod1', 'aa', 'bb'),
  place('eleven', '/kubepods/burstable/pod11', 'cc'),
  place('slice', SLICE, 'dd'),
];
const kill = (victimGroup: string | undefined, limitGroup?: string, scope: OomKill['scope'] = 'cgroup'): OomKill => ({
  scope,
  victimGroup,
  limitGroup,
  process: 'x',
  pid: 1,
  processBytes: 1,
  usedBytes: 1,
  limitBytes: 1,
});
const found = (...given: Parameters<typeof kill>): unknown => {
  const at = locateOomKill(kill(...given), pods);
  return at === undefined ? undefined : [at.pod.metadata.name, at.container?.name, at.limit];
};

describe('the place of a killed process', () => {
  it('is the container by whose id its cgroup is named, or one below', () => {
    assert.deepEqual(found('/kubepods/burstable/pod1/bb', '/kubepods/burstable/pod1/bb'), [
      'one',
      'of-bb',
      'container',
    ]);
    assert.deepEqual(found('/kubepods/burstable/pod1/aa/nested/deep', '/kubepods/burstable/pod1/aa/nested'), [
      'one',
      'of-aa',
      'inside',
    ]);
    assert.deepEqual(found('/kubepods/burstable/pod11/cc', '/kubepods/burstable/pod11'), ['eleven', 'of-cc', 'pod']);
  });

  it('is found by the names that systemd gives to cgroups', () => {
    for (const scope of ['cri-containerd-dd.scope', 'crio-dd.scope'])
      assert.deepEqual(found(`${SLICE}/${scope}`, `${SLICE}/${scope}`), ['slice', 'of-dd', 'container']);
    assert.deepEqual(found(`${SLICE}/cri-containerd-xdd.scope`, '/kubepods.slice'), ['slice', undefined, 'allPods']);
  });

  it('is a pod without a container for its sandbox and for containers that are not known', () => {
    assert.deepEqual(found('/kubepods/burstable/pod1/sandbox', '/kubepods/burstable'), ['one', undefined, 'allPods']);
    assert.deepEqual(found('/kubepods/burstable/pod1', '/kubepods/burstable/pod1'), ['one', undefined, 'pod']);
  });

  it('is found on a node that is itself a container', () => {
    const outer = '/docker/f00';
    const inPod = `${outer}/kubepods/burstable/pod1`;
    assert.deepEqual(found(`${inPod}/bb`, `${inPod}/bb`), ['one', 'of-bb', 'container']);
    assert.deepEqual(found(`${inPod}/bb/deep`, `${inPod}/bb/deep`), ['one', 'of-bb', 'inside']);
    assert.deepEqual(found(`${inPod}/bb`, inPod), ['one', 'of-bb', 'pod']);
    assert.deepEqual(found(`${inPod}/bb`, `${outer}/kubepods`), ['one', 'of-bb', 'allPods']);
    assert.deepEqual(found(`${outer}${SLICE}/crio-dd.scope`), ['slice', 'of-dd', 'unknown']);
    assert.equal(found(`${outer}/kubepods/burstable/pod111/bb`), undefined);
  });

  it('is the outer pod if a container names its cgroups after those of another pod', () => {
    for (const outer of ['', '/docker/f00']) {
      const own = `${outer}/kubepods/burstable/pod11/cc`;
      const forged = `${own}/kubepods/burstable/pod1/aa`;
      assert.deepEqual(found(forged, forged), ['eleven', 'of-cc', 'inside']);
    }
  });

  it('says when the limit is that of the node, or is not known', () => {
    assert.deepEqual(found('/kubepods/burstable/pod1/aa', undefined, 'system'), ['one', 'of-aa', 'node']);
    assert.deepEqual(found('/kubepods/burstable/pod1/aa'), ['one', 'of-aa', 'unknown']);
    assert.deepEqual(found('/kubepods/burstable/pod1/aa', '/elsewhere'), ['one', 'of-aa', 'unknown']);
  });

  it('is none for a process of no pod, and for one whose cgroup is unclear', () => {
    for (const group of ['/system.slice/cron.service', '/', '', '/kubepods/burstable/pod111/cc', undefined])
      assert.equal(found(group, '/kubepods'), undefined, String(group));
  });
});
