import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { AgentMetrics } from './agent-metrics.ts';

interface MeasuredVolume {
  readonly volume: { claim?: { namespace: string; name: string } | undefined };
  readonly usage: {
    capacityBytes?: number | undefined;
    availableBytes?: number | undefined;
    usedBytes?: number | undefined;
    inodes?: number | undefined;
    inodesFree?: number | undefined;
    inodesUsed?: number | undefined;
    abnormal?: { abnormal: boolean } | undefined;
  };
}

/** Returns the measured usage of volumes and logs, by pod. */
export interface MeasuredDisks {
  readonly volumes: ReadonlyMap<string, readonly MeasuredVolume[]>;
  readonly pods: ReadonlyMap<string, { logs: Iterable<readonly [string, { usedBytes: number }]> }>;
}

/** Shows the last measurement at each scrape. A scrape of this endpoint measures nothing. */
export function collectDisks(
  { main }: Pick<AgentMetrics, 'main'>,
  disks: MeasuredDisks,
  runtimePods: Iterable<PodRuntimeStatus>,
): void {
  const names = ['capacity_bytes', 'available_bytes', 'used_bytes', 'inodes', 'inodes_free', 'inodes_used'] as const;
  for (const name of [...names, 'health_status_abnormal'] as const) main.clear(`kubelet_volume_stats_${name}`);
  main.clear('kubelet_container_log_filesystem_used_bytes');
  for (const facts of disks.volumes.values()) {
    for (const { volume, usage } of facts) {
      if (volume.claim === undefined) continue;
      const labels = { namespace: volume.claim.namespace, persistentvolumeclaim: volume.claim.name };
      const values = [
        usage.capacityBytes,
        usage.availableBytes,
        usage.usedBytes,
        usage.inodes,
        usage.inodesFree,
        usage.inodesUsed,
      ];
      names.forEach((name, index) => main.set(`kubelet_volume_stats_${name}`, labels, values[index] ?? 0));
      if (usage.abnormal !== undefined)
        main.set('kubelet_volume_stats_health_status_abnormal', labels, usage.abnormal.abnormal ? 1 : 0);
    }
  }
  for (const status of runtimePods) {
    for (const [container, { usedBytes }] of disks.pods.get(status.uid)?.logs ?? [])
      main.set(
        'kubelet_container_log_filesystem_used_bytes',
        { uid: status.uid, namespace: status.namespace, pod: status.name, container },
        usedBytes,
      );
  }
}

/** Observes the time to measure a volume, by method. */
export function observeVolumeMeasurements({
  main,
}: Pick<AgentMetrics, 'main'>): (source: string, durationMs: number) => void {
  return (source, durationMs) =>
    main.observe('kubelet_volume_metric_collection_duration_seconds', { metric_source: source }, durationMs / 1000);
}
