import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ControllerRevision } from '../../../api/apps/controller-revision.ts';
import type { DaemonSetStatus } from '../../../api/apps/daemon-set.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { buildRevision, hashOf, planHistory, selectForgotten } from './daemon-history.ts';
import { buildDaemonSet } from './testing/daemon-facts.ts';

const withImage = (image: string): ReturnType<typeof buildDaemonSet> =>
  buildDaemonSet({ template: { metadata: {}, spec: buildPod({ 'spec.containers[0].image': image }).spec } });
const revision = (name: string, image: string, number: number): ControllerRevision => {
  const built = buildRevision(withImage(image), number);
  return { ...built, metadata: { ...built.metadata, name, labels: { 'controller-revision-hash': name } } };
};
const names = (revisions: readonly ControllerRevision[]): string =>
  revisions.map(({ metadata }) => metadata.name).join(' ');

describe('the revision of a template', () => {
  it('is named and labelled by its hash, and belongs to the daemon set', () => {
    const set = buildDaemonSet();
    const { metadata, revision: number } = buildRevision(set, 4);
    const hash = metadata.labels?.['controller-revision-hash'];
    assert.ok(hash !== undefined && hash !== '');
    assert.equal(metadata.name, `agent-${hash}`);
    assert.deepEqual(metadata.labels, { app: 'agent', 'controller-revision-hash': hash });
    assert.deepEqual([metadata.namespace, number, 'annotations' in metadata], ['default', 4, false]);
    assert.deepEqual(
      metadata.ownerReferences?.map(({ kind, uid, controller }) => [kind, uid, controller]),
      [['DaemonSet', 'ds-1', true]],
    );
  });

  it('has another name for another template, and after a name collision', () => {
    const status = (collisionCount: number): DaemonSetStatus => ({
      ...{ currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
      collisionCount,
    });
    const nameOf = (image: string, collisions?: number): string =>
      buildRevision({ ...withImage(image), ...(collisions !== undefined && { status: status(collisions) }) }, 1)
        .metadata.name;
    assert.equal(nameOf('v1'), nameOf('v1'));
    assert.equal(new Set([nameOf('v1'), nameOf('v2'), nameOf('v1', 1), nameOf('v1', 2)]).size, 4);
  });

  it('has the annotations of the daemon set', () => {
    const annotations = { 'deprecated.daemonset.template.generation': '2' };
    assert.deepEqual(buildRevision(buildDaemonSet({}, { annotations }), 1).metadata.annotations, annotations);
  });

  it("labels pods with the revision's label, or with its name if it has none", () => {
    const { metadata, ...rest } = revision('r1', 'v1', 1);
    assert.equal(hashOf({ metadata: { ...metadata, name: 'other' }, ...rest }), 'r1');
    const { labels: _, ...unlabelled } = metadata;
    assert.equal(hashOf({ metadata: unlabelled, ...rest }), 'r1');
    assert.equal(hashOf({ metadata: { ...unlabelled, name: 'other' }, ...rest }), 'other');
  });
});

describe('the history', () => {
  it('has no revision of a new template', () => {
    const plan = planHistory(withImage('v3'), [revision('r1', 'v1', 1), revision('r2', 'v2', 2)]);
    assert.deepEqual([plan.current, plan.duplicates, names(plan.old), plan.revision], [undefined, [], 'r1 r2', 3]);
  });

  it('gives a template that is used again the next number', () => {
    const plan = planHistory(withImage('v1'), [revision('r1', 'v1', 1), revision('r2', 'v2', 2)]);
    assert.deepEqual([plan.current?.metadata.name, names(plan.old), plan.revision], ['r1', 'r2', 3]);
  });

  it('keeps the newest of several revisions of the same template', () => {
    const three = [revision('r3', 'v1', 3), revision('r1', 'v1', 1), revision('r2', 'v1', 2)];
    const plan = planHistory(withImage('v1'), three);
    assert.deepEqual([plan.current?.metadata.name, names(plan.duplicates), plan.old], ['r3', 'r1 r2', []]);
  });
});

describe('old revisions', () => {
  const old = [3, 1, 2].map((number) => revision(`r${number}`, `v${number}`, number));
  const forgotten = (revisionHistoryLimit: number | undefined, ...used: string[]): string => {
    const set = buildDaemonSet(revisionHistoryLimit === undefined ? {} : { revisionHistoryLimit });
    const pods = used.map((hash) => buildPod({ 'metadata.labels': { 'controller-revision-hash': hash } }));
    return names(selectForgotten(set, old, [buildPod(), ...pods]));
  };

  it('are deleted beyond the limit, the oldest first', () => {
    assert.equal(forgotten(2), 'r1');
    assert.equal(forgotten(0), 'r1 r2 r3');
    assert.equal(forgotten(3), '');
    assert.equal(forgotten(undefined), '');
  });

  it('are kept while pods use them', () => {
    assert.equal(forgotten(1, 'r1'), 'r2 r3');
    assert.equal(forgotten(2, 'r1'), 'r2');
    assert.equal(forgotten(0, 'r1', 'r2', 'r3'), '');
  });

  it('are limited to ten by default', () => {
    const many = Array.from({ length: 12 }, (_, index) => revision(`r${index + 10}`, `v${index}`, index + 10));
    assert.equal(names(selectForgotten(buildDaemonSet(), many, [])), 'r10 r11');
  });
});
