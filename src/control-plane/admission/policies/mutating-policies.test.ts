import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { MutatingAdmissionPolicy } from '../../../api/admissionregistration/mutating-admission-policy.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import {
  configMaps,
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
} from '../../../api/client/resource-types.ts';
import type { ConfigMap } from '../../../api/core/config-map.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../model/admission.ts';
import type { Outcome } from '../testing/admission-fixture.ts';
import { AdmissionFixture } from '../testing/admission-fixture.ts';
import { createMutatingPolicies } from './mutating-policies.ts';

type Spec = MutatingAdmissionPolicy['spec'];

const apply = (expression: string): NonNullable<Spec['mutations']>[number] => ({
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression },
});
const jsonPatch = (expression: string): NonNullable<Spec['mutations']>[number] => ({
  patchType: 'JSONPatch',
  jsonPatch: { expression },
});
const configMap = (data: Record<string, string>): ConfigMap => ({
  metadata: { name: 'web', namespace: 'default', uid: '' },
  data,
});
const dataOf = (change: unknown): Record<string, string> => (change as { data?: Record<string, string> }).data ?? {};

class Policies {
  readonly fixture = new AdmissionFixture();
  readonly patches: unknown[] = [];
  readonly plugins;

  constructor(before: readonly AdmissionPlugin[] = []) {
    const changed = (attributes: AdmissionAttributes, data: Record<string, string>): ApiObject =>
      ({ ...attributes.object, data: { ...dataOf(attributes.object), ...data } }) as ApiObject;
    this.plugins = createMutatingPolicies({
      reader: this.fixture.reader,
      authorizer: { name: 'none', authorize: () => ({ decision: 'noOpinion', reason: '' }) },
      findKind: () => undefined,
      before,
      sameJson: (left, right) => isDeepStrictEqual(left, right),
      // The part of patches that these tests need. The real ones are injected too.
      merged: (attributes, _document, config) => changed(attributes, dataOf(config)),
      patched: (attributes, _document, operations) => {
        this.patches.push(operations);
        const [first] = operations as { op: string; path: string; value: string }[];
        if (first?.op === 'test') return 'unchanged';
        return first === undefined
          ? (attributes.object as ApiObject)
          : changed(attributes, { [first.path.slice(6)]: first.value });
      },
    });
  }

  put(name: string, spec: Partial<Spec>): void {
    const rule = { operations: ['*' as const], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] };
    this.fixture.reader.put(mutatingAdmissionPolicies, {
      metadata: { name, namespace: '', uid: '' },
      spec: { matchConstraints: { resourceRules: [rule] }, reinvocationPolicy: 'Never', ...spec },
    });
    this.fixture.reader.put(mutatingAdmissionPolicyBindings, {
      metadata: { name: `${name}-binding`, namespace: '', uid: '' },
      spec: { policyName: name },
    });
  }

  write(object: ConfigMap): Promise<Outcome<ConfigMap>> {
    return this.fixture.write(this.plugins.plugin, configMaps, { object });
  }
}

describe('a mutating admission policy', () => {
  it('changes objects by apply configurations and patches, each based on the result of the previous one', async () => {
    const policies = new Policies();
    policies.put('p', {
      variables: [{ name: 'count', expression: 'string(object.data.size())' }],
      mutations: [
        apply('Object{data: Object.data{first: variables.count, user: request.userInfo.username}}'),
        jsonPatch("[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('a/b'), value: variables.count}]"),
      ],
    });
    const { object, refusal } = await policies.write(configMap({}));
    assert.deepEqual([refusal, object?.data], ['', { first: '0', user: 'jane', 'a~1b': '2' }]);
    assert.deepEqual(policies.patches, [[{ op: 'add', path: '/data/a~1b', value: '2' }]]);
  });

  it('does not change objects when a test of its patch fails', async () => {
    const policies = new Policies();
    policies.put('p', { mutations: [jsonPatch("[JSONPatch{op: 'test', path: '/data/a', value: 'b'}]")] });
    const { object, refusal } = await policies.write(configMap({ a: 'c' }));
    assert.deepEqual([refusal, object?.data], ['', { a: 'c' }]);
  });

  it('runs again after its own change if it wants reinvocation', async () => {
    const policies = new Policies();
    const mutations = [apply('Object{data: Object.data{a: string(object.data.size())}}')];
    policies.put('p', { mutations, reinvocationPolicy: 'IfNeeded' });
    assert.deepEqual((await policies.write(configMap({}))).object?.data, { a: '1' });
    policies.put('p', { mutations });
    assert.deepEqual((await policies.write(configMap({}))).object?.data, { a: '0' });
  });

  it('does not change objects when one of its conditions is false', async () => {
    const policies = new Policies();
    policies.put('p', {
      matchConditions: [{ name: 'c', expression: "object.metadata.name != 'web'" }],
      mutations: [apply("Object{data: Object.data{a: 'b'}}")],
    });
    assert.deepEqual((await policies.write(configMap({}))).object?.data, {});
  });

  it('handles errors according to its failure policy', async () => {
    const policies = new Policies();
    const mutations = [apply('Object{data: Object.data{a: object.data.nothing}}')];
    policies.put('p', { mutations });
    assert.match(
      (await policies.write(configMap({}))).refusal,
      /policy 'p' with binding 'p-binding' denied request: expression '.*' resulted in error: no such key: nothing/,
    );
    policies.put('p', { mutations, failurePolicy: 'Ignore' });
    assert.deepEqual((await policies.write(configMap({}))).object?.data, {});
  });

  it('causes earlier plugins, and policies with reinvocation, to run once more', async () => {
    const asked: string[] = [];
    const before: AdmissionPlugin = {
      name: 'Before',
      handles: () => true,
      mutate: ({ object }) => {
        asked.push(JSON.stringify(dataOf(object)));
        return object as ApiObject;
      },
    };
    const policies = new Policies([before]);
    const add = (key: string): Partial<Spec> => ({
      mutations: [apply(`Object{data: Object.data{${key}: string(object.data.size())}}`)],
    });
    policies.put('a', { ...add('a'), reinvocationPolicy: 'IfNeeded' });
    policies.put('b', add('b'));
    const { object } = await policies.write(configMap({}));
    assert.deepEqual(object?.data, { a: '2', b: '1' });
    assert.deepEqual(asked, ['{"a":"0","b":"1"}']);
    const attributes = policies.fixture.attributes(configMaps, { object: configMap({ x: '' }) });
    assert.deepEqual(dataOf(await policies.plugins.again.mutate?.(attributes)), { x: '', a: '1' });
  });
});
