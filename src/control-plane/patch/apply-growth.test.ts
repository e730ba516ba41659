import assert from 'node:assert/strict';
import { test } from 'node:test';
import { processorMs } from '../../base/turn-share.ts';
import { ConfigMapSchema } from '../../api/core/config-map.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { ObjectMetaSchema } from '../../api/core/meta.ts';
import { PodSchema } from '../../api/core/pod.ts';
import { array, object, required, string } from '../../api/schema/schema.ts';
import type { ObjectSchema } from '../../api/schema/schema.ts';
import { applyPatch } from './apply.ts';

const ListSchema = object('List', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: object('ListSpec', { items: array(object('Item', { name: required(string), value: string }), ['name']) }),
});

const items = (names: readonly string[], value: string): object[] => names.map((name) => ({ name, value }));
const shapes: readonly (readonly [string, ObjectSchema, (names: readonly string[], value: string) => object])[] = [
  ['List', ListSchema, (names, value) => ({ spec: { items: items(names, value) } })],
  ['Pod', PodSchema, (names, value) => ({ spec: { containers: [{ name: 'c', env: items(names, value) }] } })],
  ['ConfigMap', ConfigMapSchema, (names, value) => ({ data: Object.fromEntries(names.map((name) => [name, value])) })],
];

/** Applies an object with this number of parts, changes it, shares it with another manager, and keeps half of it. */
function applyAll(kind: string, schema: ObjectSchema, make: (typeof shapes)[number][2], count: number): ApiObject {
  const names = Array.from({ length: count }, (_, index) => `item-${index}`);
  const apply = (live: ApiObject | undefined, manager: string, parts: readonly string[], value: string): ApiObject =>
    applyPatch({
      schema,
      kind: { group: '', version: 'v1', kind },
      live,
      config: { apiVersion: 'v1', kind, metadata: { name: 'x' }, ...make(parts, value) },
      manager,
      force: true,
      subresource: '',
      nowMs: 0,
      resetFields: [],
    }).object;
  const created = apply(undefined, 'a', names, '1');
  const changed = apply(created, 'a', names, '2');
  const shared = apply(changed, 'b', names.slice(count / 4), '2');
  return apply(shared, 'a', names.slice(count / 2), '2');
}

for (const [kind, schema, make] of shapes)
  test(`the time to apply a ${kind} grows as its parts do`, () => {
    const leastMs = (count: number): number => {
      const found: number[] = [];
      for (let round = 0; round < 3; round++) {
        const startMs = processorMs();
        applyAll(kind, schema, make, count);
        found.push(processorMs() - startMs);
      }
      return Math.min(...found);
    };
    leastMs(1_500);
    const [small, large] = [leastMs(1_500), leastMs(6_000)];
    // Linear cost is four times as much, quadratic cost sixteen times.
    assert.ok(large < 8 * small, `${large.toFixed(0)} ms for four times as many parts as took ${small.toFixed(0)} ms`);
  });
