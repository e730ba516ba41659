// npm run bench -- eviction: how soon a crossed threshold is noticed, with this agent's readings and with one every 10
// s as upstream has them, while a process takes 200 MB/s in a limited cgroup; and the cost of one round over 250 pods.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { silentLogger } from '../../../src/base/log.ts';
import { systemClock, sleep } from '../../../src/base/clock.ts';
import { buildPod } from '../../../src/api/testing/pod-builder.ts';
import { createLinuxCgroups } from '../../../src/kubelet/adapters/cgroups/create-cgroups.ts';
import { detectCgroupLayout } from '../../../src/kubelet/adapters/cgroups/linux-cgroups-fs.ts';
import { LinuxProcessGroups } from '../../../src/kubelet/adapters/cgroups/linux-process-groups.ts';
import { readMountInfo } from '../../../src/kubelet/adapters/files/linux-mountinfo.ts';
import { LinuxGroupStats } from '../../../src/kubelet/adapters/stats/linux-group-stats.ts';
import { PodUsage } from '../../../src/kubelet/features/eviction/pod-usage.ts';
import { rankPods, selectVictim } from '../../../src/kubelet/features/eviction/rank-pods.ts';
import { SignalReader } from '../../../src/kubelet/features/eviction/signal-reader.ts';
import { SignalReadings } from '../../../src/kubelet/features/eviction/signal-readings.ts';
import { parseThresholds } from '../../../src/kubelet/features/eviction/thresholds.ts';

const MB = 1e6;
const LIMIT_BYTES = 1200 * MB;
const THRESHOLD_BYTES = 200 * MB;
const HOG_BYTES_PER_MS = 200_000;
const UPSTREAM_PERIOD_MS = 10_000;
const ROUNDS = 5;
const PODS = 250;
const ROOT = `/kts-evict-${process.pid}`;

/** Takes memory at the given rate until the kernel or the benchmark kills it. */
const HOG = `
const kept = []; const began = performance.now(); let taken = 0;
setInterval(() => { const wanted = (performance.now() - began) * ${HOG_BYTES_PER_MS};
  while (taken < wanted) { kept.push(Buffer.alloc(4e6, 1)); taken += 4e6; } }, 5);`;

const layout = detectCgroupLayout(await readMountInfo());
const groups = new LinuxGroupStats({ layout, nowMs: () => Date.now() });
const cgroups = await createLinuxCgroups('cgroupfs');
const members = new LinuxProcessGroups({ layout });
const monotonicMs = (): number => performance.now();
const available = (): number => LIMIT_BYTES - (groups.memory(`${ROOT}/hog`)?.workingSetBytes ?? 0);

interface Result {
  /** Milliseconds from the crossing until it was noticed; undefined if the kernel killed a process first. */
  lateMs: number | undefined;
  reads: number;
}

async function startHog(): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['-e', `process.stdin.once('data', () => { ${HOG} })`], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  await sleep(systemClock, 300);
  await members.move(child.pid ?? 0, `${ROOT}/hog`);
  return child;
}

/** The pause before the process starts: it may start at any time between two readings. */
async function round(readings: SignalReadings | undefined, phaseMs: number): Promise<Result> {
  const child = await startHog();
  let ended = false;
  child.once('exit', () => (ended = true));
  let nextMs = monotonicMs();
  const hogMs = monotonicMs() + phaseMs;
  let crossedMs: number | undefined;
  let hogStarted = false;
  const result: Result = { lateMs: undefined, reads: 0 };
  while (!ended && result.lateMs === undefined) {
    const nowMs = monotonicMs();
    if (!hogStarted && nowMs >= hogMs) hogStarted = child.stdin?.write('go') ?? true;
    if (available() < THRESHOLD_BYTES) crossedMs ??= nowMs;
    if (nowMs >= nextMs) {
      result.reads++;
      readings?.readDue();
      nextMs = nowMs + (readings?.pauseMs() ?? UPSTREAM_PERIOD_MS);
      const seen = readings?.all.get('allocatableMemory.available')?.available ?? available();
      if (seen < THRESHOLD_BYTES) result.lateMs = nowMs - (crossedMs ?? nowMs);
    }
    await sleep(systemClock, 2);
  }
  child.kill('SIGKILL');
  if (!ended) await new Promise((resolve) => child.once('exit', resolve));
  return result;
}

function adaptive(): SignalReadings {
  const thresholds = parseThresholds(
    { hard: { 'allocatableMemory.available': String(THRESHOLD_BYTES) }, soft: {}, softGraceMs: {}, minimumReclaim: {} },
    false,
  );
  const reader = new SignalReader({
    sources: {
      groups,
      fs: { fileSystem: () => Promise.reject(new Error('unused')), device: () => Promise.resolve('') },
      runtime: { imageFs: () => Promise.resolve(undefined) },
      machine: { memoryBytes: LIMIT_BYTES },
    },
    podsGroup: `${ROOT}/hog`,
    rootDir: '/',
    monotonicMs,
    log: silentLogger,
  });
  return new SignalReadings({ reader, thresholds: () => thresholds, monotonicMs, onRead: () => undefined });
}

async function measureRound(): Promise<number[]> {
  const pods = Array.from({ length: PODS }, (_, index) =>
    buildPod({ 'metadata.name': `p${index}`, 'metadata.uid': `p${index}`, 'spec.priority': index % 3 }),
  );
  for (const { metadata } of pods) await cgroups.ensure(`${ROOT}/pods/${metadata.uid}`, {});
  const parts = {
    runningPods: () =>
      pods.map(({ metadata }) => ({ uid: metadata.uid, path: `${ROOT}/pods/${metadata.uid}`, containers: [] })),
    groups,
    diskUse: () => Promise.resolve(new Map()),
  };
  const times: number[] = [];
  for (let turn = 0; turn < 10; turn++) {
    const before = process.cpuUsage();
    const usage = PodUsage.ofGroups(parts);
    selectVictim(rankPods(pods, 'memory.available', (pod) => usage.of(pod, 'memory.available')));
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  for (const { metadata } of pods) await cgroups.remove(`${ROOT}/pods/${metadata.uid}`);
  return times.toSorted((left, right) => left - right);
}

const shown = ({ lateMs, reads }: Result): string =>
  lateMs === undefined ? `killed by the kernel (${reads} reads)` : `${Math.round(lateMs)} ms (${reads} reads)`;

try {
  await cgroups.ensure(`${ROOT}/hog`, { memoryBytes: LIMIT_BYTES });
  process.stdout.write(`a hog of 200 MB/s: from the crossing of the threshold until it is noticed\n`);
  for (let turn = 0; turn < ROUNDS; turn++) {
    const phaseMs = 300 + turn * 700;
    const [own, fixed] = [await round(adaptive(), phaseMs), await round(undefined, phaseMs)];
    process.stdout.write(`  this agent ${shown(own)}, each 10 s ${shown(fixed)}\n`);
  }
  const times = await measureRound();
  process.stdout.write(
    `one round over ${PODS} pods: ${times[5]?.toFixed(1)} ms of processor time, at most ${times.at(-1)?.toFixed(1)} ms\n`,
  );
} finally {
  for (const name of [`${ROOT}/hog`, `${ROOT}/pods`, ROOT]) await cgroups.remove(name).catch(() => undefined);
}
