// The agent as a node of the embedded control plane, with the rights of a node and seen with the real kubectl.
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Lease } from '../../src/api/coordination/lease.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import type { Node, NodeCondition } from '../../src/api/core/node.ts';
import { waitUntil } from '../../src/up/processes.ts';
import { eventually } from '../e2e/support/eventually.ts';
import { NODE } from './support/agent.ts';
import { clusterFixture } from './support/cluster-agent.ts';
import { TestDevicePlugin } from './support/device-plugin.ts';
import { container, pod } from './support/manifests.ts';

const fixture = clusterFixture({
  name: 'node',
  agent: {
    args: ['--node-labels=team=x,node.kubernetes.io/rack=r1', '--cloud-provider=', '--node-problem-conditions'],
    config: {
      registerNode: true,
      registerWithTaints: [{ key: 'start', value: 'v', effect: 'NoSchedule' }],
      providerID: 'metal://1',
      nodeStatusUpdateFrequency: '2s',
      nodeStatusReportFrequency: '3s',
      nodeLeaseDurationSeconds: 8,
      nodeStatusMaxImages: 2,
      maxPods: 20,
      podCIDR: '10.8.0.0/24',
    },
  },
});

const read = async <T>(...args: string[]): Promise<T> =>
  JSON.parse(await fixture.cluster.kubectl(['get', ...args, '-o', 'json'])) as T;
const node = (): Promise<Node> => read<Node>('node', NODE);
const lease = (): Promise<Lease> => read<Lease>('lease', NODE, '--namespace=kube-node-lease');
const ready = (given: Node): NodeCondition | undefined =>
  given.status?.conditions?.find(({ type }) => type === 'Ready');
const isReady = async (status: string, limitMs: number): Promise<Node> => {
  let last = await node();
  await waitUntil(async () => ready((last = await node()))?.status === status, limitMs, 100);
  assert.equal(ready(last)?.status, status, JSON.stringify(ready(last)));
  return last;
};

let first: Node;

it('says all that upstream says of a node', async () => {
  first = await eventually(async () => {
    const now = await node();
    assert.equal(now.status?.images?.length, 2);
    return now;
  });
  const { metadata, spec, status } = first;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  assert.deepEqual(metadata.labels, {
    'beta.kubernetes.io/arch': arch,
    'beta.kubernetes.io/os': 'linux',
    'kubernetes.io/arch': arch,
    'kubernetes.io/hostname': NODE,
    'kubernetes.io/os': 'linux',
    'node.kubernetes.io/rack': 'r1',
    team: 'x',
  });
  assert.equal(metadata.annotations?.['volumes.kubernetes.io/controller-managed-attach-detach'], 'true');
  assert.equal(spec?.providerID, 'metal://1');
  assert.ok(
    spec?.taints?.some(({ key, value, effect }) => key === 'start' && value === 'v' && effect === 'NoSchedule'),
  );
  assert.deepEqual(
    status?.conditions?.map(({ type, status: is, reason, message }) => [type, is, reason, message]),
    [
      ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
      ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
      ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
      ['KernelDeadlock', 'False', 'KernelHasNoDeadlock', 'kernel has no deadlock'],
      ['ReadonlyFilesystem', 'False', 'FilesystemIsNotReadOnly', 'Filesystem is not read-only'],
      ['XfsShutdown', 'False', 'XfsHasNotShutDown', 'XFS has not shutdown'],
      ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
    ],
  );
  assert.deepEqual(
    [status?.capacity?.['cpu'], status?.capacity?.['pods'], status?.allocatable?.['pods']],
    [String(os.cpus().length), '20', '20'],
  );
  assert.deepEqual(
    status?.addresses?.map(({ type }) => type),
    ['InternalIP', 'Hostname'],
  );
  const info = status?.nodeInfo;
  assert.match(info?.containerRuntimeVersion ?? '', /^(containerd|docker):\/\/\d/);
  assert.deepEqual(
    [info?.kubeletVersion, info?.kubeProxyVersion, info?.kernelVersion, info?.operatingSystem, info?.architecture],
    ['v1.36.0', '', os.release(), 'linux', arch],
  );
  assert.ok([info?.bootID, info?.osImage].every((text) => text !== undefined && text !== ''));
  assert.ok((status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0) > 0);
  assert.ok(status?.images?.every(({ names, sizeBytes = 0 }) => names.length > 0 && sizeBytes > 0));
  assert.match(await fixture.cluster.kubectl(['describe', 'node', NODE]), /NodeReady|KubeletReady/);
});

it('holds a lease that belongs to the node, and heartbeats', async () => {
  const { spec, metadata } = await lease();
  assert.deepEqual(
    [spec.holderIdentity, spec.leaseDurationSeconds, metadata.ownerReferences?.[0]?.uid],
    [NODE, 8, first.metadata.uid],
  );
  await eventually(async () => assert.notEqual((await lease()).spec.renewTime, spec.renewTime));
  await eventually(async () =>
    assert.notEqual(ready(await node())?.lastHeartbeatTime, ready(first)?.lastHeartbeatTime),
  );
});

it("tells the runtime which addresses pods have: the configured ones, and the node's once it has them", async () => {
  assert.equal(await waitUntil(() => fixture.agent.log.includes('newPodCIDR="10.8.0.0/24"'), 5000, 20), true);
  await fixture.cluster.kubectl([
    'patch',
    'node',
    NODE,
    '--type=merge',
    '--patch={"spec":{"podCIDR":"10.9.0.0/24","podCIDRs":["10.9.0.0/24"]}}',
  ]);
  assert.equal(await waitUntil(() => fixture.agent.log.includes('newPodCIDR="10.9.0.0/24"'), 5000, 20), true);
});

it('keeps fields that others write on the node through a restart of the agent', async () => {
  await fixture.cluster.kubectl(['label', 'node', NODE, 'owner=me']);
  const since = ready(await node())?.lastTransitionTime;
  await fixture.agent.restart('SIGKILL');
  await eventually(async () => assert.ok(fixture.agent.log.includes('Node was previously registered')));
  const now = await node();
  assert.deepEqual(
    [now.metadata.labels?.['owner'], ready(now)?.status, ready(now)?.lastTransitionTime, now.metadata.uid],
    ['me', 'True', since, first.metadata.uid],
  );
});

it('is not ready while the runtime has no network, and says why', async () => {
  const conf = join(fixture.containerd.instance.cniConfDir, '10-kubelet-ts.conflist');
  renameSync(conf, `${conf}.away`);
  try {
    const down = await isReady('False', 15_000);
    assert.equal(ready(down)?.reason, 'KubeletNotReady');
    assert.match(
      ready(down)?.message ?? '',
      /^container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:/,
    );
  } finally {
    renameSync(`${conf}.away`, conf);
  }
  await isReady('True', 15_000);
});

it('offers the devices of plugins, of which the scheduler gives some to pods', async () => {
  const resource = 'devices.test/node';
  const plugin = new TestDevicePlugin(resource, fixture.agent.rootDir, [{ id: 'a' }, { id: 'b', healthy: false }]);
  const offered = (capacity: string, allocatable: string): Promise<void> =>
    eventually(async () => {
      const { status } = await node();
      assert.deepEqual([status?.capacity?.[resource], status?.allocatable?.[resource]], [capacity, allocatable]);
    }, 15_000);
  try {
    await plugin.start();
    await offered('2', '1');
    const manifest = pod(
      'device-user',
      {
        containers: [container('main', { resources: { limits: { [resource]: '1' } } })],
        tolerations: [{ operator: 'Exists' }],
      },
      { namespace: 'default' },
    );
    await fixture.cluster.kubectl(['apply', '-f', '-'], JSON.stringify(manifest));
    await fixture.cluster.kubectl(['wait', 'pod/device-user', '--for=condition=Ready', '--timeout=40s']);
    const { status } = await read<Pod>('pod', 'device-user');
    assert.deepEqual(status?.containerStatuses?.[0]?.allocatedResourcesStatus, [
      { name: resource, resources: [{ resourceID: 'a', health: 'Healthy' }] },
    ]);
    await plugin.stop('SIGKILL');
    await offered('2', '0');
    await eventually(async () => {
      const { status: now } = await read<Pod>('pod', 'device-user');
      assert.equal(now?.containerStatuses?.[0]?.allocatedResourcesStatus?.[0]?.resources?.[0]?.health, 'Unhealthy');
    });
    await fixture.cluster.kubectl(['delete', 'pod', 'device-user', '--timeout=40s']);
  } finally {
    await plugin.dispose();
  }
});

it('is registered again at once when it is deleted, with its lease', async () => {
  await fixture.cluster.kubectl(['delete', 'node', NODE]);
  const now = await isReady('True', 5000);
  assert.notEqual(now.metadata.uid, first.metadata.uid);
  await eventually(async () => assert.equal((await lease()).metadata.ownerReferences?.[0]?.uid, now.metadata.uid));
});

it('is reported again soon after the API server was killed', async () => {
  const { renewTime } = (await lease()).spec;
  await fixture.cluster.kill();
  await fixture.cluster.start();
  await eventually(async () => assert.notEqual((await lease()).spec.renewTime, renewTime), 10_000);
  const now = await isReady('True', 5000);
  await eventually(
    async () => assert.notEqual(ready(await node())?.lastHeartbeatTime, ready(now)?.lastHeartbeatTime),
    15_000,
  );
});
