// The objects of the API server that pods need: secrets, config maps, tokens, claims; their changes, late creation, and
// outages of the server.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { attachmentName } from '../../src/api/attachable-volume.ts';
import { csiNodes, events, nodes, pods, volumeAttachments } from '../../src/api/client/resource-types.ts';
import type { Node } from '../../src/api/core/node.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import { ignoreNotFound } from '../../src/base/errors.ts';
import { pause } from '../../src/up/processes.ts';
import { eventually } from '../e2e/support/eventually.ts';
import { mountPointsBelow } from './support/mount-points.ts';
import { NODE } from './support/agent.ts';
import { clusterFixture } from './support/cluster-agent.ts';
import { TestCsiDriver } from './support/csi-driver.ts';
import { configMap, container, pod, secret } from './support/manifests.ts';

const fixture = clusterFixture({ name: 'cobjects' });
const namespace = 'default';

const apply = (...manifests: readonly unknown[]): Promise<string> =>
  fixture.cluster.kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }));
const podOf = (name: string): Promise<Pod> => fixture.cluster.client().get(pods, { namespace, name });

async function ready(name: string): Promise<Pod> {
  return eventually(async () => {
    const found = await podOf(name);
    assert.ok(
      found.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true,
      JSON.stringify(found.status),
    );
    return found;
  }, 30_000);
}

const volumeOf = ({ metadata }: Pod, kind: string, name: string): string =>
  join(fixture.agent.rootDir, 'pods', metadata.uid, 'volumes', `kubernetes.io~${kind}`, name);

/** Resolves when the file has this content; returns how long that took. */
async function until(file: string, content: string): Promise<number> {
  const beganMs = performance.now();
  while (readFileSync(file, 'utf8') !== content) {
    assert.ok(performance.now() - beganMs < 30_000, `${file}: ${readFileSync(file, 'utf8')}`);
    await pause(5);
  }
  return performance.now() - beganMs;
}

const using = (name: string, rest: Record<string, unknown> = {}) =>
  pod(name, {
    nodeName: NODE,
    containers: [
      container('main', {
        env: [{ name: 'COLOUR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'colour' } } }],
        volumeMounts: [
          { name: 'settings', mountPath: '/settings' },
          { name: 'password', mountPath: '/password' },
        ],
      }),
    ],
    volumes: [
      { name: 'settings', configMap: { name: 'settings' } },
      { name: 'password', secret: { secretName: 'password' } },
    ],
    ...rest,
  });

test('a pod finds secrets, config maps and a token that the API server takes; a change reaches its files at once', async (context: TestContext) => {
  await apply(configMap('settings', { colour: 'red' }), secret('password', { word: 'sesame' }));
  await apply(using('reader'));
  const reader = await ready('reader');
  const settings = volumeOf(reader, 'configmap', 'settings');
  assert.deepEqual(
    [
      readFileSync(join(settings, 'colour'), 'utf8'),
      readFileSync(join(volumeOf(reader, 'secret', 'password'), 'word'), 'utf8'),
    ],
    ['red', 'sesame'],
  );

  const access = reader.spec.volumes?.find(({ name }) => name.startsWith('kube-api-access'))?.name ?? '';
  const folder = volumeOf(reader, 'projected', access);
  const [token, ca] = ['token', 'ca.crt'].map((file) => readFileSync(join(folder, file), 'utf8')) as [string, string];
  const answer = await asPod(
    `https://127.0.0.1:${fixture.cluster.port}/api/v1/namespaces/default/secrets/password`,
    token,
    ca,
  );
  assert.match(answer, /^403 .*User \\"system:serviceaccount:default:default\\" cannot get resource/);

  await fixture.cluster.kubectl(['patch', 'configmap', 'settings', '-p', '{"data":{"colour":"blue"}}']);
  context.diagnostic(
    `a change of a config map was in the file ${Math.round(await until(join(settings, 'colour'), 'blue'))} ms after kubectl had come back`,
  );
});

test('a pod whose secret is late has the reason in its events, and starts as soon as the secret exists', async (context: TestContext) => {
  await apply(
    pod('waiting', {
      nodeName: NODE,
      containers: [container('main', { volumeMounts: [{ name: 'late', mountPath: '/late' }] })],
      volumes: [{ name: 'late', secret: { secretName: 'late' } }],
    }),
  );
  const said = await eventually(async () => {
    const all = (await fixture.cluster.client().list(events, namespace)).items.filter(
      ({ involvedObject, reason }) => involvedObject.name === 'waiting' && reason === 'FailedMount',
    );
    assert.ok(all[0] !== undefined);
    return all[0];
  });
  assert.deepEqual(
    [said.message, said.source, said.type],
    [
      'MountVolume.SetUp failed for volume "late" : secret "late" not found',
      { component: 'kubelet', host: NODE },
      'Warning',
    ],
  );
  const explained = await fixture.agent.cli('explain', 'waiting');
  assert.match(explained.stdout, /kubectl create secret generic late/);
  await apply(secret('late', { word: 'now' }));
  const beganMs = performance.now();
  await ready('waiting');
  context.diagnostic(`the pod was Ready ${Math.round(performance.now() - beganMs)} ms after its secret was there`);
});

test("a CSI volume is attached by the control plane, used as soon as the node's status lists it, and detached when the node has released it", async (context: TestContext) => {
  const { agent, cluster } = fixture;
  const client = cluster.client();
  const driver = new TestCsiDriver('disk.csi.test', agent.rootDir);
  context.after(() => driver.dispose());
  await driver.start();
  await eventually(async () =>
    assert.deepEqual(
      (await client.get(csiNodes, { namespace: '', name: NODE })).spec.drivers.map(({ name, nodeID }) => [
        name,
        nodeID,
      ]),
      [['disk.csi.test', 'this-node']],
    ),
  );
  const size = { requests: { storage: '16Mi' } };
  await apply(
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIDriver',
      metadata: { name: 'disk.csi.test' },
      spec: { attachRequired: true },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'pv-disk' },
      spec: {
        capacity: { storage: '16Mi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: '',
        persistentVolumeReclaimPolicy: 'Retain',
        csi: { driver: 'disk.csi.test', volumeHandle: 'h1' },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'disk', namespace },
      spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', volumeName: 'pv-disk', resources: size },
    },
    pod('diskuser', {
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'disk' } }],
      containers: [container('main', { volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
    }),
  );
  const name = attachmentName('h1', 'disk.csi.test', NODE);
  await eventually(() => client.get(volumeAttachments, { namespace: '', name }));
  const KEY = 'kubernetes.io/csi/disk.csi.test^h1';
  const node = (): Promise<Node> => client.get(nodes, { namespace: '', name: NODE });
  await eventually(async () => assert.deepEqual((await node()).status?.volumesInUse, [KEY]));
  assert.deepEqual(driver.calls('NodeStageVolume'), [], 'it is not attached yet');
  // The program that stands beside a driver's controller.
  const attachment = await client.get(volumeAttachments, { namespace: '', name });
  await client.update(
    volumeAttachments,
    { ...attachment, status: { attached: true, attachmentMetadata: { device: '/dev/x' } } },
    { subresource: 'status' },
  );
  const beganMs = performance.now();
  await ready('diskuser');
  context.diagnostic(`the pod was Ready ${Math.round(performance.now() - beganMs)} ms after its volume was attached`);
  assert.deepEqual(
    [
      driver.calls('NodeStageVolume')[0]?.publishContext,
      (await node()).status?.volumesAttached?.map((each) => each.name),
    ],
    [{ device: '/dev/x' }, [KEY]],
  );
  await cluster.kubectl(['delete', 'pod', 'diskuser', '--wait']);
  await eventually(async () => {
    const { status } = await node();
    assert.deepEqual(
      [
        status?.volumesInUse ?? [],
        status?.volumesAttached ?? [],
        (await client.list(volumeAttachments, '')).items.length,
      ],
      [[], [], 0],
    );
  });
  assert.equal(driver.calls('NodeUnstageVolume').length, 1);
});

test('objects that pods use are stored for root alone, and removed with the pods', async () => {
  const folders = ['objects', 'tokens'].map((name) => join(fixture.agent.rootDir, 'agent-state', name));
  const modes = folders
    .flatMap((folder) => [folder, ...readdirSync(folder).map((file) => join(folder, file))])
    .map((path) => statSync(path).mode & 0o077);
  assert.ok(modes.length > 4 && modes.every((mode) => mode === 0), String(modes));
  const holds = (text: string): boolean =>
    folders.some((folder) =>
      readdirSync(folder).some((file) => readFileSync(join(folder, file), 'utf8').includes(text)),
    );
  const word = Buffer.from('now').toString('base64');
  assert.equal(holds(word), true);
  await fixture.cluster.kubectl(['delete', 'pod', 'waiting', '--wait']);
  await eventually(async () => assert.equal(holds(word), false));
});

test('a reboot while the API server is away brings a pod back, with its secrets, config maps and token', async () => {
  const { agent, cluster, containerd } = fixture;
  const before = await podOf('reader');
  await cluster.kill();
  await agent.kill9();
  // What a reboot leaves: the disk, without the state of the runtime and in memory.
  for (const { id } of (await containerd.cri.runtime.listPodSandbox({ filter: undefined })).items) {
    // The runtime may still be removing a sandbox for the killed agent.
    await ignoreNotFound(containerd.cri.runtime.stopPodSandbox({ podSandboxId: id }));
    await ignoreNotFound(containerd.cri.runtime.removePodSandbox({ podSandboxId: id }));
  }
  for (const at of mountPointsBelow(join(agent.rootDir, 'pods')).reverse()) execFileSync('umount', [at]);
  rmSync(join(agent.rootDir, 'pods'), { recursive: true, force: true });
  await agent.start();
  const seen = await eventually(async () => {
    const { stdout } = await agent.cli('explain', 'reader');
    assert.match(stdout, /reader: Running, settled/);
    return readFileSync(join(volumeOf(before, 'secret', 'password'), 'word'), 'utf8');
  }, 30_000);
  assert.equal(seen, 'sesame');
  assert.equal(readFileSync(join(volumeOf(before, 'configmap', 'settings'), 'colour'), 'utf8'), 'blue');
  await cluster.start();
  await fixture.cluster.kubectl(['patch', 'configmap', 'settings', '-p', '{"data":{"colour":"green"}}']);
  await until(join(volumeOf(before, 'configmap', 'settings'), 'colour'), 'green');
});

/** The API server's answer to a request with a pod's token: status and body. */
function asPod(url: string, token: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { ca, headers: { Authorization: `Bearer ${token}` } }, (response) => {
      let body = '';
      response
        .setEncoding('utf8')
        .on('data', (text: string) => (body += text))
        .on('end', () => resolve(`${response.statusCode ?? 0} ${body}`));
    });
    asked.on('error', reject).end();
  });
}
