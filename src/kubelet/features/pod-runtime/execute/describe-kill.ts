import { goAggregate } from '../../../../api/go-aggregate.ts';
import { goQuote } from '../../../../api/go-quote.ts';
import type { PodUid } from '../../../model/ids.ts';
import type { KillFailure } from './kill-pod.ts';

/**
 * Describes what of a pod could not be stopped, in the format of upstream's kubelet (container/sync_result.go
 * PodSyncResult.Error).
 */
export function describeKillFailures(uid: PodUid, failures: readonly KillFailure[]): string {
  return goAggregate(
    failures.map(({ container, reason, message }) => {
      const [action, target] = container === undefined ? ['KillPodSandbox', uid] : ['KillContainer', container];
      return `failed to "${action}" for ${goQuote(target)} with ${reason}: ${goQuote(message)}`;
    }),
  );
}
