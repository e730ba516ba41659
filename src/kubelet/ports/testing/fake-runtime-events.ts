import type { Clock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { EventSourceKind, RuntimeEvent, RuntimeEventSource } from '../runtime.ts';

interface Subscriber {
  readonly kind: EventSourceKind;
  readonly onEvent: (event: RuntimeEvent) => void;
  readonly break: (error: KubeletError) => void;
}

type Distortion = (event: RuntimeEvent) => 'drop' | 'duplicate' | { delayMs: number } | undefined;

/**
 * The event streams of the fake runtime, and their faults. Faults affect all subscribers. A CRI stream contains the
 * pod's UID and its whole status. containerd's contains ids, and code and time of an exit.
 */
export class FakeEventHub {
  readonly #clock: Clock;
  readonly #subscribers = new Set<Subscriber>();
  readonly #unsupported = new Set<EventSourceKind>();
  #distortions: Distortion[] = [];
  #held: RuntimeEvent[] | undefined;
  #holdCount = 0;
  #isDown: () => boolean;
  /** The number of events delivered to subscribers. */
  delivered = 0;

  constructor(clock: Clock, isDown: () => boolean) {
    this.#clock = clock;
    this.#isDown = isDown;
  }

  get subscriberCount(): number {
    return this.#subscribers.size;
  }

  /** Makes subscriptions to this kind fail with Unimplemented. An existing stream of it stays open. */
  unsupported(kind: EventSourceKind, value = true): void {
    if (value) this.#unsupported.add(kind);
    else this.#unsupported.delete(kind);
  }

  /** Loses the next `times` events that match. */
  drop(times = Infinity, match: (event: RuntimeEvent) => boolean = () => true): () => void {
    return this.#distort(times, match, 'drop');
  }

  /** Delivers the next `times` events that match twice. */
  duplicate(times = Infinity, match: (event: RuntimeEvent) => boolean = () => true): () => void {
    return this.#distort(times, match, 'duplicate');
  }

  /** Delivers the next `times` events that match `delayMs` late, with the content of the original time. */
  delay(delayMs: number, times = Infinity, match: (event: RuntimeEvent) => boolean = () => true): () => void {
    return this.#distort(times, match, { delayMs });
  }

  /** Holds the next `count` events and delivers them in reverse order with the last of them. */
  reorder(count: number): void {
    this.#held = [];
    this.#holdCount = count;
  }

  /** Breaks every stream, as the exit of a runtime does. */
  disconnect(message = 'the connection was closed'): void {
    for (const subscriber of [...this.#subscribers])
      subscriber.break(new KubeletError('Unavailable', message, { op: 'events' }));
  }

  source(kind: EventSourceKind, isDead: () => boolean = () => false): RuntimeEventSource {
    return { kind, subscribe: (handlers, signal) => this.#subscribe({ kind, isDead }, handlers, signal) };
  }

  /** Sends an event. Only CRI subscribers receive `event.pod`. */
  emit(event: RuntimeEvent): void {
    if (this.#subscribers.size === 0) return;
    for (const distortion of this.#distortions) {
      const effect = distortion(event);
      if (effect === undefined) continue;
      if (effect === 'drop') return;
      if (effect === 'duplicate') this.#pass(event);
      else {
        this.#clock.setTimer(effect.delayMs, () => this.#deliver(event));
        return;
      }
    }
    this.#pass(event);
  }

  get wantsPods(): boolean {
    for (const subscriber of this.#subscribers) if (subscriber.kind === 'cri') return true;
    return false;
  }

  #pass(event: RuntimeEvent): void {
    if (this.#held === undefined) {
      this.#deliver(event);
      return;
    }
    this.#held.push(event);
    if (this.#held.length < this.#holdCount) return;
    const held = this.#held.reverse();
    this.#held = undefined;
    for (const earlier of held) this.#deliver(earlier);
  }

  #deliver(event: RuntimeEvent): void {
    for (const subscriber of this.#subscribers) {
      this.delivered++;
      const { kind, id, atMs, podUid, pod, exit } = event;
      // CRI has no separate event for an OOM kill.
      if (kind === 'changed' && subscriber.kind === 'cri') continue;
      const seen: RuntimeEvent = subscriber.kind === 'cri' ? { kind, id, atMs, podUid, pod } : { kind, id, atMs, exit };
      // Never inside the runtime's own change, and only to streams that are still open.
      queueMicrotask(() => {
        if (this.#subscribers.has(subscriber)) subscriber.onEvent(seen);
      });
    }
  }

  #distort(times: number, match: (event: RuntimeEvent) => boolean, effect: ReturnType<Distortion>): () => void {
    let left = times;
    const distortion: Distortion = (event) => {
      if (left <= 0 || !match(event)) return undefined;
      left--;
      return effect;
    };
    this.#distortions.push(distortion);
    return () => {
      this.#distortions = this.#distortions.filter((other) => other !== distortion);
    };
  }

  #subscribe(
    as: { kind: EventSourceKind; isDead: () => boolean },
    handlers: Parameters<RuntimeEventSource['subscribe']>[0],
    signal: AbortSignal,
  ): Promise<void> {
    if (as.isDead()) return new Promise(() => undefined);
    if (this.#isDown()) return Promise.reject(new KubeletError('Unavailable', 'the runtime is down', { op: 'events' }));
    if (this.#unsupported.has(as.kind))
      return Promise.reject(
        new KubeletError('Unimplemented', `unknown method for ${as.kind} events`, { op: 'events' }),
      );
    return new Promise((resolve, reject) => {
      const subscriber: Subscriber = {
        kind: as.kind,
        onEvent: (event) => {
          if (!as.isDead()) handlers.onEvent(event);
        },
        break: (error) => {
          this.#subscribers.delete(subscriber);
          signal.removeEventListener('abort', stop);
          if (!as.isDead()) reject(error);
        },
      };
      const stop = (): void => {
        this.#subscribers.delete(subscriber);
        resolve();
      };
      if (signal.aborted) return stop();
      signal.addEventListener('abort', stop, { once: true });
      this.#subscribers.add(subscriber);
      queueMicrotask(() => {
        if (!as.isDead() && this.#subscribers.has(subscriber)) handlers.onOpen();
      });
    });
  }
}
