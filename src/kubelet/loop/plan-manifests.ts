import { podFullName, podKey } from '../../api/pod.ts';
import type { Pod } from '../../api/core/pod.ts';
import { sameContent } from '../../base/same-content.ts';
import type { ManifestRules } from '../features/pod-config/manifest-reader.ts';
import { formatProblem, readManifest } from '../features/pod-config/manifest-reader.ts';
import type { PodRuntime } from '../features/pod-runtime/pod-runtime.ts';
import { describeStep } from '../features/pod-runtime/plan/steps.ts';
import type { PodStore } from '../features/pod-store/pod-store.ts';
import type { RuntimeCache } from '../features/pleg/runtime-cache.ts';
import { podUid } from '../model/ids.ts';
import { emptyPodRuntimeStatus } from '../model/runtime-status.ts';

export interface ManifestPlanParts {
  readonly store: Pick<PodStore, 'byFullName'>;
  readonly cache: Pick<RuntimeCache, 'getOrEmpty'>;
  readonly podRuntime: Pick<PodRuntime, 'plan'>;
  readonly rules: ManifestRules;
  /** The monotonic time. */
  readonly nowMs: number;
}

/** The steps for one pod, one sentence for each, or the reason why there are none. */
export interface ManifestPlan {
  readonly pod: string;
  readonly steps: readonly string[];
  readonly problems: readonly string[];
}

/**
 * Plans the steps for each pod of the manifests, as if they were in the manifest folder. Problems of the text come
 * first, under a pod named `manifest`.
 */
export function planManifests(text: string, parts: ManifestPlanParts): ManifestPlan[] {
  const manifest = readManifest(text, { kind: 'file', path: 'manifest' }, parts.rules);
  const problems = [...manifest.errors, ...manifest.warnings].map(formatProblem);
  const planned = manifest.pods.map((pod) => planPod(pod, parts));
  return problems.length === 0 ? planned : [{ pod: 'manifest', steps: [], problems }, ...planned];
}

function planPod(wanted: Pod, { store, cache, podRuntime, nowMs }: ManifestPlanParts): ManifestPlan {
  const present = store.byFullName(podFullName(wanted));
  const isSame = present !== undefined && sameContent(present.spec, wanted.spec);
  const pod = isSame ? present : wanted;
  const identity = { uid: podUid(pod.metadata.uid), name: pod.metadata.name, namespace: pod.metadata.namespace };
  const actual = isSame ? cache.getOrEmpty(identity) : emptyPodRuntimeStatus(identity, nowMs);
  const { steps, waits } = podRuntime.plan(pod, actual);
  const replace =
    present !== undefined && !isSame ? ['stop the pod that runs under this name now (its manifest differs)'] : [];
  const later = waits.map((wait) => `later: start container ${wait.container}, because ${wait.why}`);
  return { pod: podKey(pod), steps: [...replace, ...steps.map(describeStep), ...later], problems: [] };
}
