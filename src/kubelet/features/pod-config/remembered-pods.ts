import type { Pod } from '../../../api/core/pod.ts';
import { isMirrorPod, isTerminalPhase } from '../../../api/pod.ts';
import { sameContent } from './canonical-json.ts';

/** One line of the record: a pod as it is now, or that it is gone. */
type Line = { pod: Pod } | { gone: string };

/**
 * The pods of this node as the API server had them last, for an agent that starts while the API server is away.
 * What is kept of a status is what others said; the agent's own words are on record elsewhere, and may be there late: of a pod that is over, all is kept.
 */
export class RememberedPods {
  readonly #byUid = new Map<string, Pod>();
  readonly #record: (line: Line) => void;

  /** `found` is what an earlier run recorded, line by line; `record` gets what there is to add to it. */
  constructor(found: readonly unknown[], record: (line: Line) => void) {
    this.#record = record;
    for (const line of found.filter(isLine)) {
      if ('gone' in line) this.#byUid.delete(line.gone);
      else this.#byUid.set(line.pod.metadata.uid, line.pod);
    }
  }

  pods(): Pod[] {
    return [...this.#byUid.values()];
  }

  /** All there is in the API now. */
  replace(pods: readonly Pod[]): void {
    const kept = new Set(pods.map((pod) => pod.metadata.uid));
    for (const uid of [...this.#byUid.keys()]) if (!kept.has(uid)) this.forget(uid);
    for (const pod of pods) this.note(pod);
  }

  note(pod: Pod): void {
    // Static pods come from their manifests, whoever shows them.
    if (isMirrorPod(pod)) return;
    const kept = reduced(pod);
    const before = this.#byUid.get(pod.metadata.uid);
    if (before !== undefined && sameContent(before, kept)) return;
    this.#byUid.set(pod.metadata.uid, kept);
    this.#record({ pod: kept });
  }

  forget(uid: string): void {
    if (this.#byUid.delete(uid)) this.#record({ gone: uid });
  }

  snapshot(): Line[] {
    return this.pods().map((pod) => ({ pod }));
  }
}

function reduced(pod: Pod): Pod {
  const { resourceVersion: _resourceVersion, ...metadata } = pod.metadata;
  if (isTerminalPhase(pod)) return { ...pod, metadata };
  const { phase, reason, message, startTime, qosClass, conditions } = pod.status ?? {};
  return { ...pod, metadata, status: { phase, reason, message, startTime, qosClass, conditions } };
}

function isLine(value: unknown): value is Line {
  if (typeof value !== 'object' || value === null) return false;
  if ('gone' in value) return typeof value.gone === 'string';
  if (!('pod' in value) || typeof value.pod !== 'object' || value.pod === null) return false;
  const { metadata, spec } = value.pod as Partial<Pod>;
  return typeof metadata?.uid === 'string' && Array.isArray(spec?.containers);
}
