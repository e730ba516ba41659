import type { Pod } from '../../../api/core/pod.ts';
import { isMirrorPod, isTerminalPod } from '../../../api/pod.ts';
import { sameContent } from '../../../base/same-content.ts';

/** One line of the record: the current version of a pod, or its removal. */
type Line = { pod: Pod } | { gone: string };

/**
 * Stores the last known pods of this node from the API server, for an agent that starts while the API server is
 * unavailable. Of a status only the parts of other writers are stored, because the agent's own part is recorded
 * elsewhere. That record may be late, so the whole status of a finished pod is stored.
 */
export class RememberedPods {
  readonly #byUid = new Map<string, Pod>();
  readonly #record: (line: Line) => void;

  /** `found` is the record of an earlier run, line by line. `record` receives the lines to append. */
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

  /** Sets the complete list of the API. */
  replace(pods: readonly Pod[]): void {
    const kept = new Set(pods.map((pod) => pod.metadata.uid));
    for (const uid of [...this.#byUid.keys()]) if (!kept.has(uid)) this.forget(uid);
    for (const pod of pods) this.note(pod);
  }

  note(pod: Pod): void {
    // Static pods come from their manifests, even when they are shown in the API.
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
  if (isTerminalPod(pod)) return { ...pod, metadata };
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
