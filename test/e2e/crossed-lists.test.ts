// Objects with two long lists whose elements are compared with each other: the time must grow with the length of the
// lists, not with their product.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ApiObject } from '../../src/api/client/resource-type.ts';
import { permissivePolicy } from '../../src/api/validation/cluster-policy.ts';
import { readEntries } from '../../src/control-plane/patch/managed-entries.ts';
import { planDeletion } from '../../src/control-plane/registry/write/plan-deletion.ts';
import type { ResourceDefinition } from '../../src/control-plane/model/resource-definition.ts';
import { allResources } from '../../src/control-plane/resources/all.ts';
import { certificatesOf } from '../../src/pki/pem.ts';

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const names = (prefix: string, count: number): string[] => many(count, (index) => `${prefix}${index}`);

function kind(name: string): ResourceDefinition {
  const found = allResources.find(({ type }) => type.kind === name);
  assert.ok(found !== undefined);
  return found;
}

const metadata = { name: 'x', namespace: 'default', uid: '' };
const pod = (spec: object, status: object = {}): ApiObject =>
  ({ metadata, spec: { containers: [{ name: 'c', image: 'i' }], ...spec }, status }) as ApiObject;
const validated = (name: string, object: ApiObject) => (): unknown =>
  kind(name).rules.validate(object, permissivePolicy);

/** The operations by name, each for lists of this length. */
const works: Readonly<Record<string, (count: number) => () => unknown>> = {
  'keys that match and keys that must not': (count) => {
    const term = {
      topologyKey: 'zone',
      labelSelector: { matchExpressions: names('s', count).map((key) => ({ key, operator: 'Exists' })) },
      matchLabelKeys: names('k', count),
      mismatchLabelKeys: names('m', count),
    };
    return validated(
      'Pod',
      pod({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } }),
    );
  },
  'mounts and devices': (count) => {
    const container = {
      name: 'c',
      image: 'i',
      volumeMounts: names('m', count).map((name) => ({ name, mountPath: `/m/${name}` })),
      volumeDevices: names('d', count).map((name) => ({ name, devicePath: `/d/${name}` })),
    };
    return validated('Pod', pod({ containers: [container] }));
  },
  'gates and conditions': (count) => {
    const gated = pod(
      { readinessGates: names('g', count).map((conditionType) => ({ conditionType })) },
      { conditions: names('c', count).map((type) => ({ type, status: 'True' })) },
    );
    return () => kind('Pod').columns?.map(({ cell }) => cell(gated, 0));
  },
  'families of a service': (count) =>
    validated('Service', {
      metadata,
      spec: { ports: [{ port: 80 }], ipFamilies: names('f', count) },
    } as unknown as ApiObject),
  'scopes and names of a quota': (count) => {
    const hard = Object.fromEntries(names('count/r', count).map((name) => [`${name}.example.com`, '1']));
    return validated('ResourceQuota', {
      metadata,
      spec: { hard, scopes: many(count, () => 'Terminating') },
    } as unknown as ApiObject);
  },
  'expressions and names of a quota': (count) => {
    const hard = Object.fromEntries(names('count/r', count).map((name) => [`${name}.example.com`, '1']));
    return validated('ResourceQuota', {
      metadata,
      spec: {
        hard,
        scopeSelector: {
          matchExpressions: many(count, () => ({ scopeName: 'PriorityClass', operator: 'In', values: ['a'] })),
        },
      },
    } as unknown as ApiObject);
  },
  'finalizers before and after': (count) => {
    const object = { metadata: { ...metadata, finalizers: names('example.com/f', count) } } as ApiObject;
    return () => planDeletion(kind('ConfigMap'), object, {}, 0);
  },
  'managers of fields': (count) => {
    const entries = names('m', count).map((manager) => ({
      manager,
      operation: 'Update',
      apiVersion: 'v1',
      fieldsType: 'FieldsV1',
      fieldsV1: {},
    }));
    return () => readEntries(entries);
  },
  'heads of certificates without a foot': (count) => {
    const text = '-----BEGIN CERTIFICATE-----\n'.repeat(4 * count);
    return () => certificatesOf(text);
  },
};

const few = 3000;
const times = 4;
/** Twice the linear factor, for caches and collections. Quadratic time would be a factor of 16. */
const mostGrowth = 7;
/** Shorter times are too noisy to be compared. */
const worthComparingMs = 15;

/** The processor time of this thread, without that of other processes. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function leastMs(work: () => unknown): number {
  let least = Infinity;
  for (let round = 0; round < 5; round++) {
    const start = processorMs();
    work();
    least = Math.min(least, processorMs() - start);
  }
  return least;
}

for (const [name, make] of Object.entries(works)) {
  it(`the time for ${name} grows as they do`, () => {
    const found: string[] = [];
    // Processor caches are shared with other processes. An operation that is slow is slow every time.
    for (let tries = 0; tries < 3; tries++) {
      const [small, large] = [leastMs(make(few)), leastMs(make(few * times))];
      if (large < worthComparingMs || large < small * mostGrowth) return;
      found.push(`${few}: ${small.toFixed(1)} ms, ${few * times}: ${large.toFixed(1)} ms`);
    }
    assert.fail(found.join('; '));
  });
}
