import type { AgentMetrics } from './agent-metrics.ts';

type Main = Pick<AgentMetrics, 'main'>;

const known = (value: boolean | undefined): string => (value === undefined ? 'unknown' : String(value));

/** One request for an image; fields are undefined when they were not determined. */
export function noteEnsured(
  { main }: Main,
  {
    policy,
    wasPresent,
    pullWasNeeded,
  }: { policy: string; wasPresent: boolean | undefined; pullWasNeeded: boolean | undefined },
): void {
  main.count('kubelet_image_manager_ensure_image_requests_total', {
    pull_policy: policy.toLowerCase(),
    present_locally: known(wasPresent),
    pull_required: known(pullWasNeeded),
  });
}

/** Upstream: image_pull_manager.go, the size of its caches. */
const MOST_INTENTS = 1024;
const MOST_RECORDS = 2000;

/** Records of pulled images. All of them are in memory; the percentage is of upstream's cache size. */
export function countPullRecords(
  { main }: Main,
  { intents, records }: { intents: number; records: number },
  { maxPods, maxParallelPulls }: { maxPods: number; maxParallelPulls: number },
): void {
  main.set('kubelet_imagemanager_ondisk_pullintents', {}, intents);
  main.set('kubelet_imagemanager_ondisk_pulledrecords', {}, records);
  main.set(
    'kubelet_imagemanager_inmemory_pullintents_usage_percent',
    {},
    percent(intents, Math.min(MOST_INTENTS, Math.max(2 * maxPods, 2 * maxParallelPulls))),
  );
  main.set(
    'kubelet_imagemanager_inmemory_pulledrecords_usage_percent',
    {},
    percent(records, Math.min(MOST_RECORDS, 5 * maxPods)),
  );
}

function percent(count: number, most: number): number {
  return most <= 0 ? 0 : Math.min(100, (count / most) * 100);
}
