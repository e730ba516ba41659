import { isRecord } from '../../../base/json-record.ts';
import type { Clock } from '../../../base/clock.ts';
import type { OwnerReference } from '../../../api/core/meta.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { OtherApis } from '../../controller-runtime/other-apis.ts';
import { FOREGROUND_FINALIZER } from './judge-owners.ts';
import type { OwnerState } from './judge-owners.ts';
import { groupOf } from './owner-graph.ts';

/** How long an owner that exists is not asked about again. */
const KNOWN_MS = 25_000;
const MOST_KNOWN = 10_000;
/** A server that fails so slowly is not asked for a while: the workers are needed for other objects. */
const SLOW_MS = 1_000;
const RESTING_MS = 10_000;

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/**
 * Owners that other servers keep behind APIServices. The watches of their kinds may be behind or missing, so each is
 * asked about, at most once in `KNOWN_MS` however many dependents it has.
 */
export class OtherOwners {
  readonly #apis: OtherApis;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** By uid: until when the owner at this path counts as existing. */
  readonly #known = new Map<string, { readonly path: string; readonly untilMs: number }>();
  readonly #asking = new Map<string, Promise<OwnerState>>();
  /** By group and version. */
  readonly #resting = new Map<string, { readonly error: unknown; readonly untilMs: number }>();

  constructor(apis: OtherApis, clock: Pick<Clock, 'monotonicMs'>) {
    this.#apis = apis;
    this.#clock = clock;
  }

  /**
   * Undefined if no server serves the kind, or an object in this namespace cannot have such an owner. Rejects while the
   * server does not answer, or answers something else than the owner.
   */
  async stateOf(
    { apiVersion, kind, name, uid }: OwnerReference,
    dependentNamespace: string,
  ): Promise<OwnerState | undefined> {
    const resource = this.#apis.find(groupOf(apiVersion), kind);
    if (resource === undefined || (resource.namespaced && dependentNamespace === '')) return undefined;
    const { group, version, plural, namespaced } = resource;
    const place = namespaced ? `/namespaces/${dependentNamespace}` : '';
    const path = `/apis/${group}/${version}${place}/${plural}/${encodeURIComponent(name)}`;
    const key = `${path} ${uid}`;
    const known = this.#known.get(uid);
    if (known?.path === path && known.untilMs > this.#clock.monotonicMs()) return 'solid';
    let asking = this.#asking.get(key);
    if (asking === undefined) {
      asking = this.#askUnlessResting(resource, path, uid).finally(() => this.#asking.delete(key));
      this.#asking.set(key, asking);
    }
    const state = await asking;
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    if (state === 'solid') this.#known.set(uid, { path, untilMs: this.#clock.monotonicMs() + KNOWN_MS });
    else this.#known.delete(uid);
    return state;
  }

  /** The next question about this owner is sent to its server: it has changed. */
  forget(uid: string): void {
    this.#known.delete(uid);
  }

  async #askUnlessResting(api: GroupVersion, path: string, uid: string): Promise<OwnerState> {
    const name = `${api.group}/${api.version}`;
    const startMs = this.#clock.monotonicMs();
    const resting = this.#resting.get(name);
    if (resting !== undefined && startMs < resting.untilMs) throw resting.error;
    this.#resting.delete(name);
    try {
      return await this.#ask(api, path, uid);
    } catch (error) {
      const endMs = this.#clock.monotonicMs();
      if (endMs - startMs >= SLOW_MS) this.#resting.set(name, { error, untilMs: endMs + RESTING_MS });
      throw error;
    }
  }

  async #ask(api: GroupVersion, path: string, uid: string): Promise<OwnerState> {
    try {
      const answer = await this.#apis.get(api, path);
      const metadata = isRecord(answer) ? answer['metadata'] : undefined;
      if (!isRecord(metadata) || typeof metadata['uid'] !== 'string')
        throw new Error(`the answer to ${path} is not an object with a uid`);
      if (metadata['uid'] !== uid) return 'absent';
      const { deletionTimestamp, finalizers } = metadata;
      const isWaiting = Array.isArray(finalizers) && finalizers.includes(FOREGROUND_FINALIZER);
      return typeof deletionTimestamp === 'string' && isWaiting ? 'waiting' : 'solid';
    } catch (error) {
      if (isApiError(error, 'NotFound')) return 'absent';
      throw error;
    }
  }
}
