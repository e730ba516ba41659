import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import fc from 'fast-check';
import { ConfigMapSchema } from '../core/config-map.ts';
import { PodSchema } from '../core/pod.ts';
import { ServiceSchema } from '../core/service.ts';
import { PodDisruptionBudgetSchema } from '../policy/pod-disruption-budget.ts';
import type { PodDisruptionBudget } from '../policy/pod-disruption-budget.ts';
import { decodeAny } from '../schema/decode.ts';
import type { ObjectSchema, Schema } from '../schema/schema.ts';
import { decodeMessage, ProtobufError } from './decode-protobuf.ts';
import { encodeMessage } from './encode-protobuf.ts';

const thereAndBack = (value: object, schema: ObjectSchema): unknown =>
  decodeMessage(encodeMessage(value, schema), schema);

test('a pod is the same after its way through protobuf', () => {
  const pod = {
    metadata: {
      name: 'p',
      uid: 'u',
      labels: { app: 'web', empty: '' },
      creationTimestamp: '2023-11-14T22:13:20Z',
      deletionGracePeriodSeconds: 0,
    },
    spec: {
      volumes: [
        { name: 'data', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
        { name: 'plain', emptyDir: {} },
      ],
      containers: [
        {
          name: 'c',
          image: 'i',
          command: ['sh', '-c'],
          resources: { limits: { cpu: '500m' } },
          livenessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 3 },
          readinessProbe: { tcpSocket: { port: 80 } },
          securityContext: { privileged: false, runAsUser: 0 },
        },
      ],
      securityContext: { supplementalGroups: [5, 6] },
    },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2023-11-14T22:13:21Z' }],
      containerStatuses: [
        { name: 'c', ready: true, restartCount: 2, image: 'i', imageID: 'x', state: { running: {} }, lastState: {} },
      ],
    },
  };
  assert.deepEqual(thereAndBack(pod, PodSchema), pod);
});

test('bytes, maps and ports survive; what the schema does not know is left out', () => {
  const map = { metadata: { name: 'm' }, data: { a: '' }, binaryData: { b: 'aGk=' }, immutable: false };
  assert.deepEqual(thereAndBack({ ...map, unknown: 1 }, ConfigMapSchema), map);
  const service = {
    spec: {
      ports: [
        { port: 80, targetPort: 'http' },
        { port: 81, targetPort: 8080 },
      ],
    },
  };
  assert.deepEqual(thereAndBack(service, ServiceSchema), service);
});

test('numbers beyond 2^53 keep all digits', () => {
  const pod = { metadata: { generation: 2n ** 62n + 1n } };
  assert.deepEqual(thereAndBack(pod, PodSchema), pod);
});

test('the bytes are those of Go for a small message', () => {
  const bytes = encodeMessage({ metadata: { name: 'a', labels: { k: 'v' } }, data: { k: 'v' } }, ConfigMapSchema);
  const hex = '0a0b0a01615a060a016b120176' + '12060a016b120176';
  assert.equal(Buffer.from(bytes).toString('hex'), hex);
});

test('a text that is no time is an error, not another time', () => {
  assert.throws(() => encodeMessage({ metadata: { creationTimestamp: 'soon' } }, PodSchema), ProtobufError);
});

/** Generates values as decoding returns them: without empty lists, and without zeros that Go does not encode. */
function valueOf(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  switch (schema.kind) {
    case 'boolean':
      return fc.constant(true);
    case 'number':
      return schema.format === 'double' ? fc.double({ noNaN: true, min: 1 }) : fc.integer({ min: 1 });
    case 'string':
      if (schema.format === 'bytes') return fc.constant('aGk=');
      if (schema.format === 'time')
        return fc.integer({ min: 0, max: 2 ** 31 }).map((seconds) => {
          const whole = new Date(seconds * 1000).toISOString().slice(0, 19);
          return schema.micros === true ? `${whole}.012345Z` : `${whole}Z`;
        });
      return fc.string({ minLength: 1, maxLength: 5 });
    case 'quantity':
      return fc.constantFrom('1Gi', '500m');
    case 'intOrString':
      return fc.oneof(fc.integer(), fc.string({ maxLength: 4 }));
    case 'object':
      return objectOf(schema, depth - 1);
    case 'array':
      return fc.array(valueOf(schema.items, depth), { minLength: 1, maxLength: 2 });
    case 'map':
      return fc
        .array(fc.tuple(fc.constantFrom('a', 'b'), valueOf(schema.values, depth)), { minLength: 1, maxLength: 2 })
        .map((entries) => Object.fromEntries(entries));
    case 'opaque':
      return fc.constant({ free: [1, 'two'] });
  }
}

function objectOf({ fields }: ObjectSchema, depth: number): fc.Arbitrary<object> {
  const numbered = Object.entries(fields).filter(
    ([, { number, schema }]) => number !== undefined && isWithin(schema, depth),
  );
  const model = Object.fromEntries(numbered.map(([name, { schema }]) => [name, valueOf(schema, depth)]));
  return fc.record(model, { requiredKeys: [] }).map((value) => ({ ...value }));
}

const isWithin = (schema: Schema, depth: number): boolean =>
  depth > 0 || !['object', 'array', 'map'].includes(schema.kind);

test('any pod is the same after its way through protobuf', () => {
  fc.assert(
    fc.property(objectOf(PodSchema, 4), (pod) => {
      assert.deepEqual(thereAndBack(pod, PodSchema), pod);
    }),
    { numRuns: 20 },
  );
});

test('a map keeps a time that is null', () => {
  const disruptedPods = { never: null, once: '2023-11-14T22:13:20Z' };
  const { value } = decodeAny(PodDisruptionBudgetSchema, { metadata: { name: 'b' }, status: { disruptedPods } });
  const { status } = thereAndBack(value as object, PodDisruptionBudgetSchema) as PodDisruptionBudget;
  assert.deepEqual(status?.disruptedPods, disruptedPods);
});
