// Pulls from a real registry: open, with a password, with TLS; policies, failures, concurrent pulls; and garbage
// collection of containers and images.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { CriImages } from '../../src/kubelet/adapters/cri/cri-images.ts';
import { CriRuntime } from '../../src/kubelet/adapters/cri/cri-runtime.ts';
import { ImageGc } from '../../src/kubelet/features/images/image-gc.ts';
import { ImageLeases } from '../../src/kubelet/features/images/image-leases.ts';
import type { ImageGcReport } from '../../src/kubelet/model/image-gc-report.ts';
import { readBusybox } from '../../src/up/image-store.ts';
import { ballastLayer, busyboxImage, PAUSE_IMAGE, WEB_IMAGE, WEB_USER_IMAGE } from '../../src/up/images/catalogue.ts';
import { buildImage } from '../../src/up/images/oci-image.ts';
import type { OciImage } from '../../src/up/images/oci-image.ts';
import { waitUntil } from '../../src/up/processes.ts';
import { TestAgent } from './support/agent.ts';
import type { TestContainerd } from './support/containerd.ts';
import { startContainerd, testsOnDocker } from './support/containerd.ts';
import { container, pod, secret } from './support/manifests.ts';
import type { TestRegistry } from './support/registry.ts';
import { startRegistry } from './support/registry.ts';
import { containerId, containerOf, isReady } from './support/watch.ts';

const CREDENTIALS = { username: 'anna', password: 'secret pass' };
/** Docker shows such names in their short form. */
const UNUSED = testsOnDocker ? 'unused:1' : 'docker.io/library/unused:1';
const unused = buildImage({
  reference: UNUSED,
  architecture: process.arch === 'x64' ? 'amd64' : process.arch,
  layers: [[{ kind: 'file', path: 'data', content: Buffer.alloc(100_000, 1), mode: 0o644 }]],
  entrypoint: ['/data'],
});
let containerd: TestContainerd;
let open: TestRegistry;
let closed: TestRegistry;
let agent: TestAgent;

before(async () => {
  containerd = await startContainerd({ name: 'images', images: [unused] });
  [open, closed] = await Promise.all([startRegistry(), startRegistry({ credentials: CREDENTIALS, tls: true })]);
  for (const registry of [open, closed]) registry.allowIn(containerd.instance);
  agent = await TestAgent.start(containerd, {
    config: { serializeImagePulls: false, maxParallelImagePulls: 3, registryPullQPS: 0 },
    args: ['--pinned-images', WEB_USER_IMAGE],
  });
});
after(async () => {
  try {
    await agent?.stop();
  } finally {
    await Promise.all([open?.stop(), closed?.stop()]);
    await containerd?.stop();
  }
});

async function image(seed: number, bytes = 50_000): Promise<OciImage> {
  return busyboxImage({
    reference: 'pushed:1',
    nodeArch: process.arch,
    busybox: await readBusybox(),
    extraLayers: [ballastLayer(bytes, seed)],
  });
}
const push = async (registry: TestRegistry, name: string, seed: number): Promise<string> =>
  registry.push(await image(seed), `test/${name}`);
const using = (
  name: string,
  reference: string,
  rest: Record<string, unknown> = {},
  spec: Record<string, unknown> = {},
) => pod(name, { containers: [container('main', { image: reference, ...rest })], ...spec });
const dockerConfig = (registry: TestRegistry, { username, password } = CREDENTIALS): string =>
  JSON.stringify({ auths: { [registry.host]: { auth: Buffer.from(`${username}:${password}`).toString('base64') } } });
/** How often a manifest of the repository was requested. */
const asked = (registry: TestRegistry, name: string): number =>
  registry
    .log()
    .split('\n')
    .filter((line) => line.includes(`/v2/test/${name}/manifests/`) && /"(HEAD|GET) /.test(line)).length;
const stateReason = (seen: Parameters<typeof containerOf>[0]): string | undefined =>
  containerOf(seen).state?.waiting?.reason;

test('an image is pulled from an open registry, with its progress reported, and found present the next time', async () => {
  const reference = await push(open, 'plain', 1);
  await agent.run(using('plain', reference));
  const { timeline } = await agent.explained('plain', 'the pull', (now) =>
    now.timeline.some(({ reason }) => reason === 'Pulled'),
  );
  assert.deepEqual(
    timeline.map(({ reason }) => reason).filter((reason) => ['Pulling', 'Pulled'].includes(reason)),
    ['Pulling', 'Pulled'],
  );
  const before = asked(open, 'plain');
  await agent.run(using('plain-again', reference));
  assert.equal(asked(open, 'plain'), before, 'IfNotPresent asked the registry');
  await agent.run(using('plain-always', reference, { imagePullPolicy: 'Always' }));
  assert.ok(asked(open, 'plain') > before, 'Always did not ask the registry');
  await agent.remove('plain', 'plain-again', 'plain-always');
});

test('Never does not pull, and reports ErrImageNeverPull', async () => {
  const reference = await push(open, 'never', 2);
  agent.writeManifest('never', using('never', reference, { imagePullPolicy: 'Never' }));
  const seen = await agent.waitFor('never', 'refused', (now) => stateReason(now) === 'ErrImageNeverPull');
  assert.match(containerOf(seen).state?.waiting?.message ?? '', /is not present with pull policy of Never/);
  assert.equal(asked(open, 'never'), 0);
  await agent.remove('never');
});

test('a missing image is ErrImagePull, then ImagePullBackOff with a next try, and comes when it is pushed', async () => {
  const reference = `${open.host}/test/awaited:1`;
  agent.writeManifest('awaited', using('awaited', reference));
  await agent.waitFor('awaited', 'ErrImagePull', () =>
    agent.watch.history.some(
      ({ pod: seen }) => seen.metadata.name.startsWith('awaited') && stateReason(seen) === 'ErrImagePull',
    ),
  );
  const held = await agent.waitFor('awaited', 'held back', (now) => stateReason(now) === 'ImagePullBackOff', 20_000);
  assert.match(containerOf(held).state?.waiting?.message ?? '', /Back-off pulling image/);
  const { blockers } = await agent.explained('awaited', 'the next try', (now) =>
    now.blockers.some((blocker) => blocker.nextTryAtMs !== undefined),
  );
  assert.ok(
    blockers.some((blocker) => JSON.stringify(blocker).includes(reference)),
    JSON.stringify(blockers),
  );
  await push(open, 'awaited', 3);
  await agent.ready('awaited', 45_000);
  await agent.remove('awaited');
});

test('a registry with password and TLS: refused without, pulled with a pull secret of the pod', async () => {
  const reference = await push(closed, 'guarded', 4);
  agent.writeManifest('refused', using('refused', reference));
  await agent.waitFor('refused', 'refused', (now) => /ErrImagePull|ImagePullBackOff/.test(stateReason(now) ?? ''));
  assert.ok(
    !agent.log.includes('secret pass') && !agent.log.includes(Buffer.from('anna:secret pass').toString('base64')),
  );
  const pullSecret = secret('closed', { '.dockerconfigjson': dockerConfig(closed) }, 'kubernetes.io/dockerconfigjson');
  await agent.run(using('guarded', reference, {}, { imagePullSecrets: [{ name: 'closed' }] }), pullSecret);
  const wrong = secret(
    'wrong',
    { '.dockerconfigjson': dockerConfig(closed, { username: 'anna', password: 'guess' }) },
    'kubernetes.io/dockerconfigjson',
  );
  agent.writeManifest(
    'wrong',
    using('wrong', reference, { imagePullPolicy: 'Always' }, { imagePullSecrets: [{ name: 'wrong' }] }),
    wrong,
  );
  await agent.waitFor('wrong', 'refused', (now) => /ErrImagePull|ImagePullBackOff/.test(stateReason(now) ?? ''));
  await agent.remove('refused', 'guarded', 'wrong');
});

test('credentials of the node in config.json serve pods without a secret', async () => {
  const reference = await push(closed, 'by-node', 5);
  writeFileSync(join(agent.rootDir, 'config.json'), dockerConfig(closed), { mode: 0o600 });
  await agent.run(using('by-node', reference));
  await agent.remove('by-node');
});

test('several images of one pod, and of several, are pulled side by side, and a registry that hangs holds up only its own', async () => {
  const references = await Promise.all([6, 7, 8].map((seed) => push(open, `side-${seed}`, seed)));
  const hanging = await push(closed, 'hanging', 9);
  closed.freeze();
  try {
    agent.writeManifest('hanging', using('hanging', hanging));
    await agent.explained('hanging', 'the pull under way', (now) =>
      now.blockers.some((blocker) => blocker.step.includes('pull')),
    );
    agent.writeManifest(
      'side',
      pod('side', { containers: references.map((reference, index) => container(`c${index}`, { image: reference })) }),
    );
    await agent.ready('side', 20_000);
    assert.ok(!isReady(agent.pod('hanging')));
  } finally {
    closed.thaw();
  }
  await agent.ready('hanging', 45_000);
  await agent.remove('hanging', 'side');
});

test('a pull that is under way when the agent is killed is taken up again', async () => {
  const reference = await push(closed, 'cut', 10);
  closed.freeze();
  try {
    agent.writeManifest('cut', using('cut', reference));
    await agent.explained('cut', 'the pull under way', (now) =>
      now.blockers.some((blocker) => blocker.step.includes('pull')),
    );
    await agent.restart('SIGKILL');
  } finally {
    closed.thaw();
  }
  await agent.ready('cut', 45_000);
  await agent.remove('cut');
});

test('dead instances are collected but the newest, and logs go with their pod', async () => {
  const name = 'mortal';
  await agent.run(pod(name, { containers: [container('main', { command: ['sleep', '100000'] })] }));
  for (let round = 1; round <= 2; round++) {
    await containerd.cri.runtime.stopContainer({ containerId: containerId(agent.pod(name)), timeout: 0 });
    await agent.waitFor(
      name,
      `restarted ${round} times`,
      (seen) => containerOf(seen).restartCount === round && isReady(seen),
      45_000,
    );
  }
  const { uid } = agent.pod(name).metadata;
  const list = async (): Promise<number[]> =>
    (
      await containerd.cri.runtime.listContainers({ filter: { labelSelector: { 'io.kubernetes.pod.uid': uid } } })
    ).containers
      .map((item) => item.metadata?.attempt ?? -1)
      .sort();
  assert.ok((await list()).length <= 3);
  await agent.remove(name);
  assert.ok(await waitUntil(async () => (await list()).length === 0, 10_000, 50));
});

async function imageNames(): Promise<string[]> {
  const { images } = await containerd.cri.images.listImages({});
  return images.flatMap(({ repoTags }) => repoTags);
}

/** With a simulated full disk: a real one would have to be filled. */
function collectorOf(events: string[]): ImageGc {
  const { images, runtime } = containerd.cri;
  return new ImageGc({
    images: new CriImages(images),
    containers: new CriRuntime(runtime, () => Promise.resolve(''), systemClock),
    leases: new ImageLeases(systemClock),
    access: { prune: () => Promise.resolve() } as never,
    pinnedPrefixes: [WEB_USER_IMAGE],
    policy: { highPercent: 85, lowPercent: 80, minAgeMs: 0, maxAgeMs: 0 },
    disk: { diskUsage: () => Promise.resolve({ capacityBytes: 2 ** 40, availableBytes: 0 }) },
    events: { nodeEvent: (type, reason, message) => void events.push(`${type} ${reason} ${message}`) },
    platform: { clock: systemClock, random: systemRandom, log: silentLogger },
  });
}

test('an unused image is removed when the disk is full; those in use, pinned or of sandboxes stay, and an event names what uses the disk', async () => {
  await agent.clear();
  await agent.run(pod('web'));
  const { stdout } = await agent.cli('images', '--gc', '--dry-run', '-o', 'json');
  const report = JSON.parse(stdout) as ImageGcReport;
  const seen = new Map(report.images.map(({ name, verdict, why }) => [name, `${verdict}: ${why}`]));
  assert.match(seen.get(UNUSED) ?? '', /^unused: /);
  assert.deepEqual([seen.get(WEB_IMAGE), seen.get(WEB_USER_IMAGE)], ['kept: in use', 'kept: pinned']);
  assert.match(seen.get(PAUSE_IMAGE) ?? '', /^kept: /);
  assert.ok((await imageNames()).includes(UNUSED), 'the preview removes nothing');

  const events: string[] = [];
  await assert.rejects(collectorOf(events).collect(), /Insufficient free disk space/);
  const left = await imageNames();
  assert.equal(left.includes(UNUSED), false);
  for (const name of [WEB_IMAGE, WEB_USER_IMAGE, PAUSE_IMAGE]) assert.ok(left.includes(name), `${name} stays`);
  assert.match(events.join('\n'), /^Warning FreeDiskSpaceFailed .*largest images in use: localhost\/kubelet-ts\/web/);
  assert.equal(agent.pod('web').status?.phase, 'Running');
  await agent.remove('web');
});
