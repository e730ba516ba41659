/**
 * Fifty and a hundred idle pods: the kubelet's cost, and the cost of one response with the statistics of all of them.
 */
import { pause } from '../../../src/up/processes.ts';
import type { ClusterContext } from './context.ts';
import { wants } from './context.ts';

const TIMEOUT_MS = 300_000;
const RSS_PERIOD_MS = 2000;
const LEVELS = [
  { pods: 50, mcpu: 20, mib: 110, managed: { mcpu: 8, mib: 125 } },
  { pods: 100, mcpu: 30, mib: 130, managed: { mcpu: 14, mib: 125 } },
] as const;
/** Longer than a kubelet caches responses for concurrent clients. */
const BETWEEN_SCRAPES_MS = 1500;
const SCRAPE_EVERY_MS = 15_000;
const SCRAPE_LIMIT_MS = 100;
/** The goal: 5 % of a core for one response every 15 s. */
const SCRAPE_LIMIT_MCPU = 50;

/** Rows `steady` and `scrape`; they use the same pods. */
export async function measureSteady(context: ClusterContext): Promise<void> {
  const { board } = context;
  const names: string[] = [];
  for (const level of LEVELS) {
    const more = Array.from({ length: level.pods - names.length }, (_, index) => `many-${names.length + index}`);
    context.say(`starting ${more.length} pods`);
    const ready = Promise.all(more.map((name) => board.ready(name, TIMEOUT_MS)));
    await board.create(more);
    await ready;
    names.push(...more);
    if (wants(context, 'steady')) await measureLevel(context, level);
  }
  if (wants(context, 'scrape'))
    for (const path of ['/metrics/cadvisor', '/metrics/resource', '/stats/summary', '/metrics'])
      await measureScrape(context, path);
  context.say(`removing ${names.length} pods`);
  const gone = Promise.all(names.map((name) => board.deleted(name, TIMEOUT_MS)));
  await board.delete(names);
  await gone;
}

async function measureLevel(context: ClusterContext, level: (typeof LEVELS)[number]): Promise<void> {
  const { member, options } = context;
  const { pods } = level;
  const { mcpu, mib } = options.managers ? level.managed : level;
  context.say(`settling for ${options.settleSeconds} s, then steady for ${options.idleSeconds} s`);
  await pause(options.settleSeconds * 1000);
  const begin = { atMs: performance.now(), cpuMs: member.cpuMs() };
  const resident: number[] = [];
  while (performance.now() - begin.atMs < options.idleSeconds * 1000) {
    resident.push(member.residentMib());
    await pause(RSS_PERIOD_MS);
  }
  const seconds = (performance.now() - begin.atMs) / 1000;
  const used = (member.cpuMs() - begin.cpuMs) / seconds;
  context.add({
    name: `steady${pods}-cpu`,
    title: `steady with ${pods} pods: processor`,
    unit: 'mcpu',
    agent: [used],
    floor: [],
    target: { kind: 'atMost', value: mcpu },
  });
  context.add({
    name: `steady${pods}-rss`,
    title: `steady with ${pods} pods: memory (RSS)`,
    unit: 'MiB',
    agent: resident,
    floor: [],
    target: { kind: 'atMost', value: mib },
  });
}

async function measureScrape(context: ClusterContext, path: string): Promise<void> {
  const { member, options } = context;
  const times: number[] = [];
  await member.get(path, { packed: true });
  const beforeMs = member.cpuMs();
  for (let scrape = 0; scrape < options.scrapes; scrape += 1) {
    await pause(BETWEEN_SCRAPES_MS);
    const startMs = performance.now();
    const { status, body } = await member.get(path, { packed: true });
    times.push(performance.now() - startMs);
    if (status !== 200) throw new Error(`${path} answered ${status}: ${body.toString('utf8', 0, 300)}`);
  }
  const used = (member.cpuMs() - beforeMs) / options.scrapes / (SCRAPE_EVERY_MS / 1000);
  context.add({
    name: `scrape${path}`,
    title: `${path} with 100 pods`,
    unit: 'ms',
    agent: times,
    floor: [],
    target: { kind: 'atMost', value: SCRAPE_LIMIT_MS },
  });
  context.add({
    name: `scrape${path}-cpu`,
    title: '  processor at one in 15 s',
    unit: 'mcpu',
    agent: [used],
    floor: [],
    target: { kind: 'atMost', value: SCRAPE_LIMIT_MCPU },
  });
}
