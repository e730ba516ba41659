import { formatIp } from '../../base/ip-address.ts';
import { parseIpPrefix } from '../../base/ip-prefix.ts';
import type { IPBlock } from '../../api/networking/network-policy.ts';

/** The first and the last address, as numbers. */
type Span = readonly [first: bigint, last: bigint];

/** Ranges of addresses in ascending order that do not touch or overlap, each as `FIRST-LAST`. */
export interface AddressRanges {
  readonly v4: readonly string[];
  readonly v6: readonly string[];
}

/** The addresses of all blocks without their exceptions. Text that is not a range selects nothing. */
export function rangesOfBlocks(blocks: readonly IPBlock[]): AddressRanges {
  const spans: Record<32 | 128, Span[]> = { 32: [], 128: [] };
  for (const { cidr, except = [] } of blocks) {
    const block = parseIpPrefix(cidr);
    if (block === undefined) continue;
    const holes = except.flatMap((each): Span[] => {
      const hole = parseIpPrefix(each);
      return hole === undefined || hole.bits !== block.bits ? [] : [[hole.first, hole.last]];
    });
    spans[block.bits].push(...withoutHoles([block.first, block.last], merged(holes)));
  }
  return { v4: merged(spans[32]).map(textOf(4)), v6: merged(spans[128]).map(textOf(16)) };
}

function withoutHoles([first, last]: Span, holes: readonly Span[]): Span[] {
  const rest: Span[] = [];
  let next = first;
  for (const [start, end] of holes) {
    if (end < next || start > last) continue;
    if (start > next) rest.push([next, start - 1n]);
    next = end + 1n;
  }
  if (next <= last) rest.push([next, last]);
  return rest;
}

function merged(spans: readonly Span[]): Span[] {
  const result: [bigint, bigint][] = [];
  for (const [first, last] of [...spans].sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0))) {
    const before = result.at(-1);
    if (before !== undefined && first <= before[1] + 1n) before[1] = last > before[1] ? last : before[1];
    else result.push([first, last]);
  }
  return result;
}

const textOf =
  (size: 4 | 16) =>
  ([first, last]: Span): string =>
    first === last ? addressOf(first, size) : `${addressOf(first, size)}-${addressOf(last, size)}`;

function addressOf(value: bigint, size: 4 | 16): string {
  return formatIp(
    Uint8Array.from({ length: size }, (_, index) => Number((value >> BigInt(8 * (size - 1 - index))) & 255n)),
  );
}
