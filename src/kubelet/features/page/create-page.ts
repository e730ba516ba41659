import type { Hono } from 'hono';
import type { Pod } from '../../../api/core/pod.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { computePageState } from './compute-page-state.ts';
import { computePageUsage } from './compute-page-usage.ts';
import type { CounterRecord } from './compute-page-usage.ts';
import { LoginAttempts } from './login-attempts.ts';
import type { ReadLog } from './log-streams.ts';
import { createPageApp } from './page-app.ts';
import { PageAssets } from './page-assets.ts';
import type { ReadAsset } from './page-assets.ts';
import { PageFeed } from './page-feed.ts';
import { PageGuard } from './page-guard.ts';
import type { RequestGuard } from '../../ports/request-guard.ts';
import { PageSessions } from './page-sessions.ts';
import type { PageMeasuredPod, PageSources } from './page-sources.ts';
import type { PageState, PageUsage } from './page-state.ts';
import type { Capacities } from './compute-thresholds.ts';

export interface CreatePageParts<Measured extends PageMeasuredPod> {
  readonly sources: PageSources<Measured>;
  readonly readLog: ReadLog;
  readonly readAsset: ReadAsset;
  /** The guard of the kubelet's server; undefined if no client can authenticate there. */
  readonly guard: RequestGuard | undefined;
  /** The token that the login accepts; undefined if there is none. */
  readonly token: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export interface NodePage {
  readonly app: Hono;
  readonly guard: PageGuard;
  readonly feed: PageFeed;
}

/** Creates the page of the node. It opens no port: the caller serves it and provides TLS. */
export function createPage<Measured extends PageMeasuredPod>(parts: CreatePageParts<Measured>): NodePage {
  const { sources, readLog, readAsset, guard: serverGuard, token, clock, random, log } = parts;
  const sessions = new PageSessions(() => clock.monotonicMs());
  const attempts = new LoginAttempts(() => clock.monotonicMs());
  const guard = new PageGuard({ guard: serverGuard, token, sessions, attempts });
  const feed = new PageFeed({
    sample: sampler(sources, clock),
    state: () => stateOf(sources),
    watch: sources.watch,
    clock,
    random,
    log,
  });
  const explain = (uid: string): ReturnType<PageSources['explain']> | undefined => {
    const pod = sources.pods().find(({ metadata }) => metadata.uid === uid);
    return pod === undefined ? undefined : sources.explain(pod);
  };
  const app = createPageApp({
    assets: new PageAssets(readAsset),
    feed,
    guard,
    sessions,
    explain,
    evictionReport: sources.evictionReport,
    readLog,
    clock,
  });
  return { app, guard, feed };
}

function stateOf<Measured extends PageMeasuredPod>(sources: PageSources<Measured>): PageState {
  const explained = (pod: Pod): { pod: Pod; explanation: ReturnType<PageSources['explain']> } => ({
    pod,
    explanation: sources.explain(pod),
  });
  return computePageState({
    ...sources,
    node: sources.node(),
    pods: sources.pods().map(explained),
    problems: sources.problems(),
    capacities: capacitiesOf(sources),
  });
}

function capacitiesOf<Measured extends PageMeasuredPod>({ machine, disks, tasks }: PageSources<Measured>): Capacities {
  const { rootFs, imageFs } = disks ?? {};
  return new Map([
    ['memory.available', machine?.memoryBytes],
    ['nodefs.available', rootFs?.capacityBytes],
    ['nodefs.inodesFree', rootFs?.inodes],
    ['imagefs.available', imageFs?.fs.capacityBytes],
    ['imagefs.inodesFree', imageFs?.fs.inodes],
    ['pid.available', tasks()?.limit],
  ]);
}

/** Creates the sampler. Each sample computes its rates from the counters of the previous one. */
function sampler<Measured extends PageMeasuredPod>(
  { stats, disks, tasks, interfaces }: PageSources<Measured>,
  clock: Clock,
): () => Promise<PageUsage> {
  let counters: CounterRecord = new Map();
  return async () => {
    const measured = stats?.measuredPods() ?? [];
    // A sample shows the known disk figures and does not wait for new ones.
    void disks?.ask(measured);
    const pods = (await stats?.sample(measured, 'all')) ?? [];
    const computed = computePageUsage(
      {
        atMs: clock.nowMs(),
        root: stats?.look('/', 'all'),
        interfaces: interfaces(),
        tasks: tasks(),
        pods,
        disks,
      },
      counters,
    );
    ({ counters } = computed);
    return computed.usage;
  };
}
