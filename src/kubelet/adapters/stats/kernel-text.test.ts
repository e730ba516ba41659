import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  keyedNumber,
  limitOf,
  parseBlkio,
  parseDisks,
  parseInterfaces,
  parseIoStat,
  parseOpenFilesLimit,
  parsePressure,
} from './kernel-text.ts';

const device = (major: number, minor: number): string => (major === 253 ? `/dev/vd${'ab'[minor] ?? '?'}` : '');

describe("the kernel's texts", () => {
  it('have numbers by key, and only by the whole key', () => {
    const stat = 'cache 11522048\nrss 17195008\ntotal_inactive_file 536576\ninactive_file 7\n';
    assert.deepEqual(
      ['cache', 'inactive_file', 'total_inactive_file', 'file', 'rss', 'swap'].map((key) => keyedNumber(stat, key)),
      [11_522_048, 7, 536_576, 0, 17_195_008, 0],
    );
  });

  it('have several forms of "no limit"', () => {
    assert.deepEqual(['max\n', '-1', '9223372036854771712\n', '67108864\n', '0'].map(limitOf), [
      Infinity,
      Infinity,
      Infinity,
      67_108_864,
      0,
    ]);
    assert.equal(limitOf(undefined), Infinity);
  });

  it('show how long tasks were stalled', () => {
    const text =
      'some avg10=1.25 avg60=0.50 avg300=0.10 total=123456\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=99\n';
    assert.deepEqual(parsePressure(text), {
      some: { totalUs: 123_456, avg10: 1.25, avg60: 0.5, avg300: 0.1 },
      full: { totalUs: 99, avg10: 0, avg60: 0, avg300: 0 },
    });
    assert.deepEqual([parsePressure(undefined), parsePressure('')], [undefined, undefined]);
    // On older kernels the CPU pressure of a whole machine has no second line.
    assert.equal(parsePressure('some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n')?.full.totalUs, 0);
  });

  it('contain reads and writes of each disk, in both versions', () => {
    const v1 =
      '253:0 Read 4096\n253:0 Write 8192\n253:0 Sync 0\n253:0 Async 12288\n253:0 Discard 0\n253:0 Total 12288\n7:0 Read 1\nTotal 12289\n';
    assert.deepEqual(
      parseBlkio(v1, device).map((each) => [
        each.device,
        each.major,
        each.minor,
        each.counts.get('Read'),
        each.counts.get('Write') ?? null,
      ]),
      [
        ['/dev/vda', 253, 0, 4096, 8192],
        ['', 7, 0, 1, null],
      ],
    );
    const { bytes, operations } = parseIoStat(
      '253:1 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n7:0 \n',
      device,
    );
    assert.deepEqual(
      bytes.map((each) => [each.device, Object.fromEntries(each.counts)]),
      [
        ['/dev/vdb', { Read: 10, Write: 20, Discard: 0 }],
        ['', {}],
      ],
    );
    assert.deepEqual(Object.fromEntries(operations[0]?.counts ?? []), { Read: 1, Write: 2, Discard: 0 });
  });

  it('contain the traffic of the interfaces that matter to a pod', () => {
    const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 14241062607 16092821    0    0    0     0          0         0 14241062607 16092821    0    0    0     0       0          0
  eth0: 1732419038   43905    1    2    0     0          0         0  3962222   29798    3    4    0     0       0          0
vethab: 1 1 1 1 0 0 0 0 1 1 1 1 0 0 0 0
`;
    assert.deepEqual(parseInterfaces(text), [
      {
        name: 'eth0',
        rxBytes: 1_732_419_038,
        rxPackets: 43_905,
        rxErrors: 1,
        rxDropped: 2,
        txBytes: 3_962_222,
        txPackets: 29_798,
        txErrors: 3,
        txDropped: 4,
      },
    ]);
  });

  it('contain disks and limits of processes', () => {
    const [disk] = parseDisks(' 253       0 vda 100 2 300 40 500 6 700 80 9 100 110 0 0 0 0 0 0\n');
    assert.deepEqual(
      [
        disk?.device,
        disk?.reads,
        disk?.readsMerged,
        disk?.sectorsRead,
        disk?.readMs,
        disk?.writes,
        disk?.inProgress,
        disk?.weightedIoMs,
      ],
      ['/dev/vda', 100, 2, 300, 40, 500, 9, 110],
    );
    assert.equal(
      parseOpenFilesLimit(
        'Max processes             63704                63704                processes \nMax open files            1024                 524288               files     \n',
      ),
      1024,
    );
    assert.equal(
      parseOpenFilesLimit('Max open files            unlimited            unlimited            files     \n'),
      -1,
    );
  });
});
