import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeDiskConsumers } from './disk-consumers.ts';
import type { PodDiskUse, TreeAmount } from './pod-usage.ts';

const trees = (sizes: Record<string, number>): Map<string, TreeAmount> =>
  new Map(Object.entries(sizes).map(([name, usedBytes]) => [name, { usedBytes, inodesUsed: 1 }]));
const use = (layers: Record<string, number>, logs: Record<string, number>, volumes = {}): PodDiskUse => ({
  layers: trees(layers),
  logs: trees(logs),
  volumes: trees(volumes),
  total: { usedBytes: 0, inodesUsed: 0 },
});
const uses = new Map([
  ['u1', use({ app: 500 }, { app: 1000, side: 10 }, { cache: 70 })],
  ['u2', use({ app: 900, empty: 0 }, { app: 2000 })],
  ['gone', use({}, { app: 5 })],
]);
const names: Record<string, string> = { u1: 'default/web', u2: 'default/db' };
const consumers = (layout: Parameters<typeof computeDiskConsumers>[2]) =>
  computeDiskConsumers(uses, (uid) => names[uid], layout);

test('logs and volumes are listed with their largest users, and the largest layers one by one', () => {
  assert.deepEqual(consumers('shared'), [
    { what: 'logs of containers (most: default/db/app, default/web/app, default/web/side)', bytes: 3015 },
    { what: 'volumes of pods (most: default/web/cache)', bytes: 70 },
    { what: 'default/db/app', bytes: 900, isLayer: true },
    { what: 'default/web/app', bytes: 500, isLayer: true },
  ]);
});

test('only data on the file system of images is listed', () => {
  assert.deepEqual(
    consumers('dedicated').map(({ what }) => what),
    ['default/db/app', 'default/web/app'],
  );
  assert.deepEqual(consumers('split'), []);
});
