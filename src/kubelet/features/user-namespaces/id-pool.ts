import { KubeletError } from '../../../base/errors.ts';

/** Ids of the host: `length` ids from `firstId`, both for the users and for the groups of a pod. */
export interface IdRange {
  readonly hostId: number;
  readonly length: number;
}

/** The ids that may be allocated, in ranges of `idsPerPod`. */
export interface IdPool {
  readonly firstId: number;
  readonly pieces: number;
  readonly idsPerPod: number;
}

const UNIT = 65_536;
const ALL_IDS = 2 ** 32;

/**
 * Returns the ids if the operator assigned none: all but the first range, which contains the host's own users
 * (upstream: kubelet_pods.go getKubeletMappings).
 */
export function defaultIds(idsPerPod: number): IdRange {
  return { hostId: idsPerPod, length: ALL_IDS - idsPerPod };
}

/**
 * Computes the pool (upstream: userns_manager.go MakeUserNsManager). Throws `Invalid`, and the agent does not start
 * then.
 */
export function computeIdPool({
  idsPerPod,
  maxPods,
  ids,
}: {
  idsPerPod: number;
  maxPods: number;
  ids: IdRange;
}): IdPool {
  const refuse = (why: string): never => {
    throw new KubeletError('Invalid', `create user namespace manager: ${why}`, { op: 'prepare user namespaces' });
  };
  if (idsPerPod % UNIT !== 0) refuse(`kubelet user namespace length ${idsPerPod} is not a multiple of ${UNIT}`);
  if (ids.hostId % idsPerPod !== 0) refuse(`kubelet user assigned ID ${ids.hostId} is not a multiple of ${idsPerPod}`);
  // A pod that had id 0 of the host would not be isolated.
  if (ids.hostId < idsPerPod) refuse(`kubelet user assigned ID ${ids.hostId} must be greater or equal to ${idsPerPod}`);
  if (ids.length % idsPerPod !== 0)
    refuse(`kubelet user assigned IDs length ${ids.length} is not a multiple of ${idsPerPod}`);
  const pieces = ids.length / idsPerPod;
  if (pieces < maxPods) refuse(`kubelet user assigned IDs are not enough to support ${maxPods} pods`);
  return { firstId: ids.hostId, pieces, idsPerPod };
}

/** Parses the output of `getsubids`: one line, `0: kubelet 65536 2147483648`. Throws `Invalid`. */
export function parseSubIds(output: string): IdRange {
  const refuse = (why: string): never => {
    throw new KubeletError('Invalid', why, { op: 'getsubids' });
  };
  const lines = output.replace(/^\n+|(?<!\n)\n+$/g, '').split('\n');
  if (lines.length !== 1) refuse(`error parsing line ${JSON.stringify(output)}: it must contain only one line`);
  const parts = (lines[0] ?? '').split(/\s+/).filter((part) => part !== '');
  if (parts.length !== 4) refuse(`invalid line ${JSON.stringify(output)}`);
  const [hostId = 0, length = 0] = parts
    .slice(2)
    .map((part) =>
      /^\d+$/.test(part) && Number(part) < ALL_IDS
        ? Number(part)
        : refuse(`error parsing line ${JSON.stringify(output)}: ${JSON.stringify(part)} is not an id`),
    );
  return { hostId, length };
}

export function overlap(left: IdRange, right: IdRange): boolean {
  return left.hostId < right.hostId + right.length && right.hostId < left.hostId + left.length;
}

/** Whether the range is one of the ranges of the pool. */
export function isPieceOf(pool: IdPool, { hostId, length }: IdRange): boolean {
  const piece = (hostId - pool.firstId) / pool.idsPerPod;
  return length === pool.idsPerPod && Number.isInteger(piece) && piece >= 0 && piece < pool.pieces;
}

/**
 * Selects the first free range after a random one, so that the ids of a removed pod are not reused immediately. Returns
 * undefined if all are in use.
 */
export function selectRange(pool: IdPool, taken: readonly IdRange[], random: number): IdRange | undefined {
  const start = Math.floor(random * pool.pieces);
  // With more candidates than used ranges, one is free. So the search is as short as the list of used ranges.
  const candidates = Math.min(pool.pieces, piecesUnder(pool, taken) + 1);
  for (let step = 0; step < candidates; step++) {
    const range = { hostId: pool.firstId + ((start + step) % pool.pieces) * pool.idsPerPod, length: pool.idsPerPod };
    if (!taken.some((other) => overlap(range, other))) return range;
  }
  return undefined;
}

function piecesUnder(pool: IdPool, taken: readonly IdRange[]): number {
  return taken.reduce((sum, { length }) => sum + Math.ceil(length / pool.idsPerPod) + 1, 0);
}
