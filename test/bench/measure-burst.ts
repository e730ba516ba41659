/** Thirty pods at once, and their deletion: the agent limits its own rate; the floor sends all calls at once. */
import { pause, waitUntil } from '../../src/up/processes.ts';
import { podName } from './bench-agent.ts';
import type { BenchContext } from './bench-context.ts';
import { countInRuntime, timed } from './bench-context.ts';
import { RawPod } from './raw-pod.ts';
import { summarize } from './report.ts';

const PODS = 30;
const TIMEOUT_MS = 120_000;

interface Round {
  readonly wallMs: number;
  readonly medianMs: number;
  readonly removeMs: number;
}

export async function measureBurst(context: BenchContext): Promise<void> {
  const floor: Round[] = [];
  const own: Round[] = [];
  for (let round = 0; round < context.options.burstRounds; round += 1) {
    floor.push(await context.agent.asleep(() => floorRound(context, round)));
    await pause(1000);
    own.push(await agentRound(context, round));
    await pause(1000);
  }
  const row = (name: string, title: string, pick: (round: Round) => number, times?: number) =>
    context.add({
      name,
      title,
      unit: 'ms',
      agent: own.map(pick),
      floor: floor.map(pick),
      ...(times === undefined ? {} : { target: { kind: 'floorTimes', value: times } as const }),
    });
  row('burst-wall', `${PODS} pods at once -> all Ready`, ({ wallMs }) => wallMs, 1);
  row('burst-median', '  of which: the median pod', ({ medianMs }) => medianMs, 0.6);
  row('burst-delete', `${PODS} pods deleted at once -> all gone`, ({ removeMs }) => removeMs);
}

async function floorRound({ containerd }: BenchContext, round: number): Promise<Round> {
  const pods = Array.from({ length: PODS }, (_, index) => new RawPod(containerd, `raw-burst-${round}-${index}`));
  const startMs = performance.now();
  const times = await Promise.all(
    pods.map(async (pod) => {
      await pod.run();
      return performance.now() - startMs;
    }),
  );
  await pause(1000);
  const removeMs = await timed(() => Promise.all(pods.map((pod) => pod.remove())));
  return { wallMs: Math.max(...times), medianMs: summarize(times).median, removeMs };
}

async function agentRound(context: BenchContext, round: number): Promise<Round> {
  const { agent } = context;
  const names = Array.from({ length: PODS }, (_, index) => `burst-${round}-${index}`);
  const placedMs = agent.stage(names)();
  const times = (await Promise.all(names.map((name) => agent.watch.ready(podName(name), TIMEOUT_MS)))).map(
    ({ atMs }) => atMs - placedMs,
  );
  await pause(1000);
  const removedMs = agent.withdraw(names);
  await Promise.all(names.map((name) => agent.watch.deleted(podName(name), TIMEOUT_MS)));
  if (!(await waitUntil(async () => (await countInRuntime(context)) === 0, TIMEOUT_MS, 20)))
    throw new Error('containers of deleted pods are still in the runtime');
  return { wallMs: Math.max(...times), medianMs: summarize(times).median, removeMs: performance.now() - removedMs };
}
