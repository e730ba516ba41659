import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CertificateSigningRequest } from '../../../api/certificates/certificate-signing-request.ts';
import { certificateSigningRequests, nodes } from '../../../api/client/resource-types.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createServingApprover } from './serving-approver.ts';
import type { ServingNames } from './serving-approver.ts';

const key = { namespace: '', name: 'csr' };
const own: ServingNames = { commonName: 'system:node:a', dnsNames: ['a.example'], ipAddresses: ['192.0.2.1'] };

async function setUp(
  names: ServingNames | undefined,
  asker: Partial<CertificateSigningRequest['spec']> = {},
  addresses: readonly string[] = ['a.example', '192.0.2.1'],
): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (options) => [createServingApprover({ ...options, servingNames: () => names })],
  });
  world.api.seed(nodes, {
    metadata: { namespace: '', name: 'a', uid: 'a' },
    status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
  });
  world.api.seed(certificateSigningRequests, {
    metadata: { ...key, uid: 'csr' },
    spec: {
      request: 'cGVt',
      signerName: 'kubernetes.io/kubelet-serving',
      username: 'system:node:a',
      groups: ['system:nodes', 'system:authenticated'],
      ...asker,
    },
  });
  world.start();
  await world.clock.advance(2000);
  return world;
}

const isApproved = (world: ControllerWorld): boolean =>
  (world.api.peek(certificateSigningRequests, key)?.status?.conditions ?? []).some(({ type }) => type === 'Approved');

describe('the serving certificate request of a node', () => {
  it('is approved for the addresses it has', async () => {
    const world = await setUp(own);
    assert.ok(isApproved(world));
    await world.stop();
  });

  it('is approved for an IPv6 address in any spelling', async () => {
    const world = await setUp({ ...own, dnsNames: ['A.example'], ipAddresses: ['fd00::1'] }, {}, [
      'a.example',
      'FD00:0:0:0:0:0:0:1',
    ]);
    assert.ok(isApproved(world));
    await world.stop();
  });

  const refused: readonly (readonly [
    what: string,
    names: ServingNames | undefined,
    asker?: Partial<CertificateSigningRequest['spec']>,
  ])[] = [
    ['another address', { ...own, ipAddresses: ['192.0.2.1', '192.0.2.9'] }],
    ['another name', { ...own, dnsNames: ['kubernetes.default'] }],
    ['another node', { ...own, commonName: 'system:node:b' }],
    ['a node, requested by another user', own, { username: 'jane' }],
    ['a node, by a user outside system:nodes', own, { groups: ['system:authenticated'] }],
    ['something else', undefined],
  ];
  for (const [what, names, asker] of refused) {
    it(`is not approved for ${what}`, async () => {
      const world = await setUp(names, asker);
      await world.clock.advance(60_000);
      assert.deepEqual([isApproved(world), world.api.writes], [false, []]);
      await world.stop();
    });
  }

  it('is approved once the node has reported its addresses', async () => {
    const world = await setUp(own, {}, []);
    assert.equal(isApproved(world), false);
    const node = await world.api.get(nodes, { namespace: '', name: 'a' });
    await world.api.update(
      nodes,
      {
        ...node,
        status: {
          addresses: [
            { type: 'InternalIP', address: '192.0.2.1' },
            { type: 'Hostname', address: 'a.example' },
          ],
        },
      },
      { subresource: 'status' },
    );
    await world.clock.advance(6000);
    assert.ok(isApproved(world));
    await world.stop();
  });
});
