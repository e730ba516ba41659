import assert from 'node:assert/strict';
import test from 'node:test';
import { resourceClaims } from '../../api/client/resource-types.ts';
import type { ResourceClaim } from '../../api/resource/resource-claim.ts';
import type { Authorizer, UserInfo } from '../model/user-info.ts';
import { createClaimStatusRights } from './claim-status-rights.ts';
import { AdmissionFixture } from './testing/admission-fixture.ts';

type Status = NonNullable<ResourceClaim['status']>;

const claim = (status: Status): ResourceClaim => ({
  metadata: { name: 'c', namespace: 'default', uid: '' },
  spec: { devices: {} },
  status,
});
const result = { request: 'a', driver: 'd', pool: 'p', device: 'v' };
const local = { key: 'metadata.name', operator: 'In' as const, values: ['n1'] };
const allocation = {
  devices: { results: [result] },
  nodeSelector: { nodeSelectorTerms: [{ matchFields: [local] }] },
};
const report = (driver: string) => ({ driver, pool: 'p', device: 'v', conditions: [] });
const user = { resource: 'pods', name: 'web', uid: 'u' };
const driverOn = (node: string): UserInfo => ({
  name: 'system:serviceaccount:kube-system:driver',
  groups: [],
  extra: { 'authentication.kubernetes.io/node-name': [node] },
});

interface Asked {
  readonly status: Status;
  readonly old?: Status;
  readonly rights?: readonly string[];
  readonly as?: UserInfo;
  readonly isPatch?: boolean;
}

async function refusal({ status, old = {}, rights = [], as, isPatch = false }: Asked): Promise<string> {
  const fixture = new AdmissionFixture();
  const authorizer: Authorizer = {
    name: 'rights',
    authorize: ({ verb, resource, subresource, namespace, name }) => {
      const right = `${verb} ${resource}/${subresource} ${namespace}/${name}`;
      return { decision: rights.includes(right) ? 'allow' : 'noOpinion', reason: '' };
    },
  };
  const attributes = fixture.attributes(resourceClaims, {
    object: claim(status),
    old: claim(old),
    subresource: 'status',
  });
  const context = { ...attributes.context, isPatch, user: as ?? attributes.context.user };
  try {
    await createClaimStatusRights(authorizer).validate?.({ ...attributes, context });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

const binding = 'update resourceclaims/binding /';

test('allocating and reserving require the right to bind, for the verb of the request', async () => {
  for (const [status, old] of [
    [{ allocation }, {}],
    [{ allocation, reservedFor: [user] }, { allocation }],
    [{}, { allocation, reservedFor: [user] }],
  ] satisfies [Status, Status][]) {
    assert.match(
      await refusal({ status, old }),
      /status.allocation: Forbidden: changing status.allocation or status.reservedFor requires resource="resourceclaims\/binding", verb="update" permission: resourceclaims.resource.k8s.io is forbidden: User "jane" cannot update resource "resourceclaims\/binding"/,
    );
    assert.equal(await refusal({ status, old, rights: [binding] }), '');
    assert.match(await refusal({ status, old, rights: [binding], isPatch: true }), /verb="patch"/);
  }
  assert.equal(await refusal({ status: { allocation, reservedFor: [] }, old: { allocation } }), '');
});

test('reporting on devices requires the right for their driver, on the own node or on any', async () => {
  const status = { allocation, devices: [report('d')] };
  const old = { allocation };
  const [associated, arbitrary] = [
    'associated-node:update resourceclaims/driver default/d',
    'arbitrary-node:update resourceclaims/driver default/d',
  ];
  assert.match(
    await refusal({ status, old, rights: [associated] }),
    /status.devices: Forbidden: changing status.devices requires resource="resourceclaims\/driver", verb="\[arbitrary-node:update\]" permission: /,
  );
  assert.match(
    await refusal({ status, old, rights: [associated], as: driverOn('n2') }),
    /verb="\[arbitrary-node:update\]"/,
  );
  assert.match(
    await refusal({ status, old, as: driverOn('n1') }),
    /verb="\[associated-node:update arbitrary-node:update\]"/,
  );
  assert.equal(await refusal({ status, old, rights: [associated], as: driverOn('n1') }), '');
  assert.equal(await refusal({ status, old, rights: [arbitrary] }), '');
});

test('only drivers whose reports change are checked, and none once the claim is free', async () => {
  const both = { allocation, devices: [report('d'), report('e')] };
  const rights = ['arbitrary-node:update resourceclaims/driver default/e'];
  const changed = { ...report('e'), data: { a: 1 } };
  assert.equal(await refusal({ status: { allocation, devices: [report('d'), changed] }, old: both, rights }), '');
  assert.equal(await refusal({ status: { allocation, devices: [report('d')] }, old: both, rights }), '');
  assert.match(await refusal({ status: { allocation, devices: [report('e')] }, old: both, rights }), /status.devices/);
  assert.equal(await refusal({ status: {}, old: both, rights: [binding] }), '');
});
