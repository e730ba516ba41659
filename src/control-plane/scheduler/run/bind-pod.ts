import { withDeadline } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { pods } from '../../../api/client/resource-types.ts';
import type { Binding } from '../../../api/core/binding.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { SchedulerContext } from './context.ts';

/** The time limit of a bind request. After it the outcome is unknown, and the pod is read again. */
const BIND_LIMIT_MS = 30_000;

export type BindResult = { readonly kind: 'bound' } | { readonly kind: 'failed'; readonly message: string };

/** Binds the pod to the node (upstream: DefaultBinder). Never rejects. */
export async function bindPod(context: SchedulerContext, pod: Pod, nodeName: string): Promise<BindResult> {
  const { namespace, name, uid } = pod.metadata;
  const body: Binding = {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { namespace, name, uid },
    target: { kind: 'Node', name: nodeName },
  };
  try {
    await withDeadline({ clock: context.clock, limitMs: BIND_LIMIT_MS, op: 'bind pod' }, () =>
      context.client.post(pods, keyOf(pod), 'binding', body),
    );
    return { kind: 'bound' };
  } catch (error) {
    // A refused bind did not take effect. Any other failed request may have.
    const isRefused = isApiError(
      error,
      'BadRequest',
      'Unauthorized',
      'Forbidden',
      'NotFound',
      'Invalid',
      'TooManyRequests',
      'RequestEntityTooLarge',
      'MethodNotAllowed',
    );
    if (!isRefused && (await isBoundTo(context, pod, nodeName))) return { kind: 'bound' };
    return { kind: 'failed', message: `running Bind plugin "DefaultBinder": ${errorMessage(error)}` };
  }
}

/** Whether the pod is bound to the node. Returns false if that cannot be determined. */
export async function isBoundTo(
  { client, clock, log }: SchedulerContext,
  pod: Pod,
  nodeName: string,
): Promise<boolean> {
  try {
    const { metadata, spec } = await withDeadline({ clock, limitMs: BIND_LIMIT_MS, op: 'look at a pod' }, () =>
      client.get(pods, keyOf(pod)),
    );
    return metadata.uid === pod.metadata.uid && spec.nodeName === nodeName;
  } catch (error) {
    log.debug(2, 'Cannot tell whether a pod was bound', {
      pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
      error: errorMessage(error),
    });
    return false;
  }
}
