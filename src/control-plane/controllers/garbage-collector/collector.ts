import type { ApiClient } from '../../../api/client/api-client.ts';
import { keyOf, parseKey } from '../../../api/client/resource-type.ts';
import type { ResourceType } from '../../../api/client/resource-type.ts';
import type { OwnerReference } from '../../../api/core/meta.ts';
import { goQuote } from '../../../api/go-quote.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { OtherKindsFollower } from './follow-other-kinds.ts';
import { isLeaving, ownerKeyOf } from './graph-keys.ts';
import { FOREGROUND_FINALIZER, judgeByOwners, ORPHAN_FINALIZER } from './judge-owners.ts';
import type { JudgedOwner, OwnerState } from './judge-owners.ts';
import type { OtherOwners } from './other-owners.ts';
import type { GraphNode, OwnerGraph } from './owner-graph.ts';

/** Owners that are not watched are checked again after this time. Upstream looks for new kinds as often. */
const UNWATCHED_MS = 30_000;
/** The retry interval while the first list of a kind is pending. */
const UNSYNCED_MS = 100;
const UNSETTLED_MS = 1_000;

export interface CollectorParts {
  readonly client: ApiClient;
  readonly graph: OwnerGraph;
  readonly events: EventRecorder;
  readonly otherOwners: OtherOwners;
  readonly others: Pick<OtherKindsFollower, 'clientOf' | 'isSettled'>;
  readonly servedOf: (type: ResourceType) => ResourceType | undefined;
  /** Adds an object to its queue. */
  readonly add: (node: GraphNode) => void;
}

/**
 * One pass over one object. A pass sends requests to the server of its object and to this server, and asks other servers
 * only for owners; what is to be done with objects of other servers is left to the queues of their kinds. A server that
 * does not answer therefore delays only objects that need it.
 */
export class Collector {
  readonly #parts: CollectorParts;
  readonly #graph: OwnerGraph;

  constructor(parts: CollectorParts) {
    this.#parts = parts;
    this.#graph = parts.graph;
  }

  async sync(key: string): Promise<number | undefined> {
    if (!this.#graph.hasSynced()) return UNSYNCED_MS;
    const [group = '', plural = '', rest = ''] = key.split('|');
    const node = this.#graph.find(plural, group, parseKey(rest));
    if (node === undefined) return undefined;
    try {
      return isLeaving(node.object) ? await this.#letGo(node) : await this.#judge(node);
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
    return undefined;
  }

  /** Handles a deleted owner: its dependents are orphaned or awaited. Returns after which time to try again. */
  async #letGo(node: GraphNode): Promise<number | undefined> {
    if (!this.#parts.others.isSettled()) return UNSETTLED_MS;
    const { uid, finalizers = [] } = node.object.metadata;
    const dependents = this.#graph.dependentsOf(uid);
    const [here, elsewhere] = [dependents.filter(this.#isHere), dependents.filter((each) => !this.#isHere(each))];
    for (const each of elsewhere) this.#parts.add(each);
    if (finalizers.includes(ORPHAN_FINALIZER)) {
      await Promise.all(here.map((dependent) => this.#dropReferences(dependent, [uid])));
      // The changes of the others continue this.
      if (elsewhere.length === 0) await this.#removeFinalizer(node, ORPHAN_FINALIZER);
      return undefined;
    }
    // An object that owns itself would wait forever.
    const isBlocked = dependents.some(
      ({ object }) =>
        object.metadata.uid !== uid &&
        (object.metadata.ownerReferences ?? []).some((each) => each.uid === uid && each.blockOwnerDeletion === true),
    );
    if (!isBlocked) await this.#removeFinalizer(node, FOREGROUND_FINALIZER);
    else for (const dependent of here) await this.#judge(dependent);
    return undefined;
  }

  readonly #isHere = ({ type }: GraphNode): boolean => this.#parts.others.clientOf(type) === undefined;

  /** Returns after which time the object must be judged again, if no event will say when. */
  async #judge(node: GraphNode): Promise<number | undefined> {
    const { metadata } = node.object;
    const owners: JudgedOwner[] = [];
    const { ownerReferences = [] } = metadata;
    if (!this.#isHere(node)) {
      const uids = ownerReferences.filter((each) => this.#isOrphaning(node, each)).map(({ uid }) => uid);
      if (uids.length > 0) {
        await this.#dropReferences(node, uids);
        return undefined;
      }
    }
    const isWatched = ({ apiVersion, kind }: OwnerReference): boolean => {
      const type = this.#graph.typeOf(apiVersion, kind);
      return type !== undefined && this.#parts.others.clientOf(type) === undefined;
    };
    const againMs = ownerReferences.every(isWatched) ? undefined : UNWATCHED_MS;
    for (const reference of ownerReferences) {
      const state = await this.#stateOf(node, reference);
      // Nothing is decided about an owner whose existence is unknown.
      if (state === undefined) return againMs;
      owners.push({ reference, state });
    }
    const judgement = judgeByOwners(
      {
        finalizers: metadata.finalizers ?? [],
        deleting: metadata.deletionTimestamp !== undefined,
        hasDependents: this.#graph.hasDependents(metadata.uid),
      },
      owners,
    );
    if (judgement.kind === 'dropReferences') await this.#dropReferences(node, judgement.uids);
    if (judgement.kind !== 'delete') return againMs;
    if (judgement.policy === 'Foreground') await this.#breakCircle(node);
    await this.#delete(node, judgement.policy);
    return undefined;
  }

  /**
   * Deletes one object of a cycle of owners that wait for each other: it no longer blocks its owners (upstream:
   * unblockOwnerReferences).
   */
  async #breakCircle(node: GraphNode): Promise<void> {
    const { uid, ownerReferences = [] } = node.object.metadata;
    const isCircle = this.#graph
      .dependentsOf(uid)
      .some(
        (dependent) =>
          dependent.object.metadata.finalizers?.includes(FOREGROUND_FINALIZER) === true && isLeaving(dependent.object),
      );
    const blocking = ownerReferences.filter(({ blockOwnerDeletion }) => blockOwnerDeletion === true);
    if (!isCircle || blocking.length === 0) return;
    const freed = new Set(blocking.map((reference) => reference.uid));
    await this.#patchReferences(node, {
      strategic: [...freed].map((each) => ({ uid: each, blockOwnerDeletion: false })),
      whole: ownerReferences.map((each) => (freed.has(each.uid) ? { ...each, blockOwnerDeletion: false } : each)),
    });
  }

  /** Whether the owner is being deleted, and waits until its dependents are released. */
  #isOrphaning({ object }: GraphNode, reference: OwnerReference): boolean {
    const type = this.#graph.typeOf(reference.apiVersion, reference.kind);
    if (type === undefined) return false;
    const owner = this.#graph.find(type.plural, type.group, ownerKeyOf(type, object, reference))?.object;
    return (
      owner?.metadata.uid === reference.uid &&
      isLeaving(owner) &&
      owner.metadata.finalizers?.includes(ORPHAN_FINALIZER) === true
    );
  }

  /** Undefined if its kind is unknown, or it can never own this object. */
  async #stateOf(node: GraphNode, reference: OwnerReference): Promise<OwnerState | undefined> {
    const { object } = node;
    const { apiVersion, kind } = reference;
    const type = this.#graph.typeOf(apiVersion, kind);
    const { otherOwners, others } = this.#parts;
    const isPossible = type?.namespaced !== true || object.metadata.namespace !== '';
    if (type === undefined || others.clientOf(type) !== undefined) {
      if (type !== undefined && isPossible && this.#exists(type, object, reference)) return 'solid';
      return otherOwners.stateOf(reference, object.metadata.namespace);
    }
    const state = isPossible ? await this.#knownStateOf(type, object, reference) : undefined;
    if (type.namespaced && (state ?? 'absent') === 'absent') this.#reportElsewhere(type, node, reference);
    return state;
  }

  /** An owner in another namespace counts as absent; users learn of it (upstream: reportInvalidNamespaceOwnerRef). */
  #reportElsewhere(ownerType: ResourceType, { type, object }: GraphNode, reference: OwnerReference): void {
    const { apiVersion, kind, name, uid } = reference;
    const { namespace } = object.metadata;
    if (!this.#graph.isElsewhere(ownerType, uid, namespace)) return;
    const owner = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
    this.#parts.events.event(type, object, {
      type: 'Warning',
      reason: 'OwnerRefInvalidNamespace',
      message: `ownerRef ${owner} does not exist in namespace ${goQuote(namespace)}`,
    });
  }

  /** Whether the watch of its kind has shown the owner, and not that it is being deleted. */
  #exists(type: ResourceType, object: GraphNode['object'], reference: OwnerReference): boolean {
    const known = this.#graph.find(type.plural, type.group, ownerKeyOf(type, object, reference))?.object.metadata;
    return known?.uid === reference.uid && known.deletionTimestamp === undefined;
  }

  async #knownStateOf(type: ResourceType, object: GraphNode['object'], reference: OwnerReference): Promise<OwnerState> {
    if (this.#exists(type, object, reference)) return 'solid';
    const { uid } = reference;
    try {
      const { metadata } = await this.#parts.client.get(type, ownerKeyOf(type, object, reference));
      if (metadata.uid !== uid) return 'absent';
      return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(FOREGROUND_FINALIZER) === true
        ? 'waiting'
        : 'solid';
    } catch (error) {
      if (isApiError(error, 'NotFound')) return 'absent';
      throw error;
    }
  }

  async #delete({ type, object }: GraphNode, propagationPolicy: 'Background' | 'Foreground' | 'Orphan'): Promise<void> {
    const { uid, resourceVersion } = object.metadata;
    const preconditions = { uid, ...(resourceVersion !== undefined && { resourceVersion }) };
    const client = this.#clientOf(type);
    await client.delete(this.#parts.servedOf(type) ?? type, keyOf(object), { propagationPolicy, preconditions });
  }

  async #dropReferences(node: GraphNode, uids: readonly string[]): Promise<void> {
    const { ownerReferences = [] } = node.object.metadata;
    try {
      await this.#patchReferences(node, {
        strategic: uids.map((uid) => ({ $patch: 'delete', uid })),
        whole: ownerReferences.filter(({ uid }) => !uids.includes(uid)),
      });
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
  }

  /**
   * Writes the whole list of references of a custom object, or one of another server, on the condition that it has not
   * changed. Their kinds may have no strategic patches.
   */
  async #patchReferences(
    { type, object }: GraphNode,
    { strategic, whole }: { readonly strategic: readonly object[]; readonly whole: readonly OwnerReference[] },
  ): Promise<void> {
    const { uid, resourceVersion } = object.metadata;
    const served = this.#isHere({ type, object }) ? this.#parts.servedOf(type) : type;
    const client = this.#clientOf(type);
    if (served === undefined)
      await client.patch(type, keyOf(object), {
        type: 'strategic',
        body: { metadata: { uid, ownerReferences: strategic } },
      });
    else
      await client.patch(served, keyOf(object), {
        type: 'merge',
        body: { metadata: { uid, resourceVersion, ownerReferences: whole } },
      });
  }

  async #removeFinalizer({ type, object }: GraphNode, finalizer: string): Promise<void> {
    const { finalizers = [], resourceVersion, uid } = object.metadata;
    if (!finalizers.includes(finalizer)) return;
    await this.#clientOf(type).patch(this.#parts.servedOf(type) ?? type, keyOf(object), {
      type: 'merge',
      body: { metadata: { uid, resourceVersion, finalizers: finalizers.filter((each) => each !== finalizer) } },
    });
  }

  #clientOf(type: ResourceType): ApiClient {
    return this.#parts.others.clientOf(type) ?? this.#parts.client;
  }
}
