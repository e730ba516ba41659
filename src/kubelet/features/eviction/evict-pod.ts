import type { Pod } from '../../../api/core/pod.ts';
import { isCriticalPod, podKey } from '../../../api/pod.ts';
import { podConditionReasons, podEvents, podReasons } from '../../../api/reasons.ts';
import { inBackground } from '../../../base/background.ts';
import type { Logger } from '../../../base/log.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { EvictedRecord } from './evicted-record.ts';
import type { LocalStorageSignal } from './local-storage.ts';
import type { EvictionSignal } from './signals.ts';

/** The reason for an eviction, and how it is done. */
export interface Eviction {
  readonly signal: EvictionSignal | LocalStorageSignal;
  readonly message: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly graceMs: number;
  /** Whether the node is short of a resource, and not only the pod over its own limits. */
  readonly isDisruption: boolean;
}

export interface PodEvictorParts {
  readonly record: Pick<EvictedRecord, 'add' | 'has'>;
  /** Writes the record now, so that a later agent does not restart a pod that this agent has begun to stop. */
  readonly save: () => Promise<void>;
  /** Stops the pod permanently. */
  readonly kill: (uid: PodUid, graceMs: number) => void;
  readonly events: {
    annotatedEvent(
      pod: Pod,
      event: {
        type: 'Warning';
        reason: string;
        message: string;
        annotations: Readonly<Record<string, string>>;
      },
    ): void;
  };
  readonly onEvicted: (signal: string) => void;
  readonly log: Logger;
}

/** Evicts single pods: the event, the status, the kill and the count, in this order. */
export class PodEvictor {
  readonly #parts: PodEvictorParts;

  constructor(parts: PodEvictorParts) {
    this.#parts = parts;
  }

  isEvicted(uid: PodUid): boolean {
    return this.#parts.record.has(uid);
  }

  /** Evicts the pod. It does nothing to a critical pod, even if it was selected (upstream: evictPod). */
  evict(pod: Pod, { signal, message, annotations, graceMs, isDisruption }: Eviction): void {
    const { record, save, kill, events, onEvicted, log } = this.#parts;
    const uid = podUid(pod.metadata.uid);
    if (isCriticalPod(pod)) return log.error('Eviction manager: cannot evict a critical pod', { pod: podKey(pod) });
    const observed = pod.metadata.generation;
    record.add(uid, {
      reason: podReasons.evicted,
      message,
      ...(isDisruption && {
        condition: {
          type: 'DisruptionTarget',
          status: 'True',
          reason: podConditionReasons.terminationByKubelet,
          message,
          ...(observed !== undefined && { observedGeneration: observed }),
        },
      }),
    });
    events.annotatedEvent(pod, { type: 'Warning', reason: podEvents.evicted, message, annotations });
    log.info('Evicting pod', { pod: podKey(pod), podUid: uid, signal, message });
    // The kill does not wait for the write, because the disk may be full.
    kill(uid, graceMs);
    inBackground(log, 'saving which pods were evicted', save());
    onEvicted(signal);
  }
}
