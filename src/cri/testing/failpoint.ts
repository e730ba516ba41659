import { KubeletError } from '../../base/errors.ts';
import { grpcCode, grpcCodeByName } from '../../grpc/grpc-status.ts';
import type { GrpcStatus } from '../../grpc/grpc-status.ts';

/** What is done to one call. */
export type Fault =
  /** The call is made normally. */
  | { kind: 'off' }
  /** The call is not made and fails with this status. */
  | { kind: 'error'; status: GrpcStatus }
  /** The call is not made, and the caller waits until its deadline. */
  | { kind: 'hang' }
  /** The call is made after this delay. */
  | { kind: 'delay'; delayMs: number }
  /** The call is made and its answer is delayed; `Infinity` delays it until the caller gives up. */
  | { kind: 'late'; delayMs: number }
  /** The call is made, but the caller gets this status in place of the answer. */
  | { kind: 'lost'; status: GrpcStatus };

interface Term {
  readonly fault: Fault;
  left: number;
}

const TERM = /^(?:(\d+)\*)?([a-z]+)(?:\((.*)\))?$/;

/**
 * A script for the calls of one method, in the syntax of containerd's failpoints: terms separated by `->`, each
 * `<count>*<type>(<argument>)`. A term applies to `count` calls (without a count: to all further calls), then the next
 * term applies. After the last term, calls are not affected.
 *
 * `off` · `error`, `error(message)`, `error(Unavailable: message)` · `hang` · `delay(ms)` · `late`, `late(ms)` ·
 * `lost`, `lost(Unavailable: message)`
 *
 * Example: `1*off->2*error(Unavailable: down)->1*hang`.
 */
export class Failpoint {
  readonly #terms: Term[];

  /** Fails with `Invalid` if the script cannot be parsed. */
  constructor(script: string) {
    this.#terms = script.split('->').map((term) => parseTerm(term.trim(), script));
  }

  /** Returns the fault for the next call and counts the call. */
  next(): Fault {
    const term = this.#terms.find((candidate) => candidate.left > 0);
    if (term === undefined) return { kind: 'off' };
    term.left--;
    return term.fault;
  }
}

function parseTerm(text: string, script: string): Term {
  const match = TERM.exec(text);
  const fault = match === null ? undefined : parseFault(match[2] ?? '', match[3]);
  if (match === null || fault === undefined)
    throw new KubeletError('Invalid', `cannot read ${JSON.stringify(text)} in failpoint ${JSON.stringify(script)}`);
  return { fault, left: match[1] === undefined ? Infinity : Number(match[1]) };
}

function parseFault(type: string, argument: string | undefined): Fault | undefined {
  switch (type) {
    case 'off':
    case 'hang':
      return argument === undefined ? { kind: type } : undefined;
    case 'error':
      return { kind: 'error', status: parseStatus(argument, 'Unknown') };
    case 'lost':
      return { kind: 'lost', status: parseStatus(argument, 'Unavailable') };
    case 'delay':
      return argument === undefined ? undefined : timed('delay', argument);
    case 'late':
      return argument === undefined ? { kind: 'late', delayMs: Infinity } : timed('late', argument);
    default:
      return undefined;
  }
}

function timed(kind: 'delay' | 'late', argument: string): Fault | undefined {
  return /^\d+$/.test(argument) ? { kind, delayMs: Number(argument) } : undefined;
}

function parseStatus(argument: string | undefined, fallback: 'Unknown' | 'Unavailable'): GrpcStatus {
  const [, name, rest] = /^([A-Za-z]+)(?::\s*(.*))?$/.exec(argument ?? '') ?? [];
  const code = name === undefined ? undefined : grpcCodeByName(name);
  if (code !== undefined) return { code, details: rest ?? 'failpoint' };
  return { code: grpcCode(fallback), details: argument ?? 'failpoint' };
}
