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
