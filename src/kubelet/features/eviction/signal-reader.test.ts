import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { FsUse } from '../../ports/stats.ts';
import type { SignalReaderParts } from './signal-reader.ts';
import { SignalReader } from './signal-reader.ts';

interface Machine {
  readonly memory?: Readonly<Record<string, number>>;
  readonly podsLimit?: number | undefined;
  readonly tasks?: { readonly current: number; readonly limit: number };
  readonly inodes?: number;
  /** The device of each path. */
  readonly devices?: Readonly<Record<string, string>>;
  readonly imageFs?: () => Promise<{ mountpoint: string } | undefined>;
  readonly containerFs?: () => Promise<{ mountpoint: string } | undefined>;
  readonly podsGroup?: string | undefined;
  readonly separateDisks?: boolean;
  readonly fileSystem?: (path: string) => Promise<FsUse>;
}

function readerOf(machine: Machine): SignalReader {
  const { memory = {}, tasks = { current: 10, limit: 100 }, inodes = 50, devices = {} } = machine;
  const fs = async (path: string): Promise<FsUse> => ({
    atMs: 0,
    capacityBytes: 1000 + path.length,
    availableBytes: 400,
    freeBytes: 450,
    inodes,
    inodesFree: 20,
  });
  const sources: SignalReaderParts['sources'] = {
    groups: {
      memory: (path) => (memory[path] === undefined ? undefined : { workingSetBytes: memory[path] }),
      limits: () => ('podsLimit' in machine && machine.podsLimit === undefined ? undefined : limitsOf(machine)),
      tasks: () => tasks,
    },
    fs: { fileSystem: machine.fileSystem ?? fs, device: async (path) => devices[path] ?? 'vda' },
    runtime: {
      imageFs: machine.imageFs ?? (async () => ({ mountpoint: '/images' })),
      ...(machine.containerFs && { containerFs: machine.containerFs }),
    },
    machine: { memoryBytes: 1000 },
  };
  const podsGroup = 'podsGroup' in machine ? machine.podsGroup : '/pods';
  const { separateDisks = true } = machine;
  const parts = { sources, podsGroup, separateDisks, rootDir: '/root' };
  return new SignalReader({ ...parts, monotonicMs: () => 5, log: recordingLog() });
}

const limitsOf = ({ podsLimit = Infinity }: Machine) => ({ memoryBytes: podsLimit });

describe('memory', () => {
  const both = { '/': 300, '/pods': 200 };
  const node = ['memory.available', { available: 700, capacity: 1000, atMs: 5 }];

  it('of the node and of the pods is what their groups do not use', () => {
    const reader = readerOf({ memory: both, podsLimit: 500 });
    assert.deepEqual(reader.readNow('memory'), [
      node,
      ['allocatableMemory.available', { available: 300, capacity: 500, atMs: 5 }],
    ]);
  });

  it('is never less than nothing', () => {
    const reader = readerOf({ memory: { '/': 1200, '/pods': 600 }, podsLimit: 500 });
    assert.deepEqual(
      reader.readNow('memory').map(([, { available, capacity }]) => [available, capacity]),
      [
        [0, 1000],
        [0, 600],
      ],
    );
  });

  for (const [what, machine] of [
    ['the pods have no limit', { memory: both }],
    ['their limit is not known', { memory: both, podsLimit: undefined }],
    ['their group is not known', { memory: { '/': 300 }, podsLimit: 500 }],
    ['pods have no groups', { memory: both, podsLimit: 500, podsGroup: undefined }],
  ] as const)
    it(`of the pods is unknown when ${what}`, () => assert.deepEqual(readerOf(machine).readNow('memory'), [node]));

  it('that cannot be read is no signal', () => assert.deepEqual(readerOf({}).readNow('memory'), []));
});

describe('processes', () => {
  it('are what the machine can start', () => {
    assert.deepEqual(readerOf({}).readNow('pids'), [['pid.available', { available: 90, capacity: 100, atMs: 5 }]]);
  });

  it('are no signal where there is no limit, or the number is unknown', () => {
    assert.deepEqual(readerOf({ tasks: { current: 1, limit: Infinity } }).readNow('pids'), []);
    assert.deepEqual(readerOf({ tasks: { current: Number.NaN, limit: 100 } }).readNow('pids'), []);
  });
});

describe('file systems', () => {
  const own = { devices: { '/root': 'vda', '/images': 'vdb', '/containers': 'vdc' } };
  const containerFs = async () => ({ mountpoint: '/containers' });

  it('are read where the root directory, the images and the containers are', async () => {
    const reader = readerOf({ ...own, containerFs });
    for (const [source, path] of [
      ['nodefs', '/root'],
      ['imagefs', '/images'],
      ['containerfs', '/containers'],
    ] as const)
      assert.deepEqual(await reader.readDisk(source), [
        [`${source}.available`, { available: 400, capacity: 1000 + path.length, atMs: 5 }],
        [`${source}.inodesFree`, { available: 20, capacity: 50, atMs: 5 }],
      ]);
  });

  it('without a fixed number of inodes have no signal for them', async () => {
    assert.deepEqual(
      (await readerOf({ inodes: 0 }).readDisk('nodefs')).map(([signal]) => signal),
      ['nodefs.available'],
    );
  });

  for (const [layout, machine] of [
    ['shared', {}],
    ['dedicated', own],
    ['split', { ...own, containerFs }],
    ['split', { containerFs, devices: { '/images': 'vdb' } }],
    ['dedicated', { ...own, containerFs, separateDisks: false }],
  ] as const)
    it(`are ${layout} with ${JSON.stringify(machine)}`, async () => {
      const reader = readerOf(machine);
      assert.equal(reader.layout, undefined);
      assert.deepEqual([await reader.findLayout(), reader.layout], [layout, layout]);
    });

  it('that cannot be read, or that the runtime does not name, are no signal, and are asked for again', async () => {
    const failing = async (): Promise<never> => Promise.reject(new Error('no'));
    assert.deepEqual(await readerOf({ fileSystem: failing }).readDisk('nodefs'), []);
    const answers: { mountpoint: string }[] = [];
    const reader = readerOf({ imageFs: async () => answers[0] });
    assert.deepEqual([await reader.readDisk('imagefs'), await reader.findLayout()], [[], 'shared']);
    answers.push({ mountpoint: '/images' });
    assert.equal((await reader.readDisk('imagefs')).length, 2);
    const broken = readerOf({ imageFs: failing });
    assert.deepEqual([await broken.findLayout(), await broken.readDisk('imagefs')], ['shared', []]);
  });
});
