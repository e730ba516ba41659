import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { csiNodes, nodes } from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import { migratedPlugins } from '../../../api/csi-migration.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { CSINode } from '../../../api/storage/csi-node.ts';
import { seededRandom } from '../../../base/random.ts';
import type { ClusterObjectChange } from '../../ports/cluster-objects.ts';
import { planNodeInfo } from './node-info.ts';
import { NodeInfoKeeper } from './node-info-keeper.ts';
import { csiWorld, DRIVER } from './testing/csi-world.ts';

const NAME = { namespace: '', name: 'node1' };

function setUp() {
  const world = csiWorld();
  const { clock, registry, driver } = world;
  const api = new FakeApiClient({ clock });
  const listeners = new Set<(node: Node | undefined) => void>();
  const objectListeners = new Set<(change: ClusterObjectChange) => void>();
  const reported: (string | undefined)[] = [];
  const spec = { periodSeconds: undefined as number | undefined };
  const keeper: NodeInfoKeeper = new NodeInfoKeeper({
    client: api,
    nodeName: 'node1',
    node: {
      current: () => api.peek(nodes, NAME),
      onChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    registry,
    objects: {
      get: () =>
        ({
          metadata: { name: DRIVER, namespace: '', uid: '' },
          spec: { nodeAllocatableUpdatePeriodSeconds: spec.periodSeconds },
        }) as never,
      onChange: (listener) => {
        objectListeners.add(listener);
        return () => objectListeners.delete(listener);
      },
    },
    clock,
    random: seededRandom(1),
    log: world.log,
    onChange: () => reported.push(keeper.problem()),
  });
  const registerNode = (uid = 'uid-1', metadata: object = {}): void => {
    const node = api.seed(nodes, { metadata: { ...NAME, uid, ...metadata } } as Node);
    for (const listener of listeners) listener(node);
  };
  const register = async (): Promise<void> => {
    await registry.register({ name: DRIVER, endpoint: '/csi.sock', versions: ['1.0.0'], socketPath: '/reg.sock' });
    await clock.settle();
  };
  const registerAs = (name: string, socketPath: string): Promise<void> =>
    registry.register({ name, endpoint: '/csi.sock', versions: ['1.0.0'], socketPath });
  const deregister = async (): Promise<void> => {
    registry.deregister({ name: DRIVER, endpoint: '/csi.sock', versions: ['1.0.0'], socketPath: '/reg.sock' });
    await clock.settle();
  };
  return {
    clock,
    api,
    keeper,
    driver,
    registerNode,
    register,
    registerAs,
    deregister,
    reported,
    spec,
    csiNode: (): CSINode | undefined => api.peek(csiNodes, NAME),
    node: (): Node | undefined => api.peek(nodes, NAME),
    driverChanged: () =>
      objectListeners.forEach((listener) => listener({ kind: 'CSIDriver', namespace: '', name: DRIVER })),
  };
}

it('a topology key that every object inherits is a label like any other', () => {
  const facts = {
    nodeName: 'node1',
    nodeUid: 'u',
    drivers: [{ name: DRIVER, nodeId: 'n', topology: { constructor: 'a' }, maxVolumes: undefined }],
    left: new Set<string>(),
  };
  assert.deepEqual(planNodeInfo({ metadata: { ...NAME, uid: 'u' } } as Node, facts).metadata?.labels, {
    constructor: 'a',
  });
});

describe('the published CSI drivers', () => {
  it('begin with an empty CSINode that belongs to the node; the node is not ready before', async () => {
    const { clock, keeper, registerNode, csiNode, reported } = setUp();
    keeper.start();
    await clock.settle();
    assert.equal(keeper.problem(), 'CSINode is not yet initialized');
    registerNode();
    await clock.settle();
    assert.deepEqual(
      [csiNode()?.spec, csiNode()?.metadata.ownerReferences],
      [{ drivers: [] }, [{ apiVersion: 'v1', kind: 'Node', name: 'node1', uid: 'uid-1' }]],
    );
    assert.deepEqual([keeper.problem(), reported], [undefined, [undefined]]);
    await keeper.stop();
  });

  it('have their names, the topology of the node, and their volume limits', async () => {
    const { keeper, driver, registerNode, register, deregister, csiNode, node } = setUp();
    driver.info = { nodeId: 'n-7', maxVolumesPerNode: 5, topology: { 'topology.d.example/zone': 'a' } };
    registerNode('uid-1', {
      labels: { team: 'x' },
      annotations: { 'csi.volume.kubernetes.io/nodeid': '{"other":"o"}' },
    });
    keeper.start();
    await register();
    assert.deepEqual(csiNode()?.spec.drivers, [
      { name: DRIVER, nodeID: 'n-7', topologyKeys: ['topology.d.example/zone'], allocatable: { count: 5 } },
    ]);
    assert.deepEqual(node()?.metadata.labels, { team: 'x', 'topology.d.example/zone': 'a' });
    assert.deepEqual(node()?.metadata.annotations, {
      'csi.volume.kubernetes.io/nodeid': `{"${DRIVER}":"n-7","other":"o"}`,
    });
    await deregister();
    assert.deepEqual(
      [csiNode()?.spec.drivers, node()?.metadata.annotations],
      [[], { 'csi.volume.kubernetes.io/nodeid': '{"other":"o"}' }],
    );
    await keeper.stop();
  });

  it('include all others when the API server refuses one driver, and the node is ready', async () => {
    const { clock, api, keeper, registerNode, register, registerAs, csiNode, node, driver } = setUp();
    api.script(({ body }) =>
      JSON.stringify(body ?? {}).includes('forbidden.example')
        ? new ApiStatusError('Forbidden', 'not this one')
        : undefined,
    );
    registerNode();
    driver.info = { nodeId: 'n', maxVolumesPerNode: 0, topology: { 'forbidden.example/role': 'master' } };
    await registerAs('a.example', '/a.sock');
    driver.info = { nodeId: 'n', maxVolumesPerNode: 0, topology: { zone: 'z' } };
    await register();
    keeper.start();
    await clock.settle();
    assert.deepEqual(
      [csiNode()?.spec.drivers.map(({ name }) => name), node()?.metadata.labels, keeper.problem()],
      [[DRIVER], { zone: 'z' }, undefined],
    );
    await keeper.stop();
  });

  it('are retried while the API server refuses, with the reason; a conflict is one more try', async () => {
    const { clock, api, keeper, registerNode, register, csiNode, reported } = setUp();
    const end = api.script(({ plural }) => (plural === 'csinodes' ? new ApiStatusError('Forbidden', 'no') : undefined));
    registerNode();
    keeper.start();
    await clock.settle();
    assert.equal(keeper.problem(), 'failed to initialize CSINode: no');
    end();
    await clock.advance(10_000);
    assert.equal(keeper.problem(), undefined);
    api.fail('update', 'csinodes', new ApiStatusError('Conflict', 'stale'));
    await register();
    await clock.advance(10_000);
    assert.deepEqual([csiNode()?.spec.drivers.length, reported.at(-1), keeper.problem()], [1, undefined, undefined]);
    await keeper.stop();
  });

  it('are created again for a node that was deleted and registered again', async () => {
    const { clock, api, keeper, registerNode, csiNode } = setUp();
    registerNode();
    keeper.start();
    await clock.settle();
    api.remove(nodes, NAME);
    registerNode('uid-2');
    await clock.settle();
    assert.equal(csiNode()?.metadata.ownerReferences?.[0]?.uid, 'uid-2');
    await keeper.stop();
  });

  it("continue from an empty CSINode as upstream's API server writes it", async () => {
    const { clock, api, keeper, registerNode, register, csiNode } = setUp();
    registerNode();
    api.seed(csiNodes, {
      metadata: {
        ...NAME,
        uid: 'c',
        annotations: { 'storage.alpha.kubernetes.io/migrated-plugins': migratedPlugins.join() },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'node1', uid: 'uid-1' }],
      },
      spec: { drivers: null },
    } as unknown as CSINode);
    keeper.start();
    await clock.settle();
    assert.equal(keeper.problem(), undefined);
    assert.deepEqual(
      api.writes.filter((write) => write.includes('csinodes')),
      [],
    );
    await register();
    assert.deepEqual(
      csiNode()?.spec.drivers.map(({ name }) => name),
      [DRIVER],
    );
    await keeper.stop();
  });

  it('keep drivers that have not registered again since the agent started', async () => {
    const { clock, api, keeper, registerNode, csiNode } = setUp();
    registerNode();
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'node1', uid: 'uid-1' };
    api.seed(csiNodes, {
      metadata: { ...NAME, uid: '', ownerReferences: [owner] },
      spec: { drivers: [{ name: 'late', nodeID: 'x', topologyKeys: [] }] },
    });
    keeper.start();
    await clock.settle();
    assert.equal(csiNode()?.spec.drivers.length, 1);
    await keeper.stop();
  });

  it('follow the volume limit of a driver, where its CSIDriver gives an interval', async () => {
    const { clock, keeper, driver, registerNode, register, csiNode, spec, driverChanged } = setUp();
    driver.info = { nodeId: 'n', maxVolumesPerNode: 5, topology: {} };
    registerNode();
    keeper.start();
    await register();
    spec.periodSeconds = 10;
    driverChanged();
    await clock.settle();
    driver.info = { nodeId: 'n', maxVolumesPerNode: 3, topology: {} };
    await clock.advance(11_000);
    assert.equal(csiNode()?.spec.drivers[0]?.allocatable?.count, 3);
    await keeper.stop();
    assert.equal(clock.armedTimers, 0);
  });

  it('never overwrite a label with another value', () => {
    const node = { metadata: { ...NAME, uid: 'u', labels: { zone: 'b' } } } as unknown as Node;
    const plan = planNodeInfo(node, {
      nodeName: 'node1',
      nodeUid: 'u',
      left: new Set(),
      drivers: [{ name: DRIVER, nodeId: 'n', topology: { zone: 'a' }, maxVolumes: undefined }],
    });
    assert.deepEqual(
      [plan.metadata?.labels, plan.collisions],
      [undefined, ['detected topology value collision: driver reported "zone":"a" but existing label is "zone":"b"']],
    );
  });
});
