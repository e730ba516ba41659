import type { Context } from 'hono';
import { stream } from 'hono/streaming';
import type { Clock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';

export interface LogTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

export interface LogRequest {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number;
}

/** Reads a log. Rejects with NotFound or Invalid before anything is read. `signal` ends the iteration. */
export type ReadLog = (
  target: LogTarget,
  request: LogRequest,
  signal: AbortSignal,
) => Promise<AsyncIterable<Uint8Array>>;

const MOST_STREAMS = 16;
const MOST_LINES = 5000;
/** The maximum duration of a followed log. Its reader must be authorized again afterwards. */
const LIFE_MS = 3_600_000;

/** Streams logs of containers as plain text. The number of concurrent streams is limited. */
export class LogStreams {
  readonly #read: ReadLog;
  readonly #clock: Clock;
  #open = 0;

  constructor(read: ReadLog, clock: Clock) {
    this.#read = read;
    this.#clock = clock;
  }

  async answer(context: Context): Promise<Response> {
    if (this.#open >= MOST_STREAMS)
      throw new KubeletError('Unavailable', `${MOST_STREAMS} logs are being read already; close one of them`);
    const { namespace = '', pod = '', container = '' } = context.req.param();
    const abort = new AbortController();
    this.#open++;
    try {
      const log = await this.#read({ namespace, pod, container }, logRequest(context), abort.signal);
      return this.#stream(context, log, abort);
    } catch (error) {
      this.#open--;
      throw error;
    }
  }

  #stream(context: Context, log: AsyncIterable<Uint8Array>, abort: AbortController): Response {
    context.header('Content-Type', 'text/plain; charset=utf-8');
    context.header('Transfer-Encoding', 'chunked');
    const life = this.#clock.setTimer(LIFE_MS, () => abort.abort());
    const answer = stream(context, async (out) => {
      out.onAbort(() => abort.abort());
      try {
        for await (const piece of log) {
          if (out.aborted) break;
          await out.write(piece);
        }
      } finally {
        abort.abort();
        life.cancel();
        this.#open--;
      }
    });
    // The body of HEAD is dropped unread, so that the log is closed immediately.
    if (context.req.method === 'HEAD') void answer.body?.cancel();
    return answer;
  }
}

function logRequest(context: Context): LogRequest {
  const lines = Number(context.req.query('tailLines') ?? '500');
  if (!Number.isSafeInteger(lines) || lines < 0 || lines > MOST_LINES)
    throw new KubeletError('Invalid', `tailLines must be a whole number up to ${MOST_LINES}`);
  return {
    follow: context.req.query('follow') === 'true',
    previous: context.req.query('previous') === 'true',
    timestamps: context.req.query('timestamps') === 'true',
    tailLines: lines,
  };
}
