import type { ControllerRevision } from '../../../api/apps/controller-revision.ts';
import type { DaemonSet } from '../../../api/apps/daemon-set.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { controllerRevisions, daemonSets, pods } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { claimObjects } from '../../controller-runtime/controller-ref.ts';
import { deleteRevision } from '../../controller-runtime/delete-revision.ts';
import { withLabel } from '../../controller-runtime/pod-template.ts';
import type { UnseenObjects } from '../../controller-runtime/unseen-objects.ts';
import { isRevisionOf, REVISION_HASH_LABEL } from '../../controller-runtime/template-revision.ts';
import { buildRevision, hashOf, planHistory, selectForgotten } from './daemon-history.ts';

export interface History {
  readonly hash: string;
  readonly old: readonly ControllerRevision[];
}

/**
 * Keeps a ControllerRevision for each template the daemon set had (upstream: constructHistory, cleanupHistory). May be
 * interrupted at any point.
 */
export class DaemonRevisions {
  readonly #client: ApiClient;
  readonly #unseen: UnseenObjects<ControllerRevision>;

  constructor(client: ApiClient, unseen: UnseenObjects<ControllerRevision>) {
    this.#client = client;
    this.#unseen = unseen;
  }

  /**
   * Finds the revision of the template; creates, renumbers and deduplicates it if necessary. `claimable` are the daemon
   * set's revisions and those that it may adopt.
   */
  async settle(
    daemonSet: DaemonSet,
    claimable: readonly ControllerRevision[],
    daemonPods: () => readonly Pod[],
  ): Promise<History> {
    const { selector } = daemonSet.spec;
    const revisions = await claimObjects({
      client: this.#client,
      ownerType: daemonSets,
      owner: daemonSet,
      selector,
      type: controllerRevisions,
      objects: this.#unseen.with(daemonSet, claimable),
    });
    const labelled = await Promise.all(revisions.map((each) => this.#ensureLabel(each)));
    const { current, duplicates, old, revision } = planHistory(daemonSet, labelled);
    if (current === undefined) {
      const made = await this.#make(daemonSet, revision);
      this.#unseen.made(daemonSet, made);
      return { hash: hashOf(made), old };
    }
    if (duplicates.length > 0) await this.#merge(current, duplicates, daemonPods());
    if (current.revision < revision) await this.#client.update(controllerRevisions, { ...current, revision });
    return { hash: hashOf(current), old };
  }

  /** Deletes unused old revisions. */
  async forget(daemonSet: DaemonSet, old: readonly ControllerRevision[], daemonPods: readonly Pod[]): Promise<void> {
    for (const each of selectForgotten(daemonSet, old, daemonPods)) await deleteRevision(this.#client, each);
  }

  async #ensureLabel(revision: ControllerRevision): Promise<ControllerRevision> {
    if (revision.metadata.labels?.[REVISION_HASH_LABEL] !== undefined) return revision;
    const labels = withLabel(revision.metadata.labels, REVISION_HASH_LABEL, revision.metadata.name);
    return await this.#client.update(controllerRevisions, { ...revision, metadata: { ...revision.metadata, labels } });
  }

  async #make(daemonSet: DaemonSet, number: number | bigint): Promise<ControllerRevision> {
    const revision = buildRevision(daemonSet, number);
    try {
      return await this.#client.create(controllerRevisions, revision);
    } catch (error) {
      if (!isApiError(error, 'AlreadyExists')) throw error;
      // The cache was outdated, or another template has the same hash.
      const known = await this.#client.get(controllerRevisions, keyOf(revision));
      if (isRevisionOf(daemonSet.spec.template, known)) return known;
      const status = daemonSet.status ?? {
        currentNumberScheduled: 0,
        numberMisscheduled: 0,
        desiredNumberScheduled: 0,
        numberReady: 0,
      };
      await this.#client.update(
        daemonSets,
        { ...daemonSet, status: { ...status, collisionCount: (status.collisionCount ?? 0) + 1 } },
        { subresource: 'status' },
      );
      throw error;
    }
  }

  async #merge(
    current: ControllerRevision,
    duplicates: readonly ControllerRevision[],
    daemonPods: readonly Pod[],
  ): Promise<void> {
    const hash = hashOf(current);
    const others = new Set(duplicates.map(hashOf));
    for (const pod of daemonPods) {
      if (!others.has(pod.metadata.labels?.[REVISION_HASH_LABEL] ?? '')) continue;
      await this.#client.patch(pods, keyOf(pod), {
        type: 'merge',
        body: { metadata: { labels: { [REVISION_HASH_LABEL]: hash } } },
      });
    }
    for (const each of duplicates) await deleteRevision(this.#client, each);
  }
}
