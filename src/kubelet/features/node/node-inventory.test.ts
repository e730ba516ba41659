import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { Image } from '../../ports/images.ts';
import { NodeInventory } from './node-inventory.ts';
import { OwnName } from './own-name.ts';
import { PodCidr } from './pod-cidr.ts';

const image = (name: string): Image => ({
  id: name,
  repoTags: [name],
  repoDigests: [],
  sizeBytes: 1,
  username: '',
  pinned: false,
});

describe("the runtime's part of the node status", () => {
  it('is read seldom, and reported when it changed', async () => {
    const clock = new FakeClock();
    let version = '1.0';
    let images = [image('a')];
    let asked = 0;
    let changes = 0;
    const runtime = {
      version: () => Promise.resolve({ name: 'containerd', version, apiVersion: 'v1' }).finally(() => asked++),
    };
    const inventory = new NodeInventory({
      runtime,
      images: { listImages: () => Promise.resolve(images) },
      maxImages: 50,
      onChange: () => changes++,
      clock,
      random: seededRandom(1),
      log: silentLogger,
    });
    assert.deepEqual([inventory.runtimeVersion, inventory.images], [undefined, undefined]);
    inventory.start();
    await clock.advance(50_000);
    assert.deepEqual(
      [inventory.runtimeVersion, inventory.images?.[0]?.names, changes, asked],
      ['containerd://1.0', ['a'], 1, 1],
    );
    images = [image('a'), image('b')];
    inventory.imagesChanged();
    await clock.settle();
    assert.deepEqual([inventory.images?.length, changes, asked], [2, 2, 1]);
    version = '2.0';
    inventory.runtimeChanged();
    await clock.settle();
    assert.deepEqual([inventory.runtimeVersion, changes], ['containerd://2.0', 3]);
    await inventory.stop();
  });

  it('stays as it was while the runtime does not answer, and each reason is logged once', async () => {
    const clock = new FakeClock();
    const log = recordingLog();
    let down: string | undefined;
    const answer = <T>(value: T): Promise<T> =>
      down === undefined ? Promise.resolve(value) : Promise.reject(new KubeletError('Unavailable', down));
    const runtime = { version: () => answer({ name: 'containerd', version: '1', apiVersion: 'v1' }) };
    const inventory = new NodeInventory({
      runtime,
      images: { listImages: () => answer([image('a')]) },
      maxImages: -1,
      onChange: () => undefined,
      clock,
      random: seededRandom(1),
      log,
    });
    inventory.start();
    await clock.settle();
    down = 'down';
    inventory.runtimeChanged();
    await clock.advance(300_000);
    assert.deepEqual([inventory.runtimeVersion, inventory.images?.length], ['containerd://1', 1]);
    down = 'still down';
    await clock.advance(300_000);
    down = undefined;
    await clock.advance(300_000);
    down = 'still down';
    await clock.advance(300_000);
    const reasons = log.lines.map(({ fields }) => String(fields['error']).split('; ')[0]);
    assert.deepEqual(reasons, ['down', 'still down', 'still down']);
    await inventory.stop();
  });
});

describe('the pod CIDR', () => {
  it('is passed to the runtime when it is known and when it changes, and again while the runtime refuses', async () => {
    const sentCidrs: string[] = [];
    let refuse = true;
    const podCidr = new PodCidr(
      (cidr) =>
        refuse ? Promise.reject(new KubeletError('Unavailable', 'down')) : Promise.resolve(void sentCidrs.push(cidr)),
      silentLogger,
    );
    const clock = new FakeClock();
    const offer = async (...cidrs: string[]): Promise<void> => {
      podCidr.offer(cidrs);
      await clock.settle();
    };
    await offer();
    await offer('10.1.0.0/24', 'fd00::/64');
    refuse = false;
    await offer('10.1.0.0/24', 'fd00::/64');
    await offer('10.1.0.0/24', 'fd00::/64');
    await offer('10.2.0.0/24');
    await offer();
    assert.deepEqual(sentCidrs, ['10.1.0.0/24,fd00::/64', '10.2.0.0/24']);
  });
});

describe("the addresses of the node's name", () => {
  it('are waited for once and not for long, and resolved once a minute at most', async () => {
    const clock = new FakeClock();
    let asked = 0;
    let changes = 0;
    let answer: (addresses: readonly string[]) => void = () => undefined;
    const name = new OwnName(
      () =>
        new Promise((resolve) => {
          asked++;
          answer = resolve;
        }),
      { onChange: () => changes++, clock, log: silentLogger },
    );
    let waited = false;
    void name.whenAsked().then(() => (waited = true));
    await clock.advance(1900);
    assert.equal(waited, false);
    await clock.advance(200);
    assert.equal(waited, true);
    answer(['10.0.0.1']);
    await clock.settle();
    assert.deepEqual([name.addresses(), changes, asked], [['10.0.0.1'], 1, 1]);
    await clock.advance(61_000);
    name.addresses();
    name.addresses();
    assert.equal(asked, 2);
  });
});
