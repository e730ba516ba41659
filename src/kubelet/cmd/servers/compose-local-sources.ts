import { readEvictionReport } from '../../features/eviction/eviction-reporter.ts';
import { observedChecks } from '../../features/metrics/observation.ts';
import { ContainerLookup } from '../../features/server/container-lookup.ts';
import type { HealthCheck } from '../../features/server/health-app.ts';
import type { LocalApiSources } from '../../features/server/local-api.ts';
import { createLocalCommands } from '../../features/server/local-commands.ts';
import { planManifests } from '../../loop/plan-manifests.ts';
import { PublishedPods } from '../../loop/published-pods.ts';
import type { Kubelet } from '../compose/compose-kubelet.ts';

/** Connects the local API to this agent. */
export function composeLocalSources(kubelet: Kubelet): LocalApiSources {
  const { platform, records, cache, monitor, nodeShutdown, sources } = kubelet;
  const { clock, runtime } = platform;
  const { statuses } = records;
  const published = new PublishedPods({
    ...kubelet,
    statuses,
    standalone: platform.cluster === undefined,
    nowMs: () => clock.nowMs(),
  });
  const lookup = new ContainerLookup(kubelet);
  return {
    pods: () => published.pods(),
    runningPods: () => published.runningPods(),
    watch: (onChange) => published.watch(onChange),
    config: () => kubelet.settings.config.versioned,
    eviction: () => readEvictionReport(kubelet.eviction?.reporter),
    imageGc: () => kubelet.imageGc.preview(),
    explain: () => kubelet.explain.explainAll(),
    events: () => kubelet.recorder.list(),
    problems: () => [...monitor.problems(), ...nodeShutdown.problems(), ...sources.problems()],
    plan: async (text) => planManifests(text, { ...kubelet, rules: sources.rules, nowMs: clock.monotonicMs() }),
    ...createLocalCommands({ lookup, cache, statuses, runtime, logs: kubelet.logReader }),
    checks: composeHealthChecks(kubelet),
    scrape: kubelet.scrape,
  };
}

export function composeHealthChecks(kubelet: Kubelet): Readonly<Record<string, HealthCheck>> {
  return observedChecks(kubelet.observation, {
    ping: () => undefined,
    log: () => undefined,
    syncloop: () => kubelet.loop.problem(),
    'device-plugin': () => kubelet.devices.problem(),
  });
}
