import assert from 'node:assert/strict';
import test from 'node:test';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { deployments } from '../../../api/client/resource-types.ts';
import { DeploymentSchema } from '../../../api/apps/deployment.ts';
import type { AdmissionAttributes } from '../../model/admission.ts';
import { mergedByPolicy } from './merged-by-policy.ts';

const container = { name: 'a', image: 'i' };
const document = {
  kind: 'Deployment',
  apiVersion: 'apps/v1',
  metadata: { name: 'web', namespace: 'default', labels: { a: 'b' } },
  spec: {
    selector: { matchLabels: { a: 'b' } },
    template: { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } },
  },
};
// These are the attributes that a merge reads.
const attributes = {
  definition: { type: deployments, schema: DeploymentSchema, rules: { applyDefaults: (object: ApiObject) => object } },
  subresource: '',
} as unknown as AdmissionAttributes;

const merge = (config: object): typeof document =>
  mergedByPolicy(attributes, document, config) as unknown as typeof document;

test('an apply configuration is merged by the keys of lists', () => {
  const sidecar = { name: 'b', image: 'j' };
  const merged = merge({ metadata: { labels: { c: 'd' } }, spec: { template: { spec: { containers: [sidecar] } } } });
  assert.deepEqual(merged.metadata.labels, { a: 'b', c: 'd' });
  assert.deepEqual(merged.spec.template.spec.containers.map(({ name }) => name).sort(), ['a', 'b']);
});

test('an apply configuration cannot change atomic fields, and has no unknown fields', () => {
  const args = { spec: { template: { spec: { containers: [{ name: 'a', args: ['x'] }] } } } };
  assert.throws(
    () => merge(args),
    /may not mutate atomic arrays, maps or structs: .spec.template.spec.containers\[0\].args/,
  );
  assert.throws(() => merge({ spec: { nothing: 1 } }), /\.spec\.nothing: field not declared in schema/);
});
