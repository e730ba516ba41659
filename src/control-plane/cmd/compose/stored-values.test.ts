import assert from 'node:assert/strict';
import { it } from 'node:test';
import { allResources } from '../../resources/all.ts';
import { objectValues } from '../../registry/protobuf-values.ts';

const json = objectValues(allResources, 'application/json');
const protobuf = objectValues(allResources, 'application/vnd.kubernetes.protobuf');
const stored = (object: object): string => JSON.stringify(object);
const configMap = stored({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name: 'a', namespace: 'default', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' },
  data: { text: 'ä\u0000' },
});
const pod = stored({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'p', namespace: 'default', uid: 'u', labels: { a: 'b' } },
  spec: { containers: [{ name: 'main', image: 'app:1', resources: { limits: { cpu: '1' } } }] },
  status: { phase: 'Running' },
});

it('objects are read as they were written, whichever of the two forms the store has', () => {
  for (const text of [configMap, pod])
    for (const written of [json, protobuf])
      for (const read of [json, protobuf])
        assert.deepEqual(withoutEmpty(JSON.parse(read.decode(written.encode(text)))), JSON.parse(text));
  assert.equal(Buffer.from(protobuf.encode(pod)).subarray(0, 4).toString('latin1'), 'k8s\0');
  assert.equal(Buffer.from(json.encode(pod)).toString(), pod);
});

it('what is no object of a built-in kind stays as it is', () => {
  for (const text of ['', 'free text', '{"a":1}', stored({ kind: 'Mine', apiVersion: 'example.com/v1', metadata: {} })])
    assert.equal(protobuf.decode(protobuf.encode(text)), text);
});

it('what cannot be read is no JSON, and breaks nothing', () => {
  for (const bytes of [Buffer.from('k8s\0'), Buffer.from('k8s\0\xff\xff', 'latin1'), Buffer.from('k8s\0\x0a\x05')])
    assert.throws(() => JSON.parse(json.decode(bytes)));
  const whole = protobuf.encode(pod);
  for (let length = 4; length < whole.length; length += 7)
    assert.ok(typeof json.decode(whole.subarray(0, length)) === 'string');
});

/** Removes empty structs, which decoding adds where Go has them. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, each]) => [key, withoutEmpty(each)] as const)
      .filter(([, each]) => typeof each !== 'object' || each === null || Object.keys(each).length > 0),
  );
}
