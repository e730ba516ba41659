import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { PodSchema } from '../../api/core/pod.ts';
import { forgiveLastApplied, refreshLastApplied } from './last-applied.ts';

const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
const kind = { apiVersion: 'v1', kind: 'Pod' };
const pod = (annotations: Record<string, string> | undefined, spec: object = {}): ApiObject =>
  ({ ...kind, metadata: { name: 'p', annotations }, spec }) as unknown as ApiObject;

describe('forgiveLastApplied', () => {
  const forgives = (text: string, path: readonly string[], spec: object = { nodeName: 'a', hostname: 'h' }): unknown =>
    forgiveLastApplied(PodSchema, pod({ [annotation]: text }, spec), 'v1')?.(path);
  const nodeName = ['f:spec', 'f:nodeName'];

  it('forgives fields that the annotation has with the value of the object', () => {
    const text = JSON.stringify({ ...kind, spec: { nodeName: 'a', hostname: 'other', subdomain: 's' } });
    assert.deepEqual(
      [nodeName, ['f:spec', 'f:hostname'], ['f:spec', 'f:subdomain'], ['f:spec', 'f:schedulerName']].map((path) =>
        forgives(text, path),
      ),
      [true, false, false, false],
    );
  });

  it('does not use an annotation that is missing, damaged, of another version or of another schema', () => {
    const spec = { nodeName: 'a' };
    const unusable = [
      '',
      '{',
      '[]',
      'null',
      JSON.stringify({ spec }),
      JSON.stringify({ ...kind, apiVersion: 'v2', spec }),
      JSON.stringify({ ...kind, spec: { ...spec, foo: 1 } }),
    ];
    assert.deepEqual(
      unusable.map((text) => forgives(text, nodeName)),
      unusable.map(() => undefined),
    );
    assert.equal(forgiveLastApplied(PodSchema, pod(undefined), 'v1'), undefined);
  });

  it('does not use the annotation of an object whose lists have elements without keys', () => {
    const text = JSON.stringify({ ...kind, spec: { nodeName: 'a', containers: [{ name: 'c' }] } });
    assert.equal(forgives(text, nodeName, { nodeName: 'a', containers: [null] }), undefined);
  });
});

describe('refreshLastApplied', () => {
  const refreshed = (before: string, config: Record<string, unknown>): unknown =>
    refreshLastApplied(pod({ [annotation]: before, other: 'x' }), config).metadata.annotations;

  it('writes the configuration with sorted keys and without the annotation itself', () => {
    const config = {
      spec: { z: [1n, null, undefined], a: '<' },
      metadata: { annotations: { [annotation]: 'old', b: 'c' }, name: 'p' },
      ...kind,
    };
    assert.deepEqual(refreshed('old', config), {
      [annotation]: `{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"b":"c"},"name":"p"},"spec":{"a":"\\u003c","z":[1,null,null]}}\n`,
      other: 'x',
    });
    for (const metadata of [undefined, 'text', { annotations: 'text' }])
      assert.deepEqual(refreshed('old', { metadata }), {
        [annotation]: `${JSON.stringify({ metadata: metadata ?? null })}\n`,
        other: 'x',
      });
  });

  it('leaves an object that kubectl never applied on the client side', () => {
    for (const object of [pod(undefined), pod({}), pod({ [annotation]: '' }), kind as unknown as ApiObject])
      assert.equal(refreshLastApplied(object, kind), object);
  });

  it('removes the annotation if the annotations would be larger than allowed', () => {
    const room = 256 * 1024 - Buffer.byteLength(`${annotation}otherx`) - Buffer.byteLength('{"a":""}\n');
    assert.equal(Object.keys(refreshed('old', { a: 'x'.repeat(room) }) as object).length, 2);
    assert.deepEqual(refreshed('old', { a: 'x'.repeat(room + 1) }), { other: 'x' });
  });
});
