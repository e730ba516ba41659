import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeploymentSchema } from '../apps/deployment.ts';
import { JobSchema } from '../batch/job.ts';
import { ServiceSchema } from '../core/service.ts';
import { decode, decodeAny } from '../schema/decode.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import { dropZeros } from './drop-zeros.ts';

function cleaned(schema: ObjectSchema, plain: object): unknown {
  const { value } = decodeAny(schema, plain);
  const { metadata: _, ...rest } = dropZeros(value as object, schema) as { metadata?: unknown };
  return rest;
}

test('fields that cannot tell zero from nothing lose it, pointers keep theirs', () => {
  const template = {
    spec: {
      containers: [
        {
          name: 'c',
          image: 'i',
          args: [],
          env: [{ name: 'A', value: '' }],
          ports: [{ containerPort: 80, hostPort: 0 }],
        },
      ],
      hostNetwork: false,
      nodeSelector: {},
      tolerations: [],
      terminationGracePeriodSeconds: 0,
    },
  };
  assert.deepEqual(
    cleaned(DeploymentSchema, {
      spec: { replicas: 0, paused: false, minReadySeconds: 0, selector: {}, template },
    }),
    {
      spec: {
        replicas: 0,
        selector: {},
        template: {
          metadata: {},
          spec: {
            containers: [{ name: 'c', image: 'i', env: [{ name: 'A' }], ports: [{ containerPort: 80 }] }],
            terminationGracePeriodSeconds: 0,
          },
        },
      },
    },
  );
});

test('counts of a status that are zero are not said, but those behind pointers are', () => {
  assert.deepEqual(
    cleaned(JobSchema, {
      status: { active: 0, ready: 0, failed: 0, completedIndexes: '', failedIndexes: '', conditions: [] },
    }),
    {
      spec: { template: { metadata: {}, spec: { containers: [] } } },
      status: { ready: 0, failedIndexes: '' },
    },
  );
});

test('fields that are Go structs are never omitted', () => {
  assert.deepEqual(
    cleaned(ServiceSchema, {
      spec: { ports: [{ port: 80, targetPort: 0, name: '' }] },
      status: { loadBalancer: {} },
    }),
    {
      spec: { ports: [{ port: 80, targetPort: 0 }] },
      status: { loadBalancer: {} },
    },
  );
});

test('a selector loses its empty parts, but one of nothing else is not made into none', () => {
  const selectorOf = (selector: object): unknown =>
    (cleaned(DeploymentSchema, { spec: { selector } }) as { spec: { selector: unknown } }).spec.selector;
  const matchLabels = { app: 'web' };
  assert.deepEqual(selectorOf({ matchLabels, matchExpressions: [] }), { matchLabels });
  const exists = { key: 'app', operator: 'Exists', values: [] };
  assert.deepEqual(selectorOf({ matchLabels: {}, matchExpressions: [exists] }), {
    matchExpressions: [{ key: 'app', operator: 'Exists' }],
  });
  const empty = { matchLabels: {}, matchExpressions: [] };
  assert.deepEqual(selectorOf(empty), empty);
});

test('nothing to drop is the same object', () => {
  const { value } = decode(DeploymentSchema, {
    metadata: { name: 'a' },
    spec: { replicas: 1, template: { spec: { containers: [{ name: 'c' }] } } },
  });
  assert.equal(dropZeros(value, DeploymentSchema), value);
});
