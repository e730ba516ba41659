import type { Readable } from 'node:stream';
import { untilAborted } from '../base/until-aborted.ts';

export interface Outgoing {
  readonly method: string;
  /** With its query, and with what stands before `/api` in the address of the server. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Readable;
  /**
   * Whether a body that has ended, ended before its time: HTTP/2 streams of a connection that went away do so without
   * an error.
   */
  wasCut(): boolean;
}

/** The connections to one server, with one identity. */
export interface Connections {
  /**
   * Rejects with `ConnectionFailure`, or with the reason of `signal`; ends the body when that aborts. A `lasting` one
   * may take minutes or hours.
   */
  open(outgoing: Outgoing, signal: AbortSignal, lasting: boolean): Promise<Answer>;
  /** Ends long-lived streams now and lets other requests finish. New requests use another connection. */
  retire(): void;
  /** Ends everything at once. */
  close(): void;
}

/** No answer came. */
export class ConnectionFailure extends Error {
  /** The server has certainly not begun to work on it. */
  readonly unsent: boolean;
  /** The connection had served others before, and may have been closed meanwhile. */
  readonly reused: boolean;

  constructor(
    message: string,
    {
      unsent = false,
      reused = false,
      cause,
    }: { readonly unsent?: boolean; readonly reused?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.name = 'ConnectionFailure';
    this.unsent = unsent;
    this.reused = reused;
  }
}

/** Like `untilAborted`, but rejects with the reason of the signal. The work itself goes on for other callers. */
export function untilAbortedWithReason<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return untilAborted(work, signal, () => signal.reason as unknown);
}
