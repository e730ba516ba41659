import type { Readable } from 'node:stream';
import { untilAborted } from '../base/until-aborted.ts';

export interface Outgoing {
  readonly method: string;
  /** With its query, and with the prefix before `/api` in the server's address. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Readable;
  /** Whether the body was cut off: HTTP/2 streams end without an error when their connection is lost. */
  wasCut(): boolean;
}

/** The connections to one server, with one identity. */
export interface Connections {
  /**
   * Rejects with `ConnectionFailure`, or with the reason of `signal`; ends the body when that aborts. A `lasting` one
   * may take minutes or hours.
   */
  open(outgoing: Outgoing, signal: AbortSignal, lasting: boolean): Promise<Answer>;
  /** Ends long-lived streams at once and lets other requests finish. New requests use another connection. */
  retire(): void;
  /** Ends everything at once. */
  close(): void;
}

/** No answer came. */
export class ConnectionFailure extends Error {
  /** The server has certainly not begun to process the request. */
  readonly unsent: boolean;
  /** The connection was reused, and may have been closed meanwhile. */
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
