import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import type { AdmissionAttributes } from '../../model/admission.ts';
import { FakeObjectReader } from '../../model/testing/fake-object-reader.ts';
import { findParams } from './find-params.ts';
import type { FoundKind } from './find-params.ts';

const type: ResourceType = { group: 'x.io', version: 'v2', kind: 'Limit', plural: 'limits', namespaced: true };
const stored: ApiObject = {
  apiVersion: 'x.io/v1',
  kind: 'Limit',
  metadata: { name: 'a', namespace: 'default', uid: '' },
};
const policy = {
  paramKind: { apiVersion: 'x.io/v2', kind: 'Limit' },
  paramRef: { name: 'a', namespace: 'default' },
};
const inVersion = (object: ApiObject): ApiObject => ({ ...object, apiVersion: 'x.io/v2' });

function find(storedAs: Partial<NonNullable<FoundKind['storedAs']>>): ReturnType<typeof findParams> {
  const reader = new FakeObjectReader();
  reader.put(type, stored);
  const kind: FoundKind = {
    type,
    storedAs: { stored: type, toStored: (object) => object, fromStored: inVersion, ...storedAs },
  };
  return findParams(policy, {} as AdmissionAttributes, { reader, findKind: () => kind });
}

describe('the parameters of a binding', () => {
  const cluster: ResourceType = { ...type, kind: 'Bound', plural: 'bounds', namespaced: false };
  const object = (name: string, namespace: string, labels = {}): ApiObject => ({
    ...stored,
    metadata: { name, namespace, uid: '', labels },
  });
  const objects = [
    object('a', 'default', { app: 'web' }),
    object('b', 'default', { app: 'db' }),
    object('a', 'team', { app: 'web' }),
  ];
  interface Asked {
    readonly paramRef?: Parameters<typeof findParams>[0]['paramRef'];
    readonly kind?: ResourceType | 'none';
    readonly from?: string;
  }
  const found = async ({ paramRef, kind = type, from = 'team' }: Asked): Promise<unknown> => {
    const reader = new FakeObjectReader();
    for (const each of objects) reader.put(type, each);
    reader.put(cluster, object('a', ''));
    const asked: string[] = [];
    const params = await findParams(
      { paramKind: policy.paramKind, ...(paramRef && { paramRef }) },
      { definition: { type }, namespace: from, name: 'x' } as unknown as AdmissionAttributes,
      {
        reader,
        findKind: (apiVersion, name) => {
          asked.push(`${apiVersion} ${name}`);
          return kind === 'none' ? undefined : { type: kind };
        },
      },
    );
    if (paramRef !== undefined) assert.deepEqual(asked, ['x.io/v2 Limit']);
    return typeof params === 'object'
      ? params.map(({ object: { metadata } }) => `${metadata.namespace}/${metadata.name}`)
      : params;
  };

  it('are not looked for when the policy or the binding names none', async () => {
    assert.equal(await found({}), undefined);
    const parts = { reader: new FakeObjectReader(), findKind: () => ({ type }) };
    assert.equal(await findParams({ paramRef: { name: 'a' } }, {} as AdmissionAttributes, parts), undefined);
  });

  it('are one object by its name, or all that a selector chooses', async () => {
    assert.deepEqual(await found({ paramRef: { name: 'b', namespace: 'default' } }), ['default/b']);
    const selector = { matchLabels: { app: 'db' } };
    assert.deepEqual(await found({ paramRef: { selector, namespace: 'default' } }), ['default/b']);
    assert.deepEqual(await found({ paramRef: { selector: {}, namespace: 'default' } }), ['default/a', 'default/b']);
  });

  it('come from the namespace of the request when the binding names none', async () => {
    assert.deepEqual(await found({ paramRef: { name: 'a' } }), ['team/a']);
    assert.equal(
      await found({ paramRef: { name: 'a' }, from: '' }),
      'failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
    );
  });

  it('of a cluster-wide kind have no namespace', async () => {
    assert.deepEqual(await found({ paramRef: { name: 'a' }, kind: cluster }), ['/a']);
    assert.equal(
      await found({ paramRef: { name: 'a', namespace: 'team' }, kind: cluster }),
      'failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`',
    );
  });

  it('that do not exist deny the request, or let it pass where the binding says so', async () => {
    const missing = { name: 'z', parameterNotFoundAction: 'Deny' } as const;
    const denied =
      'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction';
    assert.equal(await found({ paramRef: missing }), denied);
    assert.deepEqual(await found({ paramRef: { ...missing, parameterNotFoundAction: 'Allow' } }), []);
    assert.equal(await found({ paramRef: { selector: { matchLabels: { app: 'db' } } } }), denied);
  });

  it('of a kind that is not served make the policy fail', async () => {
    assert.equal(
      await found({ paramRef: { name: 'a' }, kind: 'none' }),
      "failed to configure policy: failed to find resource referenced by paramKind: 'x.io/v2, Kind=Limit'",
    );
  });
});

describe('the parameters of a policy', () => {
  it('are read in the version that the policy names, whatever version is stored', async () => {
    assert.deepEqual(await find({}), [{ object: { ...stored, apiVersion: 'x.io/v2' }, type }]);
  });

  it('wait for the conversion webhook, whose failure counts as a failure of the policy', async () => {
    const asked: (readonly ApiObject[])[] = [];
    await find({ prepare: async (objects) => void asked.push(objects) });
    assert.deepEqual(asked, [[stored]]);
    const failing = { prepare: () => Promise.reject(new Error('the webhook is down')) };
    assert.equal(await find(failing), 'failed to configure policy: the webhook is down');
  });
});
