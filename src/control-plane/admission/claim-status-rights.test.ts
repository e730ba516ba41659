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

test('a driver is of the node of a claim only when the devices of the claim are local to exactly that node', async () => {
  const associated = 'associated-node:update resourceclaims/driver default/d';
  const hostname = { key: 'kubernetes.io/hostname', operator: 'In' as const, values: ['n1'] };
  const mayReport = async (nodeSelectorTerms: object[], as = driverOn('n1')): Promise<boolean> => {
    const selected = { ...allocation, nodeSelector: { nodeSelectorTerms } };
    const status = { allocation: selected, devices: [report('d')] };
    return (await refusal({ status, old: { allocation: selected }, rights: [associated], as })) === '';
  };
  const fields = (...matchFields: object[]): object => ({ matchFields });
  const selectors: [terms: object[], isAllowed: boolean][] = [
    [[fields(local)], true],
    [[{ ...fields(local), matchExpressions: [] }], true],
    [[], false],
    [[{}], false],
    [[fields(local), fields(local)], false],
    [[{ ...fields(local), matchExpressions: [hostname] }], false],
    [[{ matchExpressions: [hostname] }], false],
    [[fields(local, local)], false],
    [[fields(hostname)], false],
    [[fields({ ...local, operator: 'NotIn' })], false],
    [[fields({ ...local, values: ['n1', 'n2'] })], false],
    [[fields({ ...local, values: [] })], false],
  ];
  const allowed: boolean[] = [];
  for (const [terms] of selectors) allowed.push(await mayReport(terms));
  assert.deepEqual(
    allowed,
    selectors.map(([, isAllowed]) => isAllowed),
  );
  const strangers: UserInfo[] = [
    { ...driverOn('n1'), name: 'jane' },
    { ...driverOn('n1'), name: 'system:serviceaccount:a:b:c' },
    { ...driverOn('n1'), name: 'x:system:serviceaccount:a:b' },
    { name: driverOn('n1').name, groups: [] },
    { ...driverOn('n1'), extra: { 'authentication.kubernetes.io/node-name': ['n1', 'n2'] } },
  ];
  for (const as of strangers) assert.equal(await mayReport([fields(local)], as), false, JSON.stringify(as));
});

test('a refusal names the first right that is missing, once for each driver', async () => {
  const status = { allocation, devices: [report('e'), report('d')] };
  const message = await refusal({ status, old: { allocation }, as: driverOn('n1') });
  assert.deepEqual(message.match(/cannot [a-z:-]+ resource "[^"]*" in API group "[^"]*" in the namespace "default"/g), [
    'cannot associated-node:update resource "resourceclaims/driver" in API group "resource.k8s.io" in the namespace "default"',
    'cannot associated-node:update resource "resourceclaims/driver" in API group "resource.k8s.io" in the namespace "default"',
  ]);
});

test('only updates of the status of claims are judged', () => {
  const fixture = new AdmissionFixture();
  const plugin = createClaimStatusRights({ name: 'none', authorize: () => ({ decision: 'noOpinion', reason: '' }) });
  const handles = (write: object): boolean =>
    plugin.handles(fixture.attributes(resourceClaims, { object: claim({}), ...write }));
  assert.deepEqual(
    [
      handles({ old: claim({}), subresource: 'status' }),
      handles({ old: claim({}) }),
      handles({ subresource: 'status', operation: 'CREATE' }),
    ],
    [true, false, false],
  );
});
