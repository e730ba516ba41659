import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { AdmissionAttributes } from '../model/admission.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { inVersion, matchedVersion, objectInVersion } from './equivalent-request.ts';
import { admissionReview } from './webhooks/admission-review.ts';

interface Ring extends ApiObject {
  readonly spec: { readonly size?: number; readonly width?: number };
}
const ring = (version: string, spec: Ring['spec']): Ring => ({
  apiVersion: `shop.io/${version}`,
  kind: 'Ring',
  metadata: { name: 'r', namespace: 'n', uid: '' },
  spec,
});

/** Stored as v1, in which `width` is `size`. */
function versions(): { readonly v1: ResourceDefinition; readonly v2: ResourceDefinition } {
  const place = { group: 'shop.io', version: '', kind: 'Ring', plural: 'rings', namespaced: true };
  const made: ResourceDefinition[] = [];
  const define = (
    version: string,
    storedAs: Pick<NonNullable<ResourceDefinition['storedAs']>, 'toStored' | 'fromStored'>,
  ): ResourceDefinition => {
    const definition = {
      type: { ...place, version },
      storedAs: { stored: place, version: 'v1', ...storedAs },
      siblings: () => made.filter((each) => each.type.version !== version),
    } as unknown as ResourceDefinition;
    made.push(definition);
    return definition;
  };
  const v1 = define('v1', { toStored: (object) => object, fromStored: (object) => object });
  const v2 = define('v2', {
    toStored: (object) => Promise.resolve(ring('v1', { size: (object as Ring).spec.width ?? 0 })),
    fromStored: (object) => ring('v2', { width: (object as Ring).spec.size ?? 0 }),
  });
  return { v1, v2 };
}

function request(definition: ResourceDefinition, object: ApiObject): AdmissionAttributes {
  const context = { user: { name: 'u', groups: [] }, dryRun: false } as unknown as AdmissionAttributes['context'];
  const about = { subresource: '', namespace: 'n', name: 'r', options: {} };
  return { operation: 'CREATE', definition, ...about, object, oldObject: undefined, context };
}
const inV1 = ({ definition }: AdmissionAttributes): boolean => definition.type.version === 'v1';

describe('a request in another version than that of the rules', () => {
  it('matches unless the match policy is Exact', () => {
    const { v1, v2 } = versions();
    const attributes = request(v2, ring('v2', {}));
    assert.equal(matchedVersion(attributes, 'Equivalent', inV1), v1);
    assert.equal(matchedVersion(attributes, undefined, inV1), v1);
    assert.equal(matchedVersion(attributes, 'Exact', inV1), undefined);
    assert.equal(
      matchedVersion(attributes, 'Equivalent', () => false),
      undefined,
    );
    assert.equal(
      matchedVersion(attributes, 'Equivalent', () => true),
      v2,
    );
  });

  it('is converted to the version of the rules, and names the version of the request', async () => {
    const { v1, v2 } = versions();
    const shown = await inVersion(request(v2, ring('v2', { width: 3 })), v1);
    const review = admissionReview(shown, 'uid') as { readonly request: Readonly<Record<string, unknown>> };
    const { kind, requestKind, resource, requestResource, object } = review.request;
    assert.deepEqual(
      [kind, requestKind, resource, requestResource],
      [
        { group: 'shop.io', version: 'v1', kind: 'Ring' },
        { group: 'shop.io', version: 'v2', kind: 'Ring' },
        { group: 'shop.io', version: 'v1', resource: 'rings' },
        { group: 'shop.io', version: 'v2', resource: 'rings' },
      ],
    );
    assert.deepEqual([(object as Ring).apiVersion, (object as Ring).spec], ['shop.io/v1', { size: 3 }]);
    assert.deepEqual(await objectInVersion(ring('v1', { size: 4 }), v1, v2), ring('v2', { width: 4 }));
  });

  it('fails with an internal error if it cannot be converted', async () => {
    const { v1, v2 } = versions();
    const toStored = (): Promise<ApiObject> => Promise.reject(new Error('the webhook is away'));
    const broken = { ...v2, storedAs: { ...v2.storedAs, toStored } } as unknown as ResourceDefinition;
    await assert.rejects(inVersion(request(broken, ring('v2', {})), v1), {
      reason: 'InternalError',
      message: 'Internal error occurred: the webhook is away',
    });
  });

  it('is not converted in its own version', async () => {
    const { v2 } = versions();
    const attributes = request(v2, ring('v2', {}));
    assert.equal(await inVersion(attributes, v2), attributes);
  });
});
