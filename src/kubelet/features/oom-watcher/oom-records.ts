import type { PodCondition } from '../../../api/core/pod-status.ts';
import { podConditionReasons } from '../../../api/reasons.ts';
import type { PodUid } from '../../model/ids.ts';
import { containerOomMessage, podOomMessage } from './oom-message.ts';
import type { OomPlace } from './oom-place.ts';
import type { OomKill } from './oom-report.ts';

/** The maximum number of pods and containers with a kill that are remembered. The oldest are forgotten first. */
const MOST_KEPT = 1000;

/** Stores the kills in pods, for the status of the pods. */
export class OomRecords {
  readonly #pods = new Map<PodUid, { kills: number; message: string }>();
  readonly #containers = new Map<string, string>();

  note(uid: PodUid, kill: OomKill, place: OomPlace): void {
    const kills = (this.#pods.get(uid)?.kills ?? 0) + 1;
    keep(this.#pods, uid, { kills, message: podOomMessage(kill, place) });
    if (place.container !== undefined) keep(this.#containers, place.container.id, containerOomMessage(kill, place));
  }

  /** Returns the message of the last kill in this container, or undefined if there was none. */
  containerMessage(id: string): string | undefined {
    return this.#containers.get(id);
  }

  /** Returns a condition that only this agent has. Upstream does not report a kill that left the container running. */
  condition(uid: PodUid): PodCondition | undefined {
    const known = this.#pods.get(uid);
    if (known === undefined) return undefined;
    const times = known.kills === 1 ? '' : ` (${known.kills} processes so far)`;
    return {
      type: 'OOMKilled',
      status: 'True',
      reason: podConditionReasons.processKilled,
      message: `${known.message}${times}`,
    };
  }

  /** Returns the records for the status of one pod. */
  of(uid: PodUid): { containerMessage(id: string): string | undefined; readonly condition: PodCondition | undefined } {
    return { containerMessage: (id) => this.containerMessage(id), condition: this.condition(uid) };
  }

  forget(uid: PodUid): void {
    this.#pods.delete(uid);
  }
}

function keep<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= MOST_KEPT) break;
    map.delete(oldest);
  }
}
