// npm run bench -- scrape: what an answer of each endpoint of statistics costs with 100 pods, on groups of this machine
// with a process each.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type { CgroupLayout } from '../../../src/kubelet/adapters/cgroups/linux-cgroups-fs.ts';
import { detectCgroupLayout, kernelCgroupFs } from '../../../src/kubelet/adapters/cgroups/linux-cgroups-fs.ts';
import { LinuxCgroups } from '../../../src/kubelet/adapters/cgroups/linux-cgroups.ts';
import { readMountInfo } from '../../../src/kubelet/adapters/files/linux-mountinfo.ts';
import { linuxFsStats } from '../../../src/kubelet/adapters/stats/linux-fs-stats.ts';
import { LinuxGroupStats } from '../../../src/kubelet/adapters/stats/linux-group-stats.ts';
import { readMachineIdentity } from '../../../src/kubelet/adapters/stats/machine-identity.ts';
import { gzipText } from '../../../src/kubelet/features/stats/gzip-text.ts';
import { DiskFacts } from '../../../src/kubelet/features/stats/disk-facts.ts';
import { statsEndpoints } from '../../../src/kubelet/features/stats/stats-endpoints.ts';
import { StatsProvider } from '../../../src/kubelet/features/stats/stats-provider.ts';
import { containerId, podUid, sandboxId } from '../../../src/kubelet/model/ids.ts';
import type { PodRuntimeStatus } from '../../../src/kubelet/model/runtime-status.ts';

const PODS = 100;
const ROUNDS = 15;
const ROOT = `/kts-scrape-${process.pid}`;
/** The goals for every endpoint: milliseconds, and the share of a core at one response every 15 s. */
const LIMIT_MS = 100;
const LIMIT_SHARE = 0.05;
const BETWEEN_MS = 15_000;

/** Ids are as long as real ones, because they are most of the text. */
const idOf = (kind: string, index: number): string => `${kind}${index}`.padEnd(64, '0');
const uidOf = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

function podOf(index: number): PodRuntimeStatus {
  const uid = podUid(uidOf(index));
  const common = { createdAtMs: 1, attempt: 0, labels: {}, annotations: {} };
  return {
    uid,
    name: `bench-${index}`,
    namespace: 'default',
    observedAtMs: 0,
    sandboxes: [
      {
        ...common,
        id: sandboxId(idOf('5', index)),
        podUid: uid,
        podName: `bench-${index}`,
        podNamespace: 'default',
        ready: true,
        ips: [],
        hostNetwork: false,
        runtimeHandler: '',
      },
    ],
    containers: [
      {
        ...common,
        id: containerId(idOf('c', index)),
        sandboxId: sandboxId(idOf('5', index)),
        name: 'main',
        state: 'running',
        startedAtMs: 1,
        finishedAtMs: 0,
        exitCode: 0,
        reason: '',
        message: '',
        image: 'localhost/bench:1',
        imageRef: '',
        imageId: '',
        logPath: '',
      },
    ],
  };
}

const podPath = (index: number): string => `${ROOT}/burstable/pod${uidOf(index)}`;

async function makeGroups(layout: CgroupLayout): Promise<{ cgroups: LinuxCgroups; processes: ChildProcess[] }> {
  const cgroups = new LinuxCgroups({ layout, driver: 'cgroupfs' });
  const processes: ChildProcess[] = [];
  const trees = layout.version === 2 ? [layout.root] : layout.hierarchies.map(({ mountPath }) => mountPath);
  for (let index = 0; index < PODS; index++) {
    for (const id of [idOf('5', index), idOf('c', index)]) {
      const path = `${podPath(index)}/${id}`;
      await cgroups.ensure(path, {
        cpuShares: 102,
        cpuQuotaUs: 20_000,
        cpuPeriodUs: 100_000,
        memoryBytes: 64 * 1024 * 1024,
      });
      const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
      processes.push(child);
      for (const tree of trees)
        await kernelCgroupFs.write(`${tree}${path}/cgroup.procs`, String(child.pid)).catch(() => undefined);
    }
  }
  return { cgroups, processes };
}

async function measure(layout: CgroupLayout): Promise<boolean> {
  const nowMs = (): number => Date.now();
  const pods = Array.from({ length: PODS }, (_, index) => podOf(index));
  const indexOf = new Map(pods.map(({ uid }, index) => [uid as string, index]));
  const noDisks = { writableLayers: () => Promise.resolve(new Map()), imageFs: () => Promise.resolve(undefined) };
  const sources = {
    groups: new LinuxGroupStats({ layout, nowMs }),
    fs: linuxFsStats(nowMs),
    runtime: noDisks,
    machine: readMachineIdentity(),
    agentGroup: undefined,
    runtimeGroup: undefined,
  };
  const disks = new DiskFacts({
    clock: systemClock,
    log: silentLogger,
    fs: sources.fs,
    runtime: noDisks,
    rootDir: '/',
    logFolder: () => '/nowhere',
    list: () => Promise.resolve([]),
    volumes: () => [],
    volumePeriodMs: 0,
  });
  const place = (uid: string): { path: string; parent: string } => ({
    path: podPath(indexOf.get(uid) ?? 0),
    parent: podPath(indexOf.get(uid) ?? 0),
  });
  const provider = new StatsProvider({
    housekeeping: { periodMs: 10_000, longestMs: 15_000 },
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    sources,
    disks,
    nodeName: 'bench',
    runtimePods: () => pods,
    place,
    podsGroups: [ROOT, `${ROOT}/burstable`],
  });
  const endpoints = statsEndpoints({
    stats: provider,
    machine: sources.machine,
    nowMs,
    gzip: gzipText,
    log: silentLogger,
  });
  let met = true;
  console.log(
    `${PODS} pods, cgroup v${layout.version}, ${ROUNDS} rounds\n\n| endpoint | median ms | CPU ms | of a core, one in 15 s | answer | CPU ms of the first |\n|---|---|---|---|---|---|`,
  );
  for (const [endpoint, acceptEncoding] of [
    ['GET /metrics/resource', ''],
    ['GET /stats/summary', ''],
    ['GET /metrics/cadvisor', ''],
    ['GET /metrics/cadvisor', 'gzip'],
  ] as const) {
    const times: number[] = [];
    const costs: number[] = [];
    let bytes = 0;
    // The first scrape of /metrics/cadvisor reads the groups, later ones find them read by housekeeping.
    const reading = process.cpuUsage();
    await endpoints.get(endpoint)?.({ method: 'GET', query: new URLSearchParams(), acceptEncoding });
    const { user: readUser, system: readSystem } = process.cpuUsage(reading);
    for (let round = 0; round < ROUNDS; round++) {
      // Longer than answers are cached for concurrent clients.
      await new Promise((resolve) => setTimeout(resolve, 1050));
      const cpu = process.cpuUsage();
      const beganMs = performance.now();
      const answer = await endpoints.get(endpoint)?.({ method: 'GET', query: new URLSearchParams(), acceptEncoding });
      times.push(performance.now() - beganMs);
      const { user, system } = process.cpuUsage(cpu);
      costs.push((user + system) / 1000);
      bytes = answer?.body.length ?? 0;
    }
    const [time = 0, cost = 0] = [times, costs].map(
      (list) => list.sort((left, right) => left - right)[Math.floor(ROUNDS / 2)] ?? 0,
    );
    met &&= time < LIMIT_MS && cost / BETWEEN_MS < LIMIT_SHARE;
    console.log(
      `| ${endpoint.slice(4)}${acceptEncoding === '' ? '' : ', packed'} | ${time.toFixed(1)} | ${cost.toFixed(1)} | ${((cost / BETWEEN_MS) * 100).toFixed(2)} % | ${Math.round(bytes / 1024)} KiB | ${((readUser + readSystem) / 1000).toFixed(1)} |`,
    );
  }
  console.log(
    `\nmemory of this process: ${Math.round(process.memoryUsage.rss() / 1024 / 1024)} MiB; wanted: under ${LIMIT_MS} ms and ${LIMIT_SHARE * 100} % of a core: ${met ? 'met' : 'missed'}`,
  );
  return met;
}

const layout = detectCgroupLayout(await readMountInfo());
const { cgroups, processes } = await makeGroups(layout);
try {
  process.exitCode = (await measure(layout)) ? 0 : 1;
} finally {
  for (const child of processes) child.kill('SIGKILL');
  await Promise.all(
    processes.map((child) =>
      child.exitCode !== null || child.signalCode !== null
        ? undefined
        : new Promise((resolve) => child.once('exit', resolve)),
    ),
  );
  await cgroups.remove(ROOT);
}
