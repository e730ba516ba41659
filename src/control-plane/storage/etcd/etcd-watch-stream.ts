import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { DuplexCall, GrpcChannel } from '../../../grpc/grpc-channel.ts';
import type { StorageEvent } from '../storage.ts';
import type { ValueCodec } from '../value-codec.ts';
import type { EtcdClient } from './etcd-client.ts';
import { Event_EventType, WatchRequest, WatchResponse } from './generated/etcd-v3.ts';

const PATH = '/etcdserverpb.Watch/Watch';
/** etcd's notation of a range over all keys: two zero bytes. */
const allKeys = { key: '\0', rangeEnd: '\0' };
const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 3000;

export interface Feed {
  /** The revision up to which everything was delivered. */
  readonly position: number;
  close(): void;
}

export interface FeedHandlers {
  /** Delivers whole revisions, in order. */
  readonly deliver: (events: readonly StorageEvent[]) => void;
  readonly compacted: () => void;
}

interface OpenFeed extends FeedHandlers {
  readonly id: number;
  position: number;
  /** The parts of an answer that etcd splits because of its size. */
  parts: StorageEvent[];
}

/**
 * One gRPC stream for any number of feeds. A feed delivers every write to every key, in order. Invariants:
 * 1. A feed requests its own position and drops events that are not newer. So etcd refuses it if a write after the
 *    position may have been compacted (otherwise a deletion at exactly the compacted revision would be missing).
 * 2. After an interruption the stream is opened again, if necessary on another member, and each feed continues from its
 *    position. No event is lost or repeated.
 * 3. Only the handlers of open feeds are called.
 */
export class EtcdWatchStream {
  readonly #client: EtcdClient;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #onBreak: () => void;
  readonly #codec: ValueCodec;
  readonly #feeds = new Map<number, OpenFeed>();
  #state:
    | { kind: 'idle' }
    | { kind: 'connecting' }
    | { kind: 'open'; call: DuplexCall; channel: GrpcChannel }
    | { kind: 'waiting'; timer: Timer }
    | { kind: 'closed' } = { kind: 'idle' };
  #failures = 0;
  #nextId = 1;

  constructor(options: { client: EtcdClient; clock: Clock; log: Logger; codec: ValueCodec; onBreak: () => void }) {
    this.#client = options.client;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#codec = options.codec;
    this.#onBreak = options.onBreak;
  }

  get open(): boolean {
    return this.#state.kind === 'open';
  }

  add(position: number, handlers: FeedHandlers): Feed {
    const feed: OpenFeed = { ...handlers, id: this.#nextId++, position: Math.max(position, 1), parts: [] };
    this.#feeds.set(feed.id, feed);
    if (this.#state.kind === 'open') this.#create(this.#state.call, feed);
    else if (this.#state.kind === 'idle') void this.#connect();
    return {
      get position() {
        return feed.position;
      },
      close: () => {
        if (!this.#feeds.delete(feed.id) || this.#state.kind !== 'open') return;
        this.#send(this.#state.call, { cancelRequest: { watchId: feed.id } });
      },
    };
  }

  /** Opens the stream on another member. */
  restart(why: string): void {
    if (this.#state.kind !== 'open') return;
    this.#state.call.cancel();
    this.#client.leave(this.#state.channel);
    this.#broke(why);
  }

  close(): void {
    if (this.#state.kind === 'open') this.#state.call.cancel();
    if (this.#state.kind === 'waiting') this.#state.timer.cancel();
    this.#state = { kind: 'closed' };
    this.#feeds.clear();
  }

  async #connect(): Promise<void> {
    this.#state = { kind: 'connecting' };
    try {
      const channel = await this.#client.connect();
      if (this.#stateIs('closed')) return;
      // A member that lost its cluster must say so rather than stay silent.
      const call: DuplexCall = channel.duplex(
        { op: 'Watch', path: PATH, metadata: { hasleader: 'true' } },
        {
          message: (bytes) => this.#receive(WatchResponse.decode(bytes)),
          end: (error) => {
            this.#client.leave(channel);
            this.#broke(error?.message ?? 'etcd ended it');
          },
        },
      );
      this.#state = { kind: 'open', call, channel };
      for (const feed of this.#feeds.values()) this.#create(call, feed);
    } catch (error) {
      this.#broke(errorMessage(error));
    }
  }

  #stateIs(kind: 'closed'): boolean {
    return this.#state.kind === kind;
  }

  #broke(why: string): void {
    if (this.#state.kind === 'closed') return;
    const delayMs = Math.min(FIRST_RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS);
    if (this.#failures === 0) this.#log.warn('The watch of etcd ended; resuming it', { error: why });
    this.#failures++;
    this.#state = { kind: 'waiting', timer: this.#clock.setTimer(delayMs, () => void this.#connect()) };
    this.#onBreak();
  }

  #create(call: DuplexCall, feed: OpenFeed): void {
    feed.parts = [];
    this.#send(call, {
      createRequest: { ...allKeys, startRevision: feed.position, watchId: feed.id, fragment: true },
    });
  }

  #send(call: DuplexCall, request: Parameters<typeof WatchRequest.fromPartial>[0]): void {
    call.write(WatchRequest.encode(WatchRequest.fromPartial(request)).finish());
  }

  #receive(response: WatchResponse): void {
    const feed = this.#feeds.get(Number(response.watchId));
    if (response.canceled) return this.#canceled(response, feed);
    this.#failures = 0;
    if (feed === undefined) return;
    for (const { type, kv } of response.events) {
      const revision = Number(kv?.modRevision ?? 0n);
      if (kv === undefined || revision <= feed.position) continue;
      feed.parts.push(
        type === Event_EventType.DELETE
          ? { type: 'delete', key: kv.key, value: '', revision }
          : { type: 'put', key: kv.key, value: this.#codec.decode(kv.value), revision },
      );
    }
    const last = feed.parts.at(-1);
    if (response.fragment || last === undefined) return;
    const events = feed.parts;
    feed.parts = [];
    feed.position = last.revision;
    feed.deliver(events);
  }

  #canceled(response: WatchResponse, feed: OpenFeed | undefined): void {
    // The answer to our own cancelling.
    if (feed === undefined && response.watchId > 0n) return;
    if (feed !== undefined && response.compactRevision > 0n) {
      this.#feeds.delete(feed.id);
      feed.compacted();
      return;
    }
    // No leader, no right to, too many watches: the stream is of no use to the other feeds either.
    if (this.#state.kind === 'open') this.#state.call.cancel();
    this.#broke(response.cancelReason);
  }
}
