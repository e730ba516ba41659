import { setAgentFacts } from '../../features/metrics/agent-facts.ts';
import { observeCertificates } from '../../features/metrics/certificate-figures.ts';
import { collectFigures } from '../../features/metrics/collect-figures.ts';
import { noteClientRequest } from '../../features/metrics/client-requests.ts';
import { noteEnds } from '../../features/metrics/container-life.ts';
import { metricsEndpoints } from '../../features/metrics/metrics-endpoints.ts';
import { observePodStatuses } from '../../features/metrics/pod-statuses.ts';
import { observeProcess } from '../../features/metrics/process-usage.ts';
import { noteRuntimeCall } from '../../features/metrics/runtime-calls.ts';
import type { DiskFacts } from '../../features/stats/disk-facts.ts';
import { gzipText } from '../../features/stats/gzip-text.ts';
import { compressedAnswer } from '../../features/stats/stats-endpoints.ts';
import { gateStates } from '../../model/config/feature-gates.ts';
import { buildLabels } from '../flags/flags-version.ts';
import type { Given } from './kubelet-parts.ts';

/** Connects the metrics that are not counted at their source: from events of other parts, or read at a scrape. */
export function composeMetrics(
  parts: Given<
    | 'cache'
    | 'states'
    | 'admission'
    | 'pleg'
    | 'allocation'
    | 'cpuManager'
    | 'volumes'
    | 'csi'
    | 'dra'
    | 'nodeShutdown'
    | 'podCredentials'
  >,
  disks: DiskFacts | undefined,
): ReturnType<typeof metricsEndpoints> {
  const { settings, platform, changes, observation, store, cache, admission } = parts;
  const { metrics, starts, probes } = observation;
  parts.records.statuses.onChange(observePodStatuses(observation, (uid) => admission.verdictOn(uid)));
  changes.onGone(({ metadata }) => {
    starts.podGone(metadata.uid);
    probes.podGone(metadata.uid);
  });
  cache.onChange(({ uid, before, after }) => noteEnds(metrics, store.byUid(uid), before, after));
  platform.observe?.runtimeCalls(({ op, durationMs, errorKind }) =>
    noteRuntimeCall(metrics, { op, durationMs, failed: errorKind !== undefined }),
  );
  platform.cluster?.observe?.((seen) => noteClientRequest(metrics, seen));
  metrics.main.collectOnce(() =>
    setAgentFacts(metrics, {
      nodeName: platform.machine.nodeName,
      cgroupVersion: platform.cgroups.version,
      isRuntimeOutdated: platform.isRuntimeOutdated === true,
      build: buildLabels(),
      gates: gateStates(settings.config.gates),
    }),
  );
  collectFigures(metrics, {
    ...parts,
    claims: parts.dra.manager,
    podCertificates: parts.podCredentials.certificates,
    plugins: parts.csi.plugins,
    disks,
    clock: platform.clock,
  });
  const ownUsage = platform.observe?.ownUsage;
  if (ownUsage !== undefined) observeProcess(metrics, ownUsage);
  const certificates = platform.observe?.certificates;
  if (certificates !== undefined) observeCertificates(metrics, certificates);
  return metricsEndpoints({ metrics, answer: (request, text) => compressedAnswer(gzipText, request, text) });
}
