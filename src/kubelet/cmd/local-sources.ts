import { KubeletError } from '../../base/errors.ts';
import { findContainer, podFullName, podKey } from '../../api/pod.ts';
import type { Pod } from '../../api/core/pod.ts';
import { sameContent } from '../features/pod-config/canonical-json.ts';
import { formatProblem, readManifest } from '../features/pod-config/manifest-reader.ts';
import { describeStep } from '../features/pod-runtime/plan/steps.ts';
import type { HealthCheck } from '../features/server/health-app.ts';
import type { LogQuery } from '../features/server/log-query.ts';
import type { ExecRequest, LocalApiSources, PlannedPod, Problem } from '../features/server/local-api.ts';
import type { ContainerTarget } from '../features/server/pod-routes.ts';
import { podUid } from '../model/ids.ts';
import type { PodRuntimeStatus } from '../model/runtime-status.ts';
import { emptyPodRuntimeStatus, isAnythingRunning, newestContainer } from '../model/runtime-status.ts';
import type { Kubelet } from './compose/compose-kubelet.ts';
import { observedChecks } from '../features/metrics/observation.ts';

/** What the local API shows of this agent. */
export function localSources(kubelet: Kubelet): LocalApiSources {
  return {
    pods: () => knownPods(kubelet).map((pod) => presented(kubelet, pod)),
    runningPods: () => [...kubelet.cache.all()].filter(isAnythingRunning).map(runningPod),
    config: () => kubelet.settings.config.versioned,
    explain: () => kubelet.explain.explainAll(),
    events: () => kubelet.recorder.list(),
    problems: () => [...runtimeProblems(kubelet), ...kubelet.sources.problems()],
    plan: async (text) => plan(kubelet, text),
    containerLog: (target, query, signal) => containerLog(kubelet, { target, query, signal }),
    exec: (target, request) => exec(kubelet, target, request),
    watch: (onChange) => watch(kubelet, onChange),
    checks: healthChecks(kubelet),
    scrape: kubelet.scrape,
  };
}

/**
 * Pods of which something can be said. One without a published status may run and be ready, unless the runtime was read
 * and holds no container of it: to show it as Pending would be a flap. `explain` has it, with what it waits for.
 */
function knownPods(kubelet: Kubelet): Pod[] {
  const waiting = new Set(kubelet.queue.waitingPods().map((pod) => pod.metadata.uid));
  return kubelet.directory.visible().filter(({ metadata }) => {
    const uid = podUid(metadata.uid);
    if (kubelet.records.statuses.get(uid) !== undefined) return true;
    const holdsNothing = kubelet.cache.isRead(uid) && (kubelet.cache.get(uid)?.containers ?? []).length === 0;
    return holdsNothing && !waiting.has(metadata.uid);
  });
}

/** While these stand no pod is taken up, so no pod could tell of them. */
function runtimeProblems(kubelet: Kubelet): Problem[] {
  return kubelet.monitor
    .runtimeErrors()
    .map((error) => ({ message: `no pod is started or changed: ${error}`, blocking: true }));
}

export function healthChecks(kubelet: Kubelet): Record<string, HealthCheck> {
  return observedChecks(kubelet.observation, {
    ping: () => undefined,
    log: () => undefined,
    syncloop: () => {
      const health = kubelet.loop.health();
      return health.ok ? undefined : health.reason;
    },
  });
}

/**
 * The pod with its latest status; one that is being stopped because its source dropped it carries the time of that, as
 * a deleted pod does.
 */
function presented(kubelet: Kubelet, pod: Pod): Pod {
  const uid = podUid(pod.metadata.uid);
  const state = kubelet.workers.stateOf(uid);
  const status = kubelet.records.statuses.get(uid) ?? pod.status;
  const ending =
    (state?.phase === 'terminating' || state?.phase === 'terminated') && state.termination.cause !== 'completed';
  if (!ending || pod.metadata.deletionTimestamp !== undefined) return { apiVersion: 'v1', kind: 'Pod', ...pod, status };
  const deletionTimestamp = new Date(kubelet.workers.sinceMs(uid) ?? kubelet.platform.clock.nowMs()).toISOString();
  return { apiVersion: 'v1', kind: 'Pod', ...pod, metadata: { ...pod.metadata, deletionTimestamp }, status };
}

/** Upstream: kubecontainer.Pod.ToAPIPod — what can be told without the spec. */
function runningPod(runtime: PodRuntimeStatus): Pod {
  const running = runtime.containers.filter((container) => container.state === 'running');
  const { uid, name, namespace } = runtime;
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { uid, name, namespace },
    spec: { containers: running.map((container) => ({ name: container.name, image: container.image })) },
    status: {},
  };
}

function watch(kubelet: Kubelet, onChange: (change: { type: 'MODIFIED' | 'DELETED'; pod: Pod }) => void): () => void {
  const stopStatus = kubelet.records.statuses.onChange(({ pod }) =>
    onChange({ type: 'MODIFIED', pod: presented(kubelet, pod) }),
  );
  const stopGone = kubelet.changes.onGone((pod) => onChange({ type: 'DELETED', pod }));
  return () => {
    stopStatus();
    stopGone();
  };
}

/** What would be done for each pod of the manifests if they stood in the folder now. */
function plan(kubelet: Kubelet, text: string): PlannedPod[] {
  const manifest = readManifest(text, { kind: 'file', path: 'manifest' }, kubelet.sources.rules);
  const problems = [...manifest.errors, ...manifest.warnings].map(formatProblem);
  const planned = manifest.pods.map((pod) => planPod(kubelet, pod));
  return problems.length === 0 ? planned : [{ pod: 'manifest', steps: [], problems }, ...planned];
}

function planPod(kubelet: Kubelet, wanted: Pod): PlannedPod {
  const present = kubelet.store.byFullName(podFullName(wanted));
  const isSame = present !== undefined && sameContent(present.spec, wanted.spec);
  const pod = isSame ? present : wanted;
  const identity = { uid: podUid(pod.metadata.uid), name: pod.metadata.name, namespace: pod.metadata.namespace };
  const actual = isSame
    ? kubelet.cache.getOrEmpty(identity)
    : emptyPodRuntimeStatus(identity, kubelet.platform.clock.monotonicMs());
  const { steps, waits } = kubelet.podRuntime.plan(pod, actual);
  const replace =
    present !== undefined && !isSame ? [`stop the pod that runs under this name now (its manifest differs)`] : [];
  const later = waits.map((wait) => `later: start container ${wait.container}, because ${wait.why}`);
  return { pod: podKey(pod), steps: [...replace, ...steps.map(describeStep), ...later], problems: [] };
}

function findPod(kubelet: Kubelet, target: ContainerTarget): Pod {
  const pod = kubelet.directory
    .visible()
    .find((candidate) => candidate.metadata.name === target.pod && candidate.metadata.namespace === target.namespace);
  if (pod === undefined) throw new KubeletError('NotFound', `pod "${target.pod}" does not exist`);
  return pod;
}

async function containerLog(
  kubelet: Kubelet,
  request: { target: ContainerTarget; query: LogQuery; signal: AbortSignal },
): Promise<AsyncIterable<Uint8Array>> {
  const { target, query, signal } = request;
  const pod = findPod(kubelet, target);
  const { uid, name, namespace } = pod.metadata;
  if (findContainer(pod, target.container) === undefined)
    throw new KubeletError('NotFound', `container "${target.container}" not found in pod "${name}"`);
  const status = kubelet.records.statuses.get(podUid(uid));
  const all = [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ];
  const waitingReason = all.find((container) => container.name === target.container)?.state?.waiting?.reason;
  return kubelet.logReader.read(
    {
      pod: { uid, name, namespace },
      container: target.container,
      runtime: kubelet.cache.get(podUid(uid)),
      waitingReason,
    },
    query,
    signal,
  );
}

async function exec(kubelet: Kubelet, target: ContainerTarget, request: ExecRequest): Promise<string> {
  const pod = findPod(kubelet, target);
  const name = target.container === '' ? (pod.spec.containers[0]?.name ?? '') : target.container;
  const runtime = kubelet.cache.get(podUid(pod.metadata.uid));
  const container = runtime === undefined ? undefined : newestContainer(runtime, name);
  if (container?.state !== 'running')
    throw new KubeletError('NotFound', `container "${name}" of pod ${podKey(pod)} is not running`);
  return kubelet.platform.runtime.execUrl({
    id: container.id,
    command: request.command,
    tty: request.tty,
    stdin: request.stdin,
    stdout: true,
    stderr: !request.tty,
  });
}
