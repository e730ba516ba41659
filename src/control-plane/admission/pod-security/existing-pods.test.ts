import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { warningsOfExisting } from './existing-pods.ts';
import { c0 } from './testing/level-cases.ts';

describe('warnings of existing pods', () => {
  const baseline = { level: 'baseline', minor: Infinity } as const;
  const owned = (name: string, changes: Changes, controller = true) =>
    buildPod({
      'metadata.name': name,
      'metadata.ownerReferences': [{ apiVersion: 'v1', kind: 'A', name: 'o', uid: 'o', controller }],
      ...changes,
    });

  it('check one pod per controller first, because at most 3000 pods are checked', () => {
    const fine = owned('fine', {});
    const many = Array.from({ length: 3000 }, () => fine);
    const [last, lone] = [
      owned('last', { 'spec.hostPID': true }),
      buildPod({ 'metadata.name': 'lone', 'spec.hostIPC': true }),
    ];
    assert.deepEqual(warningsOfExisting('x', baseline, [...many, last, lone]), [
      'new PodSecurity enforce level only checked against the first 3000 of 3002 existing pods',
      'existing pods in namespace "x" violate the new PodSecurity enforce level "baseline:latest"',
      'lone: host namespaces',
    ]);
    assert.equal(
      warningsOfExisting('x', baseline, [...many.slice(2), last, lone]).length,
      2,
      'exactly 3000 are checked',
    );
    const uncontrolled = owned('owned', { 'spec.hostPID': true }, false);
    assert.equal(
      warningsOfExisting('x', baseline, [...many, uncontrolled]).length,
      3,
      'an owner that is no controller',
    );
    assert.deepEqual(warningsOfExisting('x', baseline, [fine]), []);
  });

  it('count the pods with the same violations and sort them', () => {
    const named = (name: string, changes: Changes) => buildPod({ 'metadata.name': name, ...changes });
    const pids = ['c', 'b'].map((name) => named(name, { 'spec.hostPID': true }));
    assert.deepEqual(
      warningsOfExisting('x', baseline, [...pids, named('a', { [c0]: { privileged: true } })]).slice(1),
      ['a: privileged', 'b (and 1 other pod): host namespaces'],
    );
  });
});
