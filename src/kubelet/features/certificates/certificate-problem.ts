import type { CertificateFacts } from '../../../pki/key-pair.ts';
import { isExpired } from './decide-rotation.ts';

const DAY_MS = 86_400_000;
/** The share of a certificate's life that is left when a missing rotation is reported. */
const LATE_AT_SHARE = 0.1;

/** A problem of a certificate, for the report of node problems. It does not keep pods from running. */
export interface CertificateProblem {
  readonly message: string;
  readonly blocking: false;
}

export interface CertificateState {
  readonly what: string;
  /** The properties of the last certificate. */
  readonly last: CertificateFacts | undefined;
  /** The error of the last attempt to get a new certificate. */
  readonly failure: string | undefined;
  readonly nowMs: number;
}

/** Returns at most one problem: the certificate is missing, has expired, expires soon, or the last attempt failed. */
export function certificateProblem({ what, last, failure, nowMs }: CertificateState): readonly CertificateProblem[] {
  const why = failure === undefined ? '' : `: ${failure}`;
  const say = (message: string): readonly CertificateProblem[] => [{ message, blocking: false }];
  if (last === undefined) return say(`there is no ${what} yet${why}`);
  if (isExpired(last, nowMs)) return say(`the ${what} has expired ${daysText(nowMs - last.notAfterMs)} ago${why}`);
  const isLate = last.notAfterMs - nowMs < (last.notAfterMs - last.notBeforeMs) * LATE_AT_SHARE;
  return isLate || failure !== undefined
    ? say(`the ${what} expires in ${daysText(last.notAfterMs - nowMs)} and was not rotated${why}`)
    : [];
}

function daysText(ms: number): string {
  if (ms >= 2 * DAY_MS) return `${Math.floor(ms / DAY_MS)} days`;
  const hours = Math.floor(ms / 3_600_000);
  return hours >= 2 ? `${hours} hours` : `${Math.max(0, Math.floor(ms / 60_000))} minutes`;
}
