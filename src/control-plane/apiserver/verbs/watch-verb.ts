import { PROTOBUF_CONTENT_TYPE } from '../../../api/protobuf/decode-protobuf.ts';
import { unframed } from '../../../api/protobuf/message-parts.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { Registry } from '../../registry/registry.ts';
import type { UnreadAnswers } from '../limits/unread-answers.ts';
import type { Reply, ReplyStream } from '../http/reply.ts';
import type { ObjectMessages } from '../output/messages.ts';
import { negotiate } from '../output/negotiate.ts';
import type { Output } from '../output/negotiate.ts';
import { parseIncludeObject } from '../output/table.ts';
import type { Exchange } from '../path/exchange.ts';
import type { ServedResource } from '../path/served-resource.ts';
import { FlushScheduler } from '../watch/flush-scheduler.ts';
import { FrameCache } from '../watch/frame-cache.ts';
import { WatchConnection } from '../watch/watch-connection.ts';
import type { FrameOutput, WatchConnectionOptions } from '../watch/watch-connection.ts';
import { frameForm } from '../watch/watch-frames.ts';
import { openWatchSocket } from '../watch/watch-socket.ts';
import { parseWatchOptions } from './list-options.ts';
import { outputOf, resourceRequest } from './resource-verbs.ts';

export interface WatchVerbOptions {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly minRequestTimeoutMs: number;
  readonly watchBufferBytes: number;
  readonly unread: UnreadAnswers;
  readonly messages: ObjectMessages;
  readonly onEvents?: (resource: ServedResource, events: number, bytes: number) => void;
}

/** A watch is a stream of JSON or protobuf messages; other encodings are not available. */
const watchOutput = (output: Output): Output => (output.encoding === 'yaml' ? negotiate('application/json') : output);

/** How long a watch may be blocked because its peer does not read. */
const MOST_STANDSTILL_MS = 300_000;

/** Watches over chunked bodies and over WebSockets. */
export class WatchVerb {
  readonly #options: WatchVerbOptions;
  readonly #scheduler: FlushScheduler;
  readonly #frames = new FrameCache();
  readonly #open = new Set<WatchConnection>();
  #isStopping = false;

  constructor(options: WatchVerbOptions) {
    this.#options = options;
    this.#scheduler = new FlushScheduler(options.clock);
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** Ends all watches; new ones end immediately. */
  stop(): void {
    this.#isStopping = true;
    for (const connection of this.#open) connection.end(undefined);
  }

  async watch(exchange: Exchange, resource: ServedResource): Promise<Reply> {
    const { encoding, form } = watchOutput(outputOf(exchange, resource.definition));
    const include = form.as === 'table' ? parseIncludeObject(exchange.query.get('includeObject')) : 'Metadata';
    const { options, timeoutSeconds } = parseWatchOptions(exchange.query, exchange.info);
    const { registry, random, minRequestTimeoutMs } = this.#options;
    const { http } = exchange;
    const target = new LateOutput();
    const messages = encoding === 'protobuf' ? this.#options.messages : undefined;
    const connection = this.#connect(exchange, resource, {
      form: frameForm(resource.definition, { form, include, messages }),
      output: target,
      allowBookmarks: options.allowBookmarks === true,
    });
    const request = resourceRequest(exchange, resource.definition, {
      dryRun: false,
      fieldManager: '',
      fieldValidation: 'Ignore',
    });
    // A watch from a version that is too old or too new sends an error event and ends (upstream: the cacher's error
    // watchers).
    const watch = await registry.watch({ ...request, name: '' }, options, connection).catch((error: unknown) => {
      if (!isApiError(error, 'Expired', 'Timeout')) throw error;
      connection.end(error);
      return undefined;
    });
    connection.goLive();
    this.#open.add(connection);
    http.onFinished(() => {
      watch?.close();
      connection.closed();
      this.#open.delete(connection);
    });
    if (watch !== undefined)
      connection.endAfter(
        timeoutSeconds === undefined ? minRequestTimeoutMs * (1 + random.next()) : timeoutSeconds * 1000,
      );
    if (this.#isStopping) connection.end(undefined);
    const attach = (to: FrameOutput): void => {
      target.attach(to);
      connection.resume();
    };
    if (http.upgrade !== undefined)
      return {
        kind: 'taken',
        status: 101,
        take: () =>
          void openWatchSocket(http, {
            attach,
            resume: () => connection.resume(),
            ...(encoding === 'protobuf' && { message: unframed }),
          }),
      };
    return {
      kind: 'stream',
      status: 200,
      headers: {
        'content-type': encoding === 'protobuf' ? `${PROTOBUF_CONTENT_TYPE};stream=watch` : 'application/json',
      },
      start: (out) => attach(streamOutput(out, connection)),
    };
  }

  #connect(
    exchange: Exchange,
    resource: ServedResource,
    { form, output, allowBookmarks }: Pick<WatchConnectionOptions, 'form' | 'output' | 'allowBookmarks'>,
  ): WatchConnection {
    const { clock, watchBufferBytes, onEvents, unread, log } = this.#options;
    const { http, user } = exchange;
    return new WatchConnection({
      form,
      output,
      clock,
      scheduler: this.#scheduler,
      frames: this.#frames,
      allowBookmarks,
      separate: http.upgrade !== undefined,
      hold: (bytes) =>
        unread.hold({
          connection: http.connection,
          user: user.name,
          bytes,
          waitMs: MOST_STANDSTILL_MS,
          cut: () => http.cut(),
        }),
      onFault: (error) =>
        log.error('Unable to write a watch event; ending the watch', {
          path: exchange.path.slice(0, 512),
          error: error instanceof Error ? (error.stack ?? error.message) : String(error),
        }),
      limitBytes: watchBufferBytes,
      onSent: (events, bytes) => onEvents?.(resource, events, bytes),
    });
  }
}

/** Events may arrive before the head of the response is sent; until then they are buffered. */
class LateOutput implements FrameOutput {
  #to: FrameOutput | undefined;
  #wantsEnd = false;
  readonly #early: Buffer[] = [];

  attach(to: FrameOutput): void {
    this.#to = to;
    for (const bytes of this.#early.splice(0)) to.send(bytes);
    if (this.#wantsEnd) to.end();
  }

  send(bytes: Buffer): boolean {
    if (this.#to !== undefined) return this.#to.send(bytes);
    this.#early.push(bytes);
    return false;
  }

  end(): void {
    if (this.#to === undefined) this.#wantsEnd = true;
    else this.#to.end();
  }

  destroy(): void {
    this.#to?.destroy();
  }
}

function streamOutput(out: ReplyStream, connection: WatchConnection): FrameOutput {
  out.onDrain(() => connection.resume());
  out.onClose(() => connection.closed());
  return { send: (bytes) => out.write(bytes), end: () => out.end(), destroy: () => out.destroy() };
}
