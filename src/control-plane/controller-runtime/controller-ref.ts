import type { ApiClient } from '../../api/client/api-client.ts';
import type { Informer } from '../../api/client/informer.ts';
import type { ObjectIndex } from '../../api/client/object-store.ts';
import { apiVersionOf, formatKey, keyOf } from '../../api/client/resource-type.ts';
import type { ApiObject, ResourceType } from '../../api/client/resource-type.ts';
import type { LabelSelector, OwnerReference } from '../../api/core/meta.ts';
import { matchesLabelSelector } from '../../api/selectors.ts';
import { conflict, isApiError } from '../../api/status/api-status-error.ts';

/** The reference to the managing controller of the object. */
export function controllerRefOf(object: ApiObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find(({ controller }) => controller === true);
}

export function isControlledBy(object: ApiObject, owner: ApiObject): boolean {
  return controllerRefOf(object)?.uid === owner.metadata.uid;
}

/** The uid of the managing controller, if any, as a list. */
export function controllerUidsOf(object: ApiObject): readonly string[] {
  const ref = controllerRefOf(object);
  return ref === undefined ? [] : [ref.uid];
}

export function newControllerRef<T extends ApiObject>(type: ResourceType<T>, owner: T): OwnerReference {
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

const orphansIn = (namespace: string): string => `orphans/${namespace}`;

/**
 * Indexes objects by the uid of their controller; objects without a controller by their namespace (upstream:
 * PodControllerIndex).
 */
export class ControlledIndex<T extends ApiObject> {
  readonly #index: ObjectIndex<T>;

  constructor(informer: Informer<T>) {
    this.#index = informer.index('controller', (object) => [
      controllerRefOf(object)?.uid ?? orphansIn(object.metadata.namespace),
    ]);
  }

  ofOwner(owner: ApiObject): readonly T[] {
    return this.#index.get(owner.metadata.uid);
  }

  ofUid(uid: string): readonly T[] {
    return this.#index.get(uid);
  }

  /** The number of objects of the owner, in constant time. */
  countOf(owner: ApiObject): number {
    return this.#index.count(owner.metadata.uid);
  }

  /** Objects without a controller in the owner's namespace. */
  orphans(owner: ApiObject): readonly T[] {
    return this.#index.get(orphansIn(owner.metadata.namespace));
  }

  /** The objects of the owner, and those that it may adopt. */
  claimable(owner: ApiObject): readonly T[] {
    const orphans = orphansIn(owner.metadata.namespace);
    return this.#index.count(orphans) === 0
      ? this.ofOwner(owner)
      : [...this.ofOwner(owner), ...this.#index.get(orphans)];
  }
}

export type Claim = 'own' | 'adopt' | 'release' | 'ignore';

/**
 * The relation of an owner to an object (upstream: BaseControllerRefManager.ClaimObject). An owner that is being
 * deleted changes nothing.
 */
export function decideClaim(
  owner: ApiObject,
  selector: LabelSelector | undefined,
  object: ApiObject,
  isMember = true,
): Claim {
  const ref = controllerRefOf(object);
  const matches = isMember && matchesLabelSelector(selector, object.metadata.labels ?? {});
  const leaving = owner.metadata.deletionTimestamp !== undefined;
  if (ref !== undefined) {
    if (ref.uid !== owner.metadata.uid) return 'ignore';
    return matches ? 'own' : leaving ? 'ignore' : 'release';
  }
  if (
    leaving ||
    !matches ||
    object.metadata.deletionTimestamp !== undefined ||
    object.metadata.namespace !== owner.metadata.namespace
  )
    return 'ignore';
  return 'adopt';
}

export interface ClaimOptions<O extends ApiObject, T extends ApiObject> {
  readonly client: ApiClient;
  readonly ownerType: ResourceType<O>;
  readonly owner: O;
  readonly selector: LabelSelector | undefined;
  readonly type: ResourceType<T>;
  readonly objects: readonly T[];
  /** An additional filter besides the labels. Absent: every object. */
  readonly isMember?: (object: T) => boolean;
  /** A finalizer that is added at adoption and removed at release. */
  readonly finalizer?: string;
}

/**
 * The objects that the owner manages. Adopts matching objects without a controller, and releases its objects that no
 * longer match. All objects are tried; then the first failure is thrown. Before an adoption, the server is queried
 * whether the owner still exists with the same uid, because the cache may not show a deletion yet.
 */
export async function claimObjects<O extends ApiObject, T extends ApiObject>(
  options: ClaimOptions<O, T>,
): Promise<T[]> {
  const { owner, selector, objects, isMember = () => true } = options;
  const claimed: T[] = [];
  let failure: unknown;
  let alive: Promise<void> | undefined;
  for (const object of objects) {
    const claim = decideClaim(owner, selector, object, isMember(object));
    if (claim === 'own') claimed.push(object);
    if (claim !== 'adopt' && claim !== 'release') continue;
    try {
      if (claim === 'release') await release(options, object);
      else {
        await (alive ??= checkAlive(options));
        claimed.push(await adopt(options, object));
      }
    } catch (error) {
      if (!isApiError(error, 'NotFound')) failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return claimed;
}

async function checkAlive<O extends ApiObject>({
  client,
  ownerType,
  owner,
}: Pick<ClaimOptions<O, ApiObject>, 'client' | 'ownerType' | 'owner'>): Promise<void> {
  const fresh = await client.get(ownerType, keyOf(owner));
  const { name } = owner.metadata;
  if (fresh.metadata.uid !== owner.metadata.uid)
    throw conflict(
      ownerType,
      name,
      `original ${ownerType.kind} ${formatKey(keyOf(owner))} is gone: got uid ${fresh.metadata.uid}, wanted ${owner.metadata.uid}`,
    );
  if (fresh.metadata.deletionTimestamp !== undefined)
    throw conflict(
      ownerType,
      name,
      `${formatKey(keyOf(owner))} has just been deleted at ${fresh.metadata.deletionTimestamp}`,
    );
}

async function adopt<O extends ApiObject, T extends ApiObject>(
  { client, ownerType, owner, type, finalizer }: ClaimOptions<O, T>,
  object: T,
): Promise<T> {
  const metadata = {
    ownerReferences: [newControllerRef(ownerType, owner)],
    uid: object.metadata.uid,
    ...(finalizer !== undefined && { finalizers: [finalizer] }),
  };
  return await client.patch(type, keyOf(object), { type: 'strategic', body: { metadata } });
}

async function release<O extends ApiObject, T extends ApiObject>(
  { client, owner, type, finalizer }: ClaimOptions<O, T>,
  object: T,
): Promise<void> {
  const metadata = {
    ownerReferences: [{ $patch: 'delete', uid: owner.metadata.uid }],
    uid: object.metadata.uid,
    ...(finalizer !== undefined && { '$deleteFromPrimitiveList/finalizers': [finalizer] }),
  };
  try {
    await client.patch(type, keyOf(object), { type: 'strategic', body: { metadata } });
  } catch (error) {
    // The object was replaced, or has no owners: nothing to release.
    if (!isApiError(error, 'Invalid', 'NotFound')) throw error;
  }
}
