import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import type { DeleteOptions } from '../../../api/core/delete-options.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { widgets } from '../testing/registry-fixture.ts';
import { planDeletion } from './plan-deletion.ts';

const NOW_MS = Date.UTC(2026, 0, 1);
type Rules = ResourceDefinition['rules'];
type Metadata = Partial<ApiObject['metadata']>;

/** Returns `remove`, `keep`, or the metadata that the object gets. */
function plan(metadata: Metadata, options: DeleteOptions = {}, rules: Partial<Rules> = {}): unknown {
  const definition = { ...widgets, rules: { ...widgets.rules, ...rules } } as unknown as ResourceDefinition;
  const object = { metadata: { name: 'a', namespace: '', uid: 'u', ...metadata } };
  const planned = planDeletion(definition, object, options, NOW_MS);
  if (planned.kind !== 'mark') return planned.kind;
  const { name: _, namespace: __, uid: ___, ...rest } = planned.object.metadata;
  return rest;
}

const at = (seconds: number): string => new Date(NOW_MS + seconds * 1000).toISOString().replace('.000Z', 'Z');
const deleted = (seconds: number, more: Metadata = {}): Metadata => ({
  deletionTimestamp: at(seconds),
  deletionGracePeriodSeconds: seconds,
  ...more,
});
const graceful: Partial<Rules> = { gracePeriodSeconds: (_, asked) => asked ?? 30 };

describe('the deletion of an object', () => {
  it('removes an object without finalizers, and marks an object with finalizers once', () => {
    assert.equal(plan({}), 'remove');
    assert.deepEqual(plan({ finalizers: ['x/y'], generation: 3 }), {
      finalizers: ['x/y'],
      ...deleted(0),
      generation: 4,
    });
    assert.equal(plan(deleted(0, { finalizers: ['x/y'] })), 'keep');
    assert.equal(plan(deleted(0)), 'remove');
  });

  it('sets a grace period, which can only be shortened', () => {
    assert.deepEqual(plan({ generation: 1 }, {}, graceful), { ...deleted(30), generation: 2 });
    assert.deepEqual(
      plan({}, { gracePeriodSeconds: 7 }, graceful),
      deleted(7),
      'an object without a generation gets none',
    );
    for (const gracePeriodSeconds of [30, 31])
      assert.equal(plan(deleted(30), { gracePeriodSeconds }, graceful), 'keep', String(gracePeriodSeconds));
    // The object was deleted ten seconds ago with 30 s. With 20 s, ten are left.
    const running = { deletionTimestamp: at(20), deletionGracePeriodSeconds: 30, generation: 2 };
    assert.deepEqual(plan(running, { gracePeriodSeconds: 20 }, graceful), {
      deletionTimestamp: at(10),
      deletionGracePeriodSeconds: 20,
      generation: 3,
    });
  });

  it('a deletion at grace period 0 removes the object, or waits for its finalizers alone', () => {
    const now = { gracePeriodSeconds: 0 };
    assert.equal(plan(deleted(30), now, graceful), 'remove');
    assert.deepEqual(plan(deleted(30, { finalizers: ['x/y'], generation: 2 }), now, graceful), {
      deletionTimestamp: at(30),
      deletionGracePeriodSeconds: 0,
      finalizers: ['x/y'],
      generation: 2,
    });
  });

  it('records a changed propagation policy during a grace period, and keeps the period', () => {
    assert.deepEqual(plan(deleted(30), { gracePeriodSeconds: 60, propagationPolicy: 'Orphan' }, graceful), {
      ...deleted(30),
      finalizers: ['orphan'],
    });
  });

  it('lets a kind keep its objects', () => {
    const held = (object: ApiObject): ApiObject => ({
      ...object,
      metadata: { ...object.metadata, labels: { held: '1' } },
    });
    const marked = { deletionTimestamp: at(0), generation: 3, labels: { held: '1' } };
    assert.deepEqual(plan({ generation: 3 }, {}, { holdDeletion: held }), marked);
    assert.equal(plan(marked, {}, { holdDeletion: held }), 'keep');
    assert.equal(plan({}, {}, { holdDeletion: () => undefined }), 'remove');
  });

  it("propagates as requested, else as the finalizers say, else by the kind's default, else in the background", () => {
    const finalizersOf = (finalizers: string[], options: DeleteOptions, rules?: Partial<Rules>): unknown => {
      const planned = plan({ finalizers: ['x/y', ...finalizers] }, options, rules);
      return typeof planned === 'object' ? (planned as Metadata).finalizers?.slice(1) : planned;
    };
    const [orphan, foreground] = [['orphan'], ['foregroundDeletion']];
    assert.deepEqual(finalizersOf([], {}), []);
    assert.deepEqual(finalizersOf([], {}, { defaultPropagation: 'Orphan' }), orphan);
    assert.deepEqual(finalizersOf([], {}, { defaultPropagation: 'Unsupported' }), []);
    assert.deepEqual(
      finalizersOf(orphan, { propagationPolicy: 'Foreground' }, { defaultPropagation: 'Unsupported' }),
      [],
    );
    for (const kept of [orphan, foreground]) assert.deepEqual(finalizersOf(kept, {}), kept);
    assert.deepEqual(finalizersOf([...foreground, ...orphan], {}), orphan);
    assert.deepEqual(finalizersOf(foreground, { propagationPolicy: 'Orphan' }), orphan);
    assert.deepEqual(finalizersOf(orphan, { propagationPolicy: 'Foreground' }), foreground);
    assert.deepEqual(finalizersOf(orphan, { propagationPolicy: 'Background' }), []);
    assert.deepEqual(finalizersOf([], { orphanDependents: true }), orphan);
    assert.deepEqual(finalizersOf(orphan, { orphanDependents: false }, { defaultPropagation: 'Orphan' }), []);
  });
});
