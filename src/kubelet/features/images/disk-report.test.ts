import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DiskFacts } from './disk-report.ts';
import { describeDiskUse } from './disk-report.ts';

const GIB = 1024 ** 3;
const facts: DiskFacts = {
  mountpoint: '/data',
  usedPercent: 91,
  capacityBytes: 100 * GIB,
  usedBytes: 91 * GIB,
  freedBytes: 512,
  runtimeBytes: 10 * GIB,
  imagesInUse: [],
  consumers: [],
};
const inUse = (more: Partial<DiskFacts>): string =>
  (describeDiskUse({ ...facts, ...more }).split('In use on /data: ')[1] ?? '').slice(0, -1);

test("the report begins with upstream's words and says how full the disk is and what was freed", () => {
  assert.match(
    describeDiskUse(facts),
    /^Insufficient free disk space on the node's image filesystem \(91% of 100\.0 GiB used\)\. Failed to free sufficient space by deleting unused images \(freed 512 bytes\)\./,
  );
});

test('it names what takes room, the largest first, and what the agent does not know', () => {
  const consumers = [
    { what: 'logs', bytes: 20 * GIB },
    { what: 'nothing', bytes: 0 },
    { what: 'volumes', bytes: 1536 },
  ];
  assert.equal(
    inUse({ consumers }),
    '20.0 GiB logs; 10.0 GiB images and container layers; 1.5 KiB volumes; 61.0 GiB other data that the agent does not manage',
  );
});

test('it names the largest writable layers beside the images, without counting them twice', () => {
  const consumers = [{ what: 'default/db/app', bytes: 2 * GIB, isLayer: true }];
  const imagesInUse = [{ name: 'web', bytes: GIB }];
  assert.equal(
    inUse({ usedBytes: 10 * GIB, consumers, imagesInUse }),
    '10.0 GiB images and container layers (largest images in use: web 1.0 GiB; largest layers: default/db/app 2.0 GiB)',
  );
});

test('it says nothing of other data when all is known', () => {
  assert.equal(inUse({ usedBytes: 10 * GIB }), '10.0 GiB images and container layers');
  assert.equal(inUse({ usedBytes: 9 * GIB }), '10.0 GiB images and container layers');
});

test('it names the three largest images in use', () => {
  const imagesInUse = [300, 1024, 5000, 200].map((bytes) => ({ name: `i${bytes}`, bytes }));
  assert.equal(
    inUse({ usedBytes: 10 * GIB, imagesInUse }),
    '10.0 GiB images and container layers (largest images in use: i5000 4.9 KiB, i1024 1.0 KiB, i300 300 B)',
  );
});

test('sizes beyond a thousand tebibytes stay tebibytes', () => {
  assert.match(describeDiskUse({ ...facts, capacityBytes: 2048 * 1024 * GIB }), /91% of 2048\.0 TiB used/);
});
