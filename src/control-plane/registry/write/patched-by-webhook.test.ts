import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AdmissionAttributes, AdmissionPlugin } from '../../model/admission.ts';
import { patchedByWebhook } from './patched-by-webhook.ts';
import { startRegistry, widgets } from '../testing/registry-fixture.ts';
import type { Widget } from '../testing/registry-fixture.ts';

const attributes = { definition: widgets, subresource: '' } as unknown as AdmissionAttributes;
const document = {
  kind: 'Widget',
  apiVersion: 'test.io/v1',
  metadata: { name: 'w', namespace: 'default' },
  spec: { size: 3, parts: [{ name: 'a' }] },
};
const patched = (...operations: object[]) => patchedByWebhook(attributes, document, operations) as Widget;

test('a patch creates a new object of the same kind, decoded and with defaults', () => {
  const { kind, apiVersion, metadata, spec } = patched(
    { op: 'remove', path: '/spec/size' },
    { op: 'add', path: '/spec/parts/-', value: { name: 'b', weight: 2 } },
  );
  assert.deepEqual(
    { kind, apiVersion, metadata, spec },
    {
      kind: 'Widget',
      apiVersion: 'test.io/v1',
      metadata: { name: 'w', namespace: 'default', uid: '' },
      spec: { parts: [{ name: 'a' }, { name: 'b', weight: 2 }], size: 1 },
    },
  );
  assert.equal(document.spec.size, 3);
});

test('unknown fields of a patch are dropped, and a wrong type is rejected', () => {
  assert.deepEqual(patched({ op: 'add', path: '/spec/colour', value: 'red' }).spec, document.spec);
  assert.throws(() => patched({ op: 'replace', path: '/spec/size', value: 'big' }), /spec.size/);
  assert.throws(() => patched({ op: 'remove', path: '/spec/nothing' }), /the server rejected our request/);
});

test('the result of a mutating plugin is validated', async () => {
  const plugin: AdmissionPlugin = {
    name: 'Hook',
    handles: () => true,
    mutate: (now) =>
      patchedByWebhook(now, { ...document, metadata: now.object?.metadata as object as Record<string, unknown> }, [
        { op: 'replace', path: '/spec/size', value: -1 },
      ]),
  };
  const fixture = await startRegistry([plugin]);
  await assert.rejects(
    fixture.create({ name: 'w' }),
    /spec.size: Invalid value: -1: must be greater than or equal to 0/,
  );
  await fixture.stop();
});
