/** Creates and deletes many pods at once. The kubelet limits its own rate; the floor sends all calls at once. */
import { pause } from '../../../src/up/processes.ts';
import { timed } from '../bench-context.ts';
import { summarize } from '../report.ts';
import type { ClusterContext } from './context.ts';
import { rawPod } from './context.ts';

const TIMEOUT_MS = 180_000;

interface Round {
  readonly wallMs: number;
  readonly medianMs: number;
  readonly removeMs: number;
}

interface OwnRound extends Round {
  /** The requests for one pod from its creation to its removal; undefined if the kubelet does not count them. */
  readonly requests: number | undefined;
  /** Processor time per pod: until all were ready, and from the deletion to the removal. */
  readonly startCpuMs: number;
  readonly removeCpuMs: number;
  readonly events: number;
}

export async function measureBurst(context: ClusterContext, count: number): Promise<void> {
  const floor: Round[] = [];
  const own: OwnRound[] = [];
  for (let round = 0; round < context.options.burstRounds; round += 1) {
    floor.push(await context.member.asleep(() => floorRound(context, count, round)));
    await pause(2000);
    own.push(await ownRound(context, count, round));
    await pause(2000);
  }
  const row = (name: string, title: string, pick: (round: Round) => number, times?: number) =>
    context.add({
      name: `burst${count}-${name}`,
      title,
      unit: 'ms',
      agent: own.map(pick),
      floor: floor.map(pick),
      ...(times === undefined ? {} : { target: { kind: 'floorTimes', value: times } as const }),
    });
  row('wall', `${count} pods created at once -> all Ready`, ({ wallMs }) => wallMs, 1.05);
  row('median', '  of which: the median pod', ({ medianMs }) => medianMs, 0.6);
  row('delete', `${count} pods deleted at once -> all gone`, ({ removeMs }) => removeMs);
  const cost = (name: string, title: string, unit: 'ms' | 'events', agent: readonly number[]) =>
    context.add({ name: `burst${count}-${name}`, title, unit, agent, floor: [] });
  cost(
    'cpu-start',
    '  processor time of one pod until Ready',
    'ms',
    own.map(({ startCpuMs }) => startCpuMs),
  );
  cost(
    'cpu-delete',
    '  processor time of one pod from deletion to gone',
    'ms',
    own.map(({ removeCpuMs }) => removeCpuMs),
  );
  cost(
    'events',
    '  changes of one pod that a watch shows',
    'events',
    own.map(({ events }) => events),
  );
  const requests = own.flatMap((round) => round.requests ?? []);
  if (requests.length > 0) cost('requests', '  API requests of one pod, created to gone', 'events', requests);
}

async function floorRound(context: ClusterContext, count: number, round: number): Promise<Round> {
  const pods = Array.from({ length: count }, (_, index) => rawPod(context, `raw-burst-${count}-${round}-${index}`));
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

async function ownRound({ member, board }: ClusterContext, count: number, round: number): Promise<OwnRound> {
  const names = Array.from({ length: count }, (_, index) => `burst-${count}-${round}-${index}`);
  const before = { requests: await member.apiRequests(), cpuMs: member.cpuMs(), events: board.events };
  const ready = Promise.all(names.map((name) => board.ready(name, TIMEOUT_MS)));
  const sentMs = await board.create(names);
  const times = (await ready).map(({ atMs }) => atMs - sentMs);
  await pause(2000);
  const between = member.cpuMs();
  const gone = Promise.all(names.map((name) => board.deleted(name, TIMEOUT_MS)));
  const askedMs = await board.delete(names);
  const lastMs = Math.max(...(await gone).map(({ atMs }) => atMs));
  await pause(2000);
  const after = { requests: await member.apiRequests(), cpuMs: member.cpuMs() };
  return {
    wallMs: Math.max(...times),
    medianMs: summarize(times).median,
    removeMs: lastMs - askedMs,
    startCpuMs: (between - before.cpuMs) / count,
    removeCpuMs: (after.cpuMs - between) / count,
    requests:
      before.requests === undefined || after.requests === undefined
        ? undefined
        : (after.requests - before.requests) / count,
    events: (board.events - before.events) / count,
  };
}
