import type { AgentMetrics } from './agent-metrics.ts';

type Main = Pick<AgentMetrics, 'main'>;

const known = (value: boolean | undefined): string => (value === undefined ? 'unknown' : String(value));

/** Counts one request for an image. Fields are undefined if they were not determined. */
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

/** The size of upstream's caches (upstream: image_pull_manager.go). */
const MOST_INTENTS = 1024;
const MOST_RECORDS = 2000;

/**
 * Sets the number of records of pulled images. All of them are in memory; the percentage is relative to upstream's
 * cache size.
 */
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
