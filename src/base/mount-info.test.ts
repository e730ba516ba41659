import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mountOf, parseMountInfo } from './mount-info.ts';

test('escaped names and optional fields are read, invalid lines are skipped', () => {
  const found = parseMountInfo(
    '27 1 254:0 / /a\\040b\\134c rw shared:1 master:2 - ext4 /dev/vda rw,prjquota\nnonsense\n1 2 0:1 / /x rw -\n\n' +
      '28 27 0:25 /sub /m rw - nfs4 srv:/x\\011y rw,vers=4',
  );
  assert.deepEqual(found, [
    {
      id: 27,
      device: '254:0',
      path: '/a b\\c',
      fsType: 'ext4',
      source: '/dev/vda',
      shared: true,
      superOptions: ['rw', 'prjquota'],
    },
    {
      id: 28,
      device: '0:25',
      path: '/m',
      fsType: 'nfs4',
      source: 'srv:/x\ty',
      shared: false,
      superOptions: ['rw', 'vers=4'],
    },
  ]);
});

test('a path is on the last of the deepest mounts, and not on one that only has a common prefix', () => {
  const mounts = parseMountInfo(
    ['/', '/data', '/data/x', '/data'].map((path, id) => `${id} 0 0:1 / ${path} rw - tmpfs t rw`).join('\n'),
  );
  const idAt = (path: string) => mountOf(mounts, path)?.id;
  assert.deepEqual([idAt('/data'), idAt('/data/y'), idAt('/data/x/z'), idAt('/database')], [3, 3, 2, 0]);
  assert.equal(mountOf(mounts.slice(1), '/database'), undefined);
});
