// Image garbage collection on the real containerd: what is removed, what stays, and what the node says when nothing
// more can be freed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { CriImages } from '../../src/kubelet/adapters/cri/cri-images.ts';
import { CriRuntime } from '../../src/kubelet/adapters/cri/cri-runtime.ts';
import { ImageGc } from '../../src/kubelet/features/images/image-gc.ts';
import { ImageLeases } from '../../src/kubelet/features/images/image-leases.ts';
import type { ImageGcReport } from '../../src/kubelet/model/image-gc-report.ts';
import { PAUSE_IMAGE, WEB_IMAGE, WEB_USER_IMAGE } from '../../src/up/images/catalogue.ts';
import { buildImage } from '../../src/up/images/oci-image.ts';
import { testsOnDocker } from './support/containerd.ts';
import { pod } from './support/manifests.ts';
import { agentFixture } from './support/suite.ts';

/** Docker shows such names in their short form. */
const UNUSED = testsOnDocker ? 'unused:1' : 'docker.io/library/unused:1';
const unused = buildImage({
  reference: UNUSED,
  architecture: process.arch === 'x64' ? 'amd64' : process.arch,
  layers: [[{ kind: 'file', path: 'data', content: Buffer.alloc(100_000, 1), mode: 0o644 }]],
  entrypoint: ['/data'],
});
const fixture = agentFixture({
  name: 'image-gc',
  images: [unused],
  agent: { args: ['--pinned-images', WEB_USER_IMAGE] },
});

async function imageNames(): Promise<string[]> {
  const { images } = await fixture.containerd.cri.images.listImages({});
  return images.flatMap(({ repoTags }) => repoTags);
}

/** With a disk that is full: a real one would have to be filled. */
function collectorOf(events: string[]): ImageGc {
  const { images, runtime } = fixture.containerd.cri;
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
  const { agent } = fixture;
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
