import type { CelResult } from '../values.ts';
import { CelError, Duration, Timestamp } from '../values.ts';

const SECOND_NS = 1_000_000_000n;
/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999999Z. */
const EARLIEST_NS = -62_135_596_800n * SECOND_NS;
const LATEST_NS = 253_402_300_800n * SECOND_NS - 1n;

export function checkedTimestamp(nanos: bigint): CelResult {
  return nanos >= EARLIEST_NS && nanos <= LATEST_NS ? new Timestamp(nanos) : new CelError('timestamp overflow');
}

export function checkedDuration(nanos: bigint): CelResult {
  return nanos === BigInt.asIntN(64, nanos) ? new Duration(nanos) : new CelError('duration overflow');
}
