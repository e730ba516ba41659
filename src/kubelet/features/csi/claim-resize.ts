import type { ApiClient, Patch } from '../../../api/client/api-client.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { persistentVolumeClaims } from '../../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import { formatTime } from '../../../api/time.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';

const resizeConditions = new Set(['FileSystemResizePending', 'Resizing', 'ControllerResizeError', 'NodeResizeError']);
const STORAGE = 'storage';

/**
 * What the node did about a claim that requests more space (upstream: volume/util resize_util.go). `size` is a
 * quantity.
 */
export type ResizeNews =
  | { readonly kind: 'inProgress' }
  | { readonly kind: 'finished'; readonly size: string }
  | { readonly kind: 'failed' | 'infeasible'; readonly error: string };

type ClaimStatus = NonNullable<PersistentVolumeClaim['status']>;

/** Computes the status that reports the resize; undefined if the status already does. */
export function computeClaimStatus(status: ClaimStatus, news: ResizeNews, nowMs: number): ClaimStatus | undefined {
  const { allocatedResourceStatuses = {}, conditions = [], capacity = {} } = status;
  const resizeStatus = allocatedResourceStatuses[STORAGE];
  switch (news.kind) {
    case 'inProgress':
      // The field is written only if a controller uses it.
      return resizeStatus === undefined || resizeStatus === 'NodeResizeInProgress'
        ? undefined
        : { ...status, allocatedResourceStatuses: { ...allocatedResourceStatuses, [STORAGE]: 'NodeResizeInProgress' } };
    case 'finished': {
      const { [STORAGE]: _, ...others } = allocatedResourceStatuses;
      return {
        ...status,
        capacity: { ...capacity, [STORAGE]: news.size },
        conditions: conditions.filter(({ type }) => !resizeConditions.has(type)),
        allocatedResourceStatuses: others,
      };
    }
    case 'failed':
    case 'infeasible': {
      const isSaid = conditions.some(({ type, status: is }) => type === 'NodeResizeError' && is === 'True');
      const failure = {
        type: 'NodeResizeError',
        status: 'True' as const,
        lastTransitionTime: formatTime(nowMs),
        message: `failed to expand pvc with ${news.error}`,
      };
      const next = news.kind === 'infeasible' ? 'NodeResizeInfeasible' : resizeStatus;
      if (isSaid && next === resizeStatus) return undefined;
      return {
        ...status,
        ...(next !== undefined && { allocatedResourceStatuses: { ...allocatedResourceStatuses, [STORAGE]: next } }),
        conditions: isSaid ? conditions : [...conditions.filter(({ type }) => type !== 'NodeResizeError'), failure],
      };
    }
  }
}

/** Reports the result in a claim's status. On a standalone node there is none. */
export interface ClaimReporter {
  /** Resolves to whether the status was written. Never rejects. */
  report(claim: PersistentVolumeClaim, news: ResizeNews): Promise<boolean>;
}

export class ApiClaimReporter implements ClaimReporter {
  readonly #options: { readonly client: ApiClient; readonly clock: Clock; readonly log: Logger };

  constructor(options: { readonly client: ApiClient; readonly clock: Clock; readonly log: Logger }) {
    this.#options = options;
  }

  async report(claim: PersistentVolumeClaim, news: ResizeNews): Promise<boolean> {
    const { client, clock, log } = this.#options;
    const { status = {}, metadata } = claim;
    const next = computeClaimStatus(status, news, clock.nowMs());
    if (next === undefined) return true;
    const { capacity, conditions, allocatedResourceStatuses } = next;
    // A merge patch keeps fields that it does not contain, so removed fields are set to null.
    const gone = Object.fromEntries(
      Object.keys(status.allocatedResourceStatuses ?? {})
        .filter((name) => allocatedResourceStatuses?.[name] === undefined)
        .map((name) => [name, null]),
    );
    const body = {
      metadata: { uid: metadata.uid, resourceVersion: metadata.resourceVersion },
      status: {
        capacity,
        conditions,
        ...(allocatedResourceStatuses !== undefined && {
          allocatedResourceStatuses: { ...allocatedResourceStatuses, ...gone },
        }),
      },
    };
    const patch: Patch = { type: 'merge', body };
    try {
      await client.patch(persistentVolumeClaims, keyOf(claim), patch, { subresource: 'status' });
      return true;
    } catch (error) {
      log.debug(2, 'the status of a claim could not be written', {
        claim: `${metadata.namespace}/${metadata.name}`,
        error: errorMessage(error),
      });
      return false;
    }
  }
}
