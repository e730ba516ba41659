import { KubeletError } from '../../base/errors.ts';
import { grpcCode, grpcCodeByName } from '../../grpc/grpc-status.ts';
import type { GrpcStatus } from '../../grpc/grpc-status.ts';

/** What happens to one call. */
export type Fault =
  /** Nothing. */
  | { kind: 'off' }
  /** The call is not made; it fails with this status. */
  | { kind: 'error'; status: GrpcStatus }
  /** The call is not made and never answered: the caller's deadline ends it. */
  | { kind: 'hang' }
  /** The call is made after this wait. */
  | { kind: 'delay'; delayMs: number }
  /** The call is made, its answer held back this long; `Infinity` keeps it until the caller has given up. */
  | { kind: 'late'; delayMs: number }
  /** The call is made, but the caller hears this status instead of the answer. */
  | { kind: 'lost'; status: GrpcStatus };

interface Term {
  readonly fault: Fault;
  left: number;
}

const TERM = /^(?:(\d+)\*)?([a-z]+)(?:\((.*)\))?$/;

/**
 * A script for the calls of one method, in the language of containerd's failpoints: terms joined by `->`, each
 * `<count>*<type>(<argument>)`. A term serves `count` calls (without a count: all that follow), then the next one does;
 * after the last, nothing happens any more.
 *
 * `off` · `error`, `error(message)`, `error(Unavailable: message)` · `hang` · `delay(ms)` · `late`, `late(ms)` ·
 * `lost`, `lost(Unavailable: message)`
 *
 * Example: `1*off->2*error(Unavailable: down)->1*hang`.
 */
export class Failpoint {
  readonly #terms: Term[];

  /** Fails with `Invalid` if the script cannot be read. */
  constructor(script: string) {
    this.#terms = script.split('->').map((term) => parseTerm(term.trim(), script));
  }

  /** The fault for the next call; counts it. */
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
