// Images as volumes. The runtime mounts them: containerd since 2.1, and with subPath since 2.2. With an older version,
// the test checks the error.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readBusybox } from '../../src/up/image-store.ts';
import { busyboxImage, WEB_IMAGE } from '../../src/up/images/catalogue.ts';
import { testsOnDocker } from './support/containerd.ts';
import type { PodManifest } from './support/manifests.ts';
import { container, pod, secret } from './support/manifests.ts';
import type { TestRegistry } from './support/registry.ts';
import { startRegistry } from './support/registry.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { containerId, containerOf } from './support/watch.ts';

const CREDENTIALS = { username: 'anna', password: 'secret pass' };
let registry: TestRegistry;
before(async () => {
  registry = await startRegistry({ credentials: CREDENTIALS, tls: true });
});
// Before the agent is stopped, so that it goes also when that fails.
after(() => registry?.stop());
const fixture = agentFixture({
  name: 'image-volumes',
  agent: (containerd) => {
    registry.allowIn(containerd.instance);
    return {
      config: { serializeImagePulls: false, registryPullQPS: 0, crashLoopBackOff: { maxContainerRestartPeriod: '1s' } },
    };
  },
});

const push = async (name: string): Promise<string> => {
  const files = [
    { kind: 'directory', path: 'data' },
    { kind: 'file', path: 'data/name', content: `${name}\n` },
    { kind: 'file', path: 'tool', content: '#!/bin/sh\necho ran\n', mode: 0o755 },
  ] as const;
  return registry.push(
    busyboxImage({ reference: 'pushed:1', nodeArch: process.arch, busybox: await readBusybox(), extraLayers: [files] }),
    `test/${name}`,
  );
};
const credentials = () => {
  const auth = Buffer.from(`${CREDENTIALS.username}:${CREDENTIALS.password}`).toString('base64');
  return secret(
    'closed',
    { '.dockerconfigjson': JSON.stringify({ auths: { [registry.host]: { auth } } }) },
    'kubernetes.io/dockerconfigjson',
  );
};

interface ImageSource {
  readonly reference: string;
  readonly pullPolicy?: string;
}
/** Mounts the image at /v. */
const showing = (
  name: string,
  image: ImageSource,
  {
    mount = {},
    spec = {},
    main = {},
  }: { mount?: object; spec?: Record<string, unknown>; main?: Record<string, unknown> } = {},
): PodManifest =>
  pod(name, {
    imagePullSecrets: [{ name: 'closed' }],
    volumes: [{ name: 'v', image }],
    containers: [container('main', { volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }], ...main })],
    ...spec,
  });

const runtimeIs = (major: number, minor: number): boolean => {
  if (testsOnDocker) return false;
  const { majorVersion, minorVersion } = fixture.containerd.facts;
  return majorVersion > major || (majorVersion === major && minorVersion >= minor);
};

/** The pod waits because the runtime does not support it, and an event says so. */
async function refused(name: string, message: RegExp): Promise<void> {
  const held = await fixture.agent.waitFor(
    name,
    'refused',
    (now) => containerOf(now).state?.waiting?.reason === 'CreateContainerConfigError',
  );
  assert.match(containerOf(held).state?.waiting?.message ?? '', message);
}
const NO_IMAGES = testsOnDocker
  ? /^Docker cannot mount images as volumes: image volumes need containerd 2\.1 or later$/
  : /^image volumes need containerd 2\.1 or later: containerd \S+ of this node cannot mount images$/;
const waitingReason = (seen: Parameters<typeof containerOf>[0]): string =>
  containerOf(seen).state?.waiting?.reason ?? '';

describe('an image as a volume', SIDE_BY_SIDE, () => {
  test("is pulled with the pod's secrets, shows its files, cannot be written, and is the same for many containers", async () => {
    const { agent } = fixture;
    const reference = await push('guarded');
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    agent.writeManifest(
      'guarded',
      credentials(),
      showing(
        'guarded',
        { reference },
        {
          spec: {
            initContainers: [container('init', { command: ['cat', '/v/data/name'], volumeMounts })],
            containers: [
              container('main', { volumeMounts }),
              container('side', {
                securityContext: { runAsUser: 1000 },
                volumeMounts: [{ name: 'v', mountPath: '/deep/er' }],
              }),
            ],
          },
        },
      ),
    );
    if (!runtimeIs(2, 1)) {
      const held = await agent.waitFor(
        'guarded',
        'refused',
        (now) => containerOf(now, 'init').state?.waiting?.reason === 'CreateContainerConfigError',
      );
      assert.match(containerOf(held, 'init').state?.waiting?.message ?? '', NO_IMAGES);
    } else {
      await agent.ready('guarded');
      assert.equal(agent.output('guarded', 'init'), 'guarded');
      assert.equal(
        await agent.inside(
          'guarded',
          'cat /v/data/name; touch /v/x 2>&1 | grep -o "Read-only.*"; ls /v/bin/sh',
          'main',
        ),
        'guarded\nRead-only file system\n/v/bin/sh',
      );
      assert.equal(await agent.inside('guarded', 'cat /deep/er/data/name', 'side'), 'guarded');
      const { timeline } = await agent.explained('guarded', 'the pull', (now) =>
        now.timeline.some(({ message }) => message.includes(`Successfully pulled image "${reference}"`)),
      );
      assert.equal(timeline.filter(({ message }) => message.startsWith(`Pulling image "${reference}"`)).length, 1);
    }
    await agent.remove('guarded');
  });

  test('that cannot be pulled delays its container with the reasons of a pull, until it can; unused it delays nothing', async () => {
    const { agent } = fixture;
    const reference = `${registry.host}/test/awaited:1`;
    agent.writeManifest('awaited', showing('awaited', { reference }), credentials());
    agent.writeManifest('never', showing('never', { reference, pullPolicy: 'Never' }));
    agent.writeManifest(
      'unused',
      pod('unused', { volumes: [{ name: 'v', image: { reference: `${registry.host}/test/nobody:1` } }] }),
    );
    await agent.ready('unused');
    if (!runtimeIs(2, 1)) {
      await Promise.all(['awaited', 'never'].map((name) => refused(name, NO_IMAGES)));
    } else {
      const never = await agent.waitFor('never', 'refused', (now) => waitingReason(now) === 'ErrImageNeverPull');
      assert.equal(
        containerOf(never).state?.waiting?.message,
        `Container image "${reference}" is not present with pull policy of Never`,
      );
      const held = await agent.waitFor('awaited', 'held back', (now) => waitingReason(now) === 'ImagePullBackOff');
      assert.match(
        containerOf(held).state?.waiting?.message ?? '',
        new RegExp(`^Back-off pulling image "${reference}": ErrImagePull: `),
      );
      const seen = agent.watch.history
        .filter(({ pod: now }) => now.metadata.name.startsWith('awaited'))
        .map(({ pod: now }) => waitingReason(now));
      assert.ok(seen.includes('ErrImagePull'), seen.join());
      const { timeline } = await agent.explained('awaited', 'its events', (now) =>
        now.timeline.some(({ reason }) => reason === 'BackOff'),
      );
      assert.ok(
        timeline.some(
          ({ reason, message }) => reason === 'Failed' && message.startsWith(`Failed to pull image "${reference}": `),
        ),
      );
      await push('awaited');
      await agent.ready('awaited', 45_000);
      assert.equal(await agent.inside('awaited', 'cat /v/data/name'), 'awaited');
    }
    await agent.remove('awaited', 'never', 'unused');
  });

  test('may be shown in part where the runtime can; where it cannot, the whole is never shown instead', async () => {
    const { agent } = fixture;
    const image = { reference: WEB_IMAGE, pullPolicy: 'IfNotPresent' };
    agent.writeManifest('part', showing('part', image, { mount: { subPath: 'www' } }));
    agent.writeManifest(
      'expanded',
      showing('expanded', image, {
        mount: { subPathExpr: '$(WHICH)' },
        main: { env: [{ name: 'WHICH', value: 'www' }] },
      }),
    );
    agent.writeManifest('no-part', showing('no-part', image, { mount: { subPath: 'nowhere' } }));
    const names = ['part', 'expanded', 'no-part'];
    if (runtimeIs(2, 2)) {
      await Promise.all([agent.ready('part'), agent.ready('expanded')]);
      assert.deepEqual(
        [await agent.inside('part', 'ls /v'), await agent.inside('expanded', 'ls /v')],
        ['index.html', 'index.html'],
      );
      const held = await agent.waitFor('no-part', 'held back', (now) => waitingReason(now) === 'CreateContainerError');
      assert.match(containerOf(held).state?.waiting?.message ?? '', /^ImageVolumeMountFailed|nowhere/);
    } else {
      await Promise.all(
        names.map((name) =>
          refused(
            name,
            runtimeIs(2, 1)
              ? /^subPaths of image volumes need containerd 2\.2 or later: containerd \S+ of this node cannot mount parts of images$/
              : NO_IMAGES,
          ),
        ),
      );
    }
    await agent.remove(...names);
  });
});

describe('a container with an image as a volume', () => {
  test('runs on while the agent is away, and gets the volume again when it is started again', async () => {
    const { agent } = fixture;
    const manifest = showing(
      'lasting',
      { reference: WEB_IMAGE, pullPolicy: 'IfNotPresent' },
      { main: { command: ['sh', '-c', 'ls /v/www; trap "exit 1" TERM; sleep 2147483647 & wait'] } },
    );
    agent.writeManifest('lasting', manifest);
    if (!runtimeIs(2, 1)) {
      await refused('lasting', NO_IMAGES);
      await agent.restart('SIGKILL');
      await refused('lasting', NO_IMAGES);
    } else {
      const before = containerId(await agent.ready('lasting'));
      await agent.restart('SIGKILL');
      assert.deepEqual(
        [containerId(await agent.ready('lasting')), containerOf(agent.pod('lasting')).restartCount],
        [before, 0],
      );
      await fixture.containerd.cri.runtime.stopContainer({ containerId: before, timeout: 2 });
      const after = await agent.waitFor(
        'lasting',
        'started again',
        (now) => containerOf(now).restartCount === 1 && containerOf(now).ready,
      );
      assert.notEqual(containerId(after), before);
      assert.equal(agent.output('lasting'), 'index.html');
    }
    await agent.remove('lasting');
  });
});
