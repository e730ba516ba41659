import type { Context, Hono } from 'hono';
import type { Pod } from '../../../api/core/pod.ts';
import { findContainer } from '../../../api/pod.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';

/** The checkpoints on this node and their disk. */
export interface CheckpointUse {
  readonly count: number;
  readonly bytes: number;
  /** The available bytes of the file system of checkpoints. */
  readonly availableBytes: number;
  readonly capacityBytes: number;
}

export interface CheckpointSources {
  pods(): Pod[];
  checkpointUse(): Promise<CheckpointUse>;
  /**
   * Writes the container's state to a file of that name, and returns its path. `timeoutSeconds` 0 means the runtime's
   * own limit. Rejects with KubeletError.
   */
  checkpoint(target: { pod: Pod; container: string }, file: string, timeoutSeconds: number): Promise<string>;
  nowMs(): number;
}

/**
 * The maximum number of checkpoints per node. A checkpoint is as large as the container's memory, and upstream has no
 * limit (CVE-2025-0426 filled disks). The disk must also keep some free space.
 */
export const MOST_CHECKPOINTS = 50;
const LEAST_FREE_SHARE = 0.1;
/**
 * The maximum number of concurrent checkpoints. Two would not be faster, and concurrent requests must not exhaust the
 * node.
 */
const MOST_AT_ONCE = 1;

/** Returns why no further checkpoint may be created now, or undefined if one may. */
export function checkpointRefusal({
  count,
  bytes,
  availableBytes,
  capacityBytes,
}: CheckpointUse): { readonly status: 429 | 507; readonly problem: string } | undefined {
  if (count >= MOST_CHECKPOINTS)
    return { status: 429, problem: `there are ${count} checkpoints on this node, which is the limit; remove some` };
  if (capacityBytes > 0 && availableBytes < capacityBytes * LEAST_FREE_SHARE)
    return {
      status: 507,
      problem: `the disk of the checkpoints is nearly full: ${availableBytes} bytes are free, checkpoints take ${bytes}`,
    };
  return undefined;
}

/** Returns upstream's file name, with the time in UTC to the second: `checkpoint-POD_NAMESPACE-CONTAINER-TIME.tar`. */
const checkpointFile = (pod: Pod, container: string, nowMs: number): string =>
  `checkpoint-${pod.metadata.name}_${pod.metadata.namespace}-${container}-${new Date(nowMs).toISOString().slice(0, 19)}Z.tar`;

/** Adds the checkpoint path (upstream: server.go checkpoint). */
export function addCheckpointRoute(app: Hono, sources: CheckpointSources): void {
  let running = 0;
  app.post('/checkpoint/:namespace/:pod/:container', async (context) => {
    if (running >= MOST_AT_ONCE) return context.text('another checkpoint is being made', 429, { 'Retry-After': '10' });
    running++;
    try {
      return await checkpoint(context, sources);
    } finally {
      running--;
    }
  });
}

async function checkpoint(context: Context, sources: CheckpointSources): Promise<Response> {
  const { namespace = '', pod: name = '', container = '' } = context.req.param();
  const pod = sources.pods().find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
  if (pod === undefined) return context.text('pod does not exist', 404);
  if (findContainer(pod, container) === undefined) return context.text(`container ${container} does not exist`, 404);
  const timeout = context.req.queries('timeout')?.at(-1);
  // Upstream's status code for it.
  if (timeout !== undefined && !/^[+-]?\d{1,18}$/.test(timeout))
    return context.text('cannot parse value of timeout parameter', 404);
  const refusal = checkpointRefusal(await sources.checkpointUse());
  if (refusal !== undefined) return context.text(refusal.problem, refusal.status);
  try {
    const file = await sources.checkpoint(
      { pod, container },
      checkpointFile(pod, container, sources.nowMs()),
      Math.max(0, Number(timeout ?? 0)),
    );
    return context.json({ items: [file] });
  } catch (error) {
    const why =
      error instanceof KubeletError && error.kind === 'NotFound'
        ? `container ${container} not found`
        : errorMessage(error);
    return context.text(`checkpointing of ${namespace}/${name}/${container} failed (${why})`, 500);
  }
}
