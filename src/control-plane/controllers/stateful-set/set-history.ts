import type { ControllerRevision } from '../../../api/apps/controller-revision.ts';
import type { StatefulSet } from '../../../api/apps/stateful-set.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { controllerRevisions, statefulSets } from '../../../api/client/resource-types.ts';
import { PodTemplateSpecSchema } from '../../../api/core/pod-template.ts';
import { decode } from '../../../api/schema/decode.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { newControllerRef } from '../../controller-runtime/controller-ref.ts';
import { deleteRevision } from '../../controller-runtime/delete-revision.ts';
import { withLabel } from '../../controller-runtime/pod-template.ts';
import type { UnseenObjects } from '../../controller-runtime/unseen-objects.ts';
import {
  compareRevisions,
  hashRevision,
  isRevisionOf,
  nextRevision,
  REVISION_HASH_LABEL,
  revisionName,
  templatePatch,
} from '../../controller-runtime/template-revision.ts';
import type { SetRevision, SetRevisions } from './set-pods.ts';

/** The limit of hash collisions; more are not accidental. */
const MOST_COLLISIONS = 20;

export interface SetHistory {
  readonly revisions: SetRevisions;
  readonly collisionCount: number;
}

export type HistoryPlan =
  | { readonly kind: 'known'; readonly revision: ControllerRevision }
  /** An earlier template becomes the newest again. */
  | { readonly kind: 'renumber'; readonly revision: ControllerRevision; readonly to: number | bigint }
  | { readonly kind: 'make'; readonly number: number | bigint };

/** Sorts by number, then by age, then by name. */
export function sortRevisions(revisions: readonly ControllerRevision[]): ControllerRevision[] {
  const text = (left: string, right: string): number => (left < right ? -1 : Number(left > right));
  return revisions.toSorted(
    (left, right) =>
      compareRevisions(left, right) ||
      text(left.metadata.creationTimestamp ?? '', right.metadata.creationTimestamp ?? '') ||
      text(left.metadata.name, right.metadata.name),
  );
}

/** Plans the revision of the set's template; `sorted` are the existing ones (upstream: getStatefulSetRevisions). */
function planHistory(set: StatefulSet, sorted: readonly ControllerRevision[]): HistoryPlan {
  const last = sorted.at(-1);
  const number = nextRevision(sorted);
  const same = sorted.findLast((each) => isRevisionOf(set.spec.template, each));
  if (same === undefined || last === undefined) return { kind: 'make', number };
  return semanticEqual(same.data, last.data)
    ? { kind: 'known', revision: last }
    : { kind: 'renumber', revision: same, to: number };
}

/** Selects the oldest revisions beyond the limit that neither pods (`inUse`) nor the status use. */
export function selectForgotten(
  set: StatefulSet,
  sorted: readonly ControllerRevision[],
  inUse: Iterable<string>,
  { current, update }: SetRevisions,
): ControllerRevision[] {
  const { revisionHistoryLimit = 10 } = set.spec;
  if (revisionHistoryLimit < 0) return [];
  const live = new Set([current.name, update.name, ...inUse]);
  const unused = sorted.filter(({ metadata }) => !live.has(metadata.name));
  return unused.slice(0, Math.max(0, unused.length - revisionHistoryLimit));
}

/** Keeps a ControllerRevision for each template of the set. It may be interrupted at any point. */
export class SetHistories {
  readonly #client: ApiClient;
  readonly #unseen: UnseenObjects<ControllerRevision>;

  constructor(client: ApiClient, unseen: UnseenObjects<ControllerRevision>) {
    this.#client = client;
    this.#unseen = unseen;
  }

  /**
   * Returns the current and the update revision. The revision of the template is created or renumbered if necessary.
   */
  async settle(set: StatefulSet, sorted: readonly ControllerRevision[]): Promise<SetHistory> {
    const plan = planHistory(set, sorted);
    const collisions = set.status?.collisionCount ?? 0;
    const { revision, collisionCount } =
      plan.kind === 'make'
        ? await this.#make(set, plan.number, collisions)
        : { revision: await this.#known(plan), collisionCount: collisions };
    if (plan.kind === 'make') this.#unseen.made(set, revision);
    const update = { name: revision.metadata.name, template: set.spec.template };
    const known = sorted.find(({ metadata }) => metadata.name === set.status?.currentRevision);
    const current = known === undefined || known.metadata.name === update.name ? update : restored(set, known);
    return { revisions: { current, update }, collisionCount };
  }

  async forget(revisions: readonly ControllerRevision[]): Promise<void> {
    for (const each of revisions) await deleteRevision(this.#client, each);
  }

  async #known(plan: Exclude<HistoryPlan, { kind: 'make' }>): Promise<ControllerRevision> {
    if (plan.kind === 'known') return plan.revision;
    return await this.#client.update(controllerRevisions, { ...plan.revision, revision: plan.to });
  }

  async #make(
    set: StatefulSet,
    number: number | bigint,
    collisions: number,
  ): Promise<{ readonly revision: ControllerRevision; readonly collisionCount: number }> {
    for (let count = collisions; ; count++) {
      const revision = buildSetRevision(set, number, count);
      try {
        return { revision: await this.#client.create(controllerRevisions, revision), collisionCount: count };
      } catch (error) {
        if (!isApiError(error, 'AlreadyExists') || count - collisions >= MOST_COLLISIONS) throw error;
        // The cache was outdated, or another template has the same hash.
        const known = await this.#client.get(controllerRevisions, keyOf(revision));
        if (isRevisionOf(set.spec.template, known)) return { revision: known, collisionCount: count };
      }
    }
  }
}

/** Builds the revision of the template. Its name derives from the template, so that it is created only once. */
function buildSetRevision(set: StatefulSet, revision: number | bigint, collisions: number): ControllerRevision {
  const { metadata, spec } = set;
  const data = templatePatch(spec.template);
  const hash = hashRevision(data, collisions);
  return {
    metadata: {
      name: revisionName(metadata.name, hash),
      namespace: metadata.namespace,
      uid: '',
      labels: withLabel(spec.template.metadata.labels, REVISION_HASH_LABEL, hash),
      ...(metadata.annotations !== undefined && { annotations: metadata.annotations }),
      ownerReferences: [newControllerRef(statefulSets, set)],
    },
    data,
    revision,
  };
}

/** Returns the template in a revision. Users can write revisions, so invalid templates are rejected. */
function restored(set: StatefulSet, { metadata, data }: ControllerRevision): SetRevision {
  const found = (data as { spec?: { template?: object } } | undefined)?.spec?.template;
  if (found === undefined) return { name: metadata.name, template: set.spec.template };
  const { $patch: _, ...plain } = found as Record<string, unknown>;
  const { value, errors } = decode(PodTemplateSpecSchema, plain);
  if (errors.length > 0) throw new Error(`controller revision ${metadata.name} does not hold a pod template`);
  return { name: metadata.name, template: value };
}
