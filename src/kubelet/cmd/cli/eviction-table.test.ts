import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EvictionReport } from '../../model/eviction-report.ts';
import { evictionText } from './eviction-table.ts';

const MiB = 2 ** 20;
const report: EvictionReport = {
  signals: [
    {
      signal: 'memory.available',
      resource: 'memory',
      available: 300 * MiB,
      capacity: 8192 * MiB,
      ageMs: 3,
      thresholds: [
        { kind: 'hard', amount: 100 * MiB, graceMs: 0, minimumReclaim: 0, metForMs: undefined },
        { kind: 'soft', amount: 500 * MiB, graceMs: 90_000, minimumReclaim: 0, metForMs: 30_400 },
      ],
    },
    { signal: 'pid.available', resource: 'pids', available: 29_000, capacity: 30_000, ageMs: 3, thresholds: [] },
  ],
  conditions: [{ type: 'MemoryPressure', forMs: 299_500 }],
  leaving: undefined,
  reclaimable: { containers: 2, images: 3, imageBytes: 700 * MiB },
  rankings: [
    {
      signal: 'memory.available',
      resource: 'memory',
      first: 'default/hog',
      pods: [
        { pod: 'default/hog', usage: 900 * MiB, request: 100 * MiB, priority: 0, spared: false },
        { pod: 'default/new', usage: undefined, request: 0, priority: 0, spared: false },
        { pod: 'kube-system/dns', usage: 50 * MiB, request: 70 * MiB, priority: 2_000_000_000, spared: true },
      ],
    },
  ],
};

test('the report is printed as tables with the distance to each threshold', () => {
  assert.equal(
    evictionText(report),
    `SIGNAL             AVAILABLE   CAPACITY   THRESHOLD    LEFT     STATE
memory.available   300Mi       8192Mi     hard 100Mi   200Mi    ok
memory.available   300Mi       8192Mi     soft 500Mi   -200Mi   met: pods are evicted in 1m0s
pid.available      29000       30000      -            -        no threshold

MemoryPressure stays for at least 5m0s

before any pod, disk space is taken from 2 ended containers and 3 unused images (700Mi)

for memory.available: default/hog would be evicted first
RANK   POD               USES      REQUEST   ABOVE   PRIORITY     
1      default/hog       900Mi     100Mi     800Mi   0            
2      default/new       unknown   0         -       0            
3      kube-system/dns   50Mi      70Mi      0       2000000000   never evicted
`,
  );
});

test('a node without pressure and without a pod to evict says so', () => {
  const calm = {
    ...report,
    conditions: [],
    leaving: 'default/gone',
    rankings: [{ ...report.rankings[0], first: undefined, pods: [] }],
  };
  const text = evictionText(calm as EvictionReport);
  assert.match(text, /default\/gone is being evicted; the next pod can be evicted after its end\n/);
  assert.match(text, /for memory\.available: no pod would be evicted\n$/);
  assert.match(evictionText({ ...report, conditions: [] }), /\nthe node is not under pressure\n/);
});
