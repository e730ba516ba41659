/** Fifty idle pods: what the agent costs, and its restart after a kill. */
import { readFileSync } from 'node:fs';
import { pause, waitUntil } from '../../src/up/processes.ts';
import { podName } from './bench-agent.ts';
import type { BenchContext } from './bench-context.ts';
import { isReady } from './pod-watch.ts';
import { processCpuMs } from './process-figures.ts';
import { summarize } from './report.ts';

const PODS = 50;
const TIMEOUT_MS = 180_000;
/** The time after a start in which late writes are counted. */
const AFTERMATH_MS = 2000;
const RSS_PERIOD_MS = 2000;
/** Calls with an effect, as containerd logs them at its default level. */
const CRI_WRITE =
  /msg="(RunPodSandbox|StopPodSandbox|RemovePodSandbox|CreateContainer|StartContainer|StopContainer|RemoveContainer|PullImage|RemoveImage|UpdateContainerResources|Exec|ExecSync)\b/;

/** Rows `idle` and `startup`; they use the same pods. */
export async function measureMany(context: BenchContext): Promise<void> {
  const { agent, options } = context;
  const names = Array.from({ length: PODS }, (_, index) => `many-${index}`);
  context.say(`starting ${PODS} pods`);
  agent.stage(names)();
  await Promise.all(names.map((name) => agent.watch.ready(podName(name), TIMEOUT_MS)));
  if (options.only.includes('idle')) await measureIdle(context);
  if (options.only.includes('startup'))
    for (let start = 0; start < options.startups; start += 1) await measureStartup(context, startupTimes(context));
  reportStartups(context);
  if (options.only.includes('startup')) await agent.openWatch();
}

async function measureIdle(context: BenchContext): Promise<void> {
  const { agent, containerd, options } = context;
  agent.closeWatch();
  context.say(`settling for ${options.settleSeconds} s, then idle for ${options.idleSeconds} s`);
  await pause(options.settleSeconds * 1000);
  const begin = { atMs: performance.now(), cpuMs: agent.cpuMs(), runtimeMs: processCpuMs(containerd.pid) };
  const resident: number[] = [];
  while (performance.now() - begin.atMs < options.idleSeconds * 1000) {
    resident.push(agent.residentMib());
    await pause(RSS_PERIOD_MS);
  }
  const seconds = (performance.now() - begin.atMs) / 1000;
  context.add({
    name: 'idle-cpu',
    title: `idle with ${PODS} pods: processor`,
    unit: 'mcpu',
    agent: [(agent.cpuMs() - begin.cpuMs) / seconds],
    floor: [],
    target: { kind: 'atMost', value: 15 },
    upstream: '34 mcpu',
  });
  context.add({
    name: 'idle-rss',
    title: `idle with ${PODS} pods: memory (RSS)`,
    unit: 'MiB',
    agent: resident,
    floor: [],
    target: { kind: 'atMost', value: 105 },
    upstream: '116 MiB',
  });
  context.add({
    name: 'idle-containerd',
    title: '  containerd meanwhile',
    unit: 'mcpu',
    agent: [(processCpuMs(containerd.pid) - begin.runtimeMs) / seconds],
    floor: [],
  });
  await agent.openWatch();
}

interface Startups {
  readonly answer: number[];
  readonly complete: number[];
}

const startups = new WeakMap<BenchContext, Startups>();

function startupTimes(context: BenchContext): Startups {
  const known = startups.get(context) ?? { answer: [], complete: [] };
  startups.set(context, known);
  return known;
}

/** Kills the agent with kill -9 and starts it again: containers, sandboxes and readiness must not change. */
async function measureStartup(context: BenchContext, times: Startups): Promise<void> {
  const { agent } = context;
  const before = {
    runtime: await runtimeState(context),
    transitions: await readySince(context),
    logLength: containerdLog(context).length,
  };
  await agent.kill();
  const startMs = performance.now();
  agent.spawn();
  let answerMs: number | undefined;
  let unready = 0;
  const complete = await waitUntil(
    async () => {
      const pods = await agent.pods().catch(() => undefined);
      if (pods === undefined) return false;
      answerMs ??= performance.now() - startMs;
      const ready = pods.filter(isReady).length;
      unready = Math.max(unready, pods.length - ready);
      return ready === PODS;
    },
    60_000,
    3,
  );
  const completeMs = performance.now() - startMs;
  if (!complete || answerMs === undefined)
    throw new Error(`after a restart of the agent not all ${PODS} pods were Ready within a minute`);
  times.answer.push(answerMs);
  times.complete.push(completeMs);
  await pause(AFTERMATH_MS);
  const writes = containerdLog(context)
    .slice(before.logLength)
    .split('\n')
    .filter((line) => CRI_WRITE.test(line));
  if (writes.length > 0)
    context.note(
      `startup: ${writes.length} CRI writes after a restart of the agent, the first: ${writes[0]?.slice(0, 200)}`,
    );
  if ((await runtimeState(context)) !== before.runtime)
    throw new Error('a restart of the agent changed containers or sandboxes');
  const after = await readySince(context);
  const flipped = [...before.transitions]
    .filter(([pod, since]) => after.get(pod) !== since)
    .map(([pod, since]) => `${pod} (${since}, then ${after.get(pod)})`);
  if (unready > 0 || flipped.length > 0)
    context.note(
      `startup: ${unready} pods were shown as not Ready after a restart of the agent; with a new transition time: ${flipped.join(', ') || 'none'}`,
    );
}

function reportStartups(context: BenchContext): void {
  const times = startups.get(context);
  if (times === undefined) return;
  context.add({
    name: 'startup',
    title: `start-up with ${PODS} pods -> all known and Ready`,
    unit: 'ms',
    agent: times.complete,
    floor: [],
    target: { kind: 'atMost', value: 1000 },
  });
  context.add({
    name: 'startup-answer',
    title: '  of which: first answer',
    unit: 'ms',
    agent: times.answer,
    floor: [],
  });
  context.say(`start-ups: median ${Math.round(summarize(times.complete).median)} ms`);
}

/** The ids, states and attempts of all containers and sandboxes in the runtime. */
async function runtimeState({ containerd }: BenchContext): Promise<string> {
  const [{ items }, { containers }] = await Promise.all([
    containerd.cri.runtime.listPodSandbox({}),
    containerd.cri.runtime.listContainers({}),
  ]);
  const lines = [
    ...items.map(({ id, state, metadata }) => `${id} ${state} ${metadata?.attempt}`),
    ...containers.map(({ id, state, metadata }) => `${id} ${state} ${metadata?.attempt}`),
  ];
  return lines.sort().join('\n');
}

async function readySince({ agent }: BenchContext): Promise<Map<string, string>> {
  const since = (conditions: { type: string; lastTransitionTime?: string }[] = []): string =>
    conditions.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '';
  return new Map((await agent.pods()).map((pod) => [pod.metadata.name, since(pod.status?.conditions)]));
}

function containerdLog({ containerd }: BenchContext): string {
  return readFileSync(containerd.instance.containerdLog, 'utf8');
}
