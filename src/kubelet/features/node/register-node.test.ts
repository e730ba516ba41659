import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodes } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Node } from '../../../api/core/node.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { reconcileRegistration } from './reconcile-registration.ts';
import type { RegistrationRequest } from './register-node.ts';
import { registerNode } from './register-node.ts';

const ATTACH = 'volumes.kubernetes.io/controller-managed-attach-detach';
const initial: Node = {
  metadata: {
    name: 'n1',
    namespace: '',
    uid: '',
    labels: { 'kubernetes.io/hostname': 'n1', 'topology.kubernetes.io/zone': 'a', team: 'x' },
    annotations: { [ATTACH]: 'true' },
  },
  spec: { taints: [{ key: 'start', effect: 'NoSchedule' }] },
  status: { capacity: { cpu: '4', 'hugepages-2Mi': '4Mi' }, allocatable: { cpu: '3', 'hugepages-2Mi': '2Mi' } },
};
const key = { namespace: '', name: 'n1' };
const existing = (given: Partial<Node> = {}): Node => ({
  metadata: { name: 'n1', namespace: '', uid: 'u1', labels: { team: 'other' } },
  spec: {},
  status: { capacity: { cpu: '2' }, allocatable: { cpu: '2' } },
  ...given,
});
const request = (client: FakeApiClient, more: Partial<RegistrationRequest> = {}): RegistrationRequest => ({
  client,
  initial,
  resetExtended: false,
  getOnExistsOnly: false,
  ...more,
});
const setUp = (): FakeApiClient => new FakeApiClient({ clock: new FakeClock() });

describe('registering a node', () => {
  it('creates it with its taints', async () => {
    const api = setUp();
    assert.equal((await registerNode(request(api))).kind, 'created');
    const made = api.peek(nodes, key);
    assert.deepEqual(
      [made?.spec, made?.status, made?.metadata.labels],
      [initial.spec, initial.status, initial.metadata.labels],
    );
  });

  it("updates the kubelet's part of an existing one, and leaves its taints, status and other labels", async () => {
    const api = setUp();
    api.seed(nodes, existing());
    assert.equal((await registerNode(request(api))).kind, 'existed');
    const now = api.peek(nodes, key);
    assert.deepEqual(now?.metadata.labels, {
      'kubernetes.io/hostname': 'n1',
      'topology.kubernetes.io/zone': 'a',
      team: 'other',
    });
    assert.deepEqual([now?.metadata.annotations, now?.spec], [{ [ATTACH]: 'true' }, {}]);
    assert.deepEqual(now?.status, {
      capacity: { cpu: '2', 'hugepages-2Mi': '4Mi' },
      allocatable: { cpu: '2', 'hugepages-2Mi': '2Mi' },
    });
    assert.deepEqual(api.writes, ['create nodes n1', 'patch nodes/status n1']);
    await registerNode(request(api));
    assert.deepEqual(api.writes.slice(2), ['create nodes n1']);
  });

  it('checks whether it exists when it may not create any, unless the gate disables that', async () => {
    const api = setUp();
    api.seed(nodes, existing());
    api.fail('create', 'nodes', new ApiStatusError('Forbidden', 'no'), 2);
    assert.equal((await registerNode(request(api))).kind, 'existed');
    const result = await registerNode(request(api, { getOnExistsOnly: true }));
    assert.deepEqual(result, {
      kind: 'failed',
      message: 'Unable to register node with API server, reason is forbidden',
      error: 'no',
    });
  });

  it("reports in upstream's words which step failed", async () => {
    const api = setUp();
    const away = new ApiStatusError('ServiceUnavailable', 'away');
    const message = async (): Promise<string> => {
      const result = await registerNode(request(api));
      return result.kind === 'failed' ? `${result.message}: ${result.error}` : result.kind;
    };
    api.fail('create', 'nodes', away);
    assert.equal(await message(), 'Unable to register node with API server: away');
    api.seed(nodes, existing());
    api.fail('get', 'nodes', away);
    assert.equal(await message(), 'Unable to register node with API server, error getting existing node: away');
    api.fail('patch', 'nodes', away);
    assert.equal(await message(), 'Unable to reconcile node with API server,error updating node: away');
  });
});

describe('the update of an existing node', () => {
  it('removes page sizes that the machine no longer has, and extended resources count as zero while their devices are unknown', () => {
    const amounts = { cpu: '2', 'hugepages-1Gi': '1Gi', 'example.com/gpu': '2' };
    const before = existing({ status: { capacity: amounts, allocatable: amounts } });
    const after = { cpu: '2', 'hugepages-2Mi': '4Mi', 'example.com/gpu': '0' };
    assert.deepEqual(reconcileRegistration(initial, before, true).status, {
      capacity: after,
      allocatable: { ...after, 'hugepages-2Mi': '2Mi' },
    });
    assert.equal(reconcileRegistration(initial, before, false).status?.capacity?.['example.com/gpu'], '2');
  });

  it('sets the annotation of attaching only while the controller attaches', () => {
    const before = existing({
      metadata: { name: 'n1', namespace: '', uid: 'u1', annotations: { [ATTACH]: 'true', a: 'b' } },
    });
    const own = { ...initial, metadata: { ...initial.metadata, annotations: {} } };
    assert.deepEqual(reconcileRegistration(own, before, false).metadata.annotations, { a: 'b' });
  });

  it('sets the amounts of the machine when none are reported yet', () => {
    const { status: _, ...unknown } = existing();
    assert.deepEqual(reconcileRegistration(initial, unknown, false).status, initial.status);
  });
});
