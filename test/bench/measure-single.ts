/**
 * Measures one pod at a time: start, deletion, crash, exit. Floor and agent alternate, so that changes of the machine's
 * speed affect both.
 */
import { pause, waitUntil } from '../../src/up/processes.ts';
import type { BenchContext } from './bench-context.ts';
import { countInRuntime, timed } from './bench-context.ts';
import { podName } from './bench-agent.ts';
import type { Change } from './pod-watch.ts';
import { containerPid, RawPod } from './raw-pod.ts';
import { isTerminalPhase } from '../../src/api/pod.ts';

/** The pause between two steps of a sample, so that the effects of the first one end. */
const REST_MS = 100;
const GONE_TIMEOUT_MS = 90_000;

interface RawSample {
  run(): Promise<void>;
  remove(): Promise<void>;
}

export interface StartRows {
  /** The prefix of row names, and the suffix of their titles. */
  readonly prefix: string;
  readonly suffix: string;
  /** The floor: the same pod by calls of the runtime. */
  readonly raw: (name: string) => RawSample;
  readonly upstream?: string;
}

/** Rows `start` and `delete`. */
export async function measureStartAndDelete(
  context: BenchContext,
  { prefix, suffix, raw: rawPod, upstream }: StartRows = {
    prefix: '',
    suffix: '',
    raw: (name) => new RawPod(context.containerd, name),
    upstream: 'floor + 400 ms',
  },
): Promise<void> {
  const { agent, options } = context;
  const floor = { start: [] as number[], remove: [] as number[] };
  const own = { start: [] as number[], remove: [] as number[], reported: [] as number[] };
  // Sample 0 warms both up and is not counted.
  for (let sample = 0; sample <= options.samples; sample += 1) {
    await agent.asleep(async () => {
      const raw = rawPod(`raw-start-${sample}`);
      const startMs = await timed(() => raw.run());
      await pause(REST_MS);
      const removeMs = await timed(() => raw.remove());
      if (sample === 0) return;
      floor.start.push(startMs);
      floor.remove.push(removeMs);
    });
    const name = `start-${sample}`;
    const placedMs = agent.stage([name])();
    const ready = await agent.watch.ready(podName(name));
    await pause(REST_MS);
    const gone = await removeAndWait(context, name);
    await pause(REST_MS);
    if (sample === 0) continue;
    own.start.push(ready.atMs - placedMs);
    own.remove.push(gone.allMs);
    own.reported.push(gone.reportedMs);
  }
  context.add({
    name: `${prefix}start`,
    title: `manifest written -> Ready${suffix}`,
    unit: 'ms',
    agent: own.start,
    floor: floor.start,
    target: { kind: 'floorPlus', value: 60 },
    ...(upstream !== undefined && { upstream }),
  });
  context.add({
    name: `${prefix}delete`,
    title: `manifest removed -> all gone${suffix}`,
    unit: 'ms',
    agent: own.remove,
    floor: floor.remove,
  });
  context.add({
    name: `${prefix}delete-reported`,
    title: '  of which: pod reported gone',
    unit: 'ms',
    agent: own.reported,
    floor: [],
  });
}

/**
 * Removes the manifest. Measures the time until the agent reports the pod as gone, and until the runtime has nothing of
 * it.
 */
async function removeAndWait(context: BenchContext, name: string): Promise<{ reportedMs: number; allMs: number }> {
  const { agent } = context;
  const removedMs = agent.withdraw([name]);
  const deleted = await agent.watch.deleted(podName(name));
  if (!(await waitUntil(async () => (await countInRuntime(context, podName(name))) === 0, GONE_TIMEOUT_MS, 5))) {
    throw new Error(
      `pod ${name} was reported gone, and its containers are still in the runtime after ${GONE_TIMEOUT_MS / 1000} s`,
    );
  }
  return { reportedMs: deleted.atMs - removedMs, allMs: performance.now() - removedMs };
}

/** Row `restart`: a new pod for each sample, because a second crash of the same pod waits (CrashLoopBackOff). */
export async function measureRestart(context: BenchContext): Promise<void> {
  const { agent, containerd, options } = context;
  const floor: number[] = [];
  const own: number[] = [];
  for (let sample = 0; sample <= options.samples; sample += 1) {
    await agent.asleep(async () => {
      const raw = new RawPod(containerd, `raw-restart-${sample}`);
      await raw.run();
      await pause(REST_MS);
      await raw.killContainer();
      const startMs = await timed(() => raw.startContainer());
      await raw.remove();
      if (sample > 0) floor.push(startMs);
    });
    const name = `restart-${sample}`;
    agent.stage([name])();
    const first = containerOf(await agent.watch.ready(podName(name)));
    await pause(REST_MS);
    const pid = await containerPid(containerd.cri, first);
    const killedMs = performance.now();
    process.kill(pid, 'SIGKILL');
    const again = await agent.watch.until(
      podName(name),
      (change) => isRunning(change) && containerOf(change) !== first,
      30_000,
    );
    if (sample > 0) own.push(again.atMs - killedMs);
    await removeAndWait(context, name);
  }
  context.add({
    name: 'restart',
    title: 'container killed -> running again',
    unit: 'ms',
    agent: own,
    floor,
    target: { kind: 'floorPlus', value: 60 },
    upstream: '700..1200 ms',
  });
}

/**
 * Row `exit`: alternately killed from outside (Failed) and ended on SIGTERM (Succeeded). The floor is the runtime's own
 * status.
 */
export async function measureExit(context: BenchContext): Promise<void> {
  const { agent, containerd, options } = context;
  const floor: number[] = [];
  const own: number[] = [];
  for (let sample = 0; sample <= options.samples; sample += 1) {
    await agent.asleep(async () => {
      const raw = new RawPod(containerd, `raw-exit-${sample}`);
      await raw.run();
      await pause(REST_MS);
      const exitMs = await timed(() => raw.killContainer());
      await raw.remove();
      if (sample > 0) floor.push(exitMs);
    });
    const name = `exit-${sample}`;
    const [signal, phase] = sample % 2 === 0 ? (['SIGKILL', 'Failed'] as const) : (['SIGTERM', 'Succeeded'] as const);
    agent.stage([name], 'Never')();
    const first = containerOf(await agent.watch.ready(podName(name)));
    await pause(REST_MS);
    const pid = await containerPid(containerd.cri, first);
    const signalledMs = performance.now();
    process.kill(pid, signal);
    const ended = await agent.watch.until(podName(name), ({ pod }) => isTerminalPhase(pod.status?.phase), 30_000);
    if (ended.pod.status?.phase !== phase)
      context.note(`exit: sample ${sample}: after ${signal} the phase is ${ended.pod.status?.phase}, not ${phase}`);
    if (sample > 0) own.push(ended.atMs - signalledMs);
    await removeAndWait(context, name);
  }
  context.add({
    name: 'exit',
    title: 'process exits -> phase',
    unit: 'ms',
    agent: own,
    floor,
    target: { kind: 'atMost', value: 60 },
    upstream: '1900 ms',
  });
}

function containerOf({ pod }: Change): string {
  const id = pod.status?.containerStatuses?.[0]?.containerID?.replace(/^.*:\/\//, '');
  if (id === undefined || id === '') throw new Error(`pod ${pod.metadata.name} is Ready without a container id`);
  return id;
}

function isRunning({ pod }: Change): boolean {
  return pod.status?.containerStatuses?.[0]?.state?.running !== undefined;
}
