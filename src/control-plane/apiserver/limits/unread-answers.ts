import type { Clock } from '../../../base/clock.ts';

export interface UnreadLimits {
  /** What may wait for the reader of one connection. */
  readonly bytesPerConnection: number;
  /** What may wait for all readers together. */
  readonly bytes: number;
  /**
   * How long an answer may wait to be read; one that takes longer to send has a second more for each `bytesPerSecond`.
   */
  readonly readMs: number;
  readonly bytesPerSecond: number;
}

/** An answer that is made and not read yet. */
export interface UnreadAnswer {
  readonly connection: object;
  /** Whose answer it is. */
  readonly user: string;
  readonly bytes: number;
  /** How long it may wait. Absent: as the limits say. */
  readonly waitMs?: number;
  /** Ends the answer where it is. */
  readonly cut: () => void;
}

export interface HeldAnswer {
  /** It has become more, or less. */
  resize(bytes: number): void;
  /** It is read, or nothing waits for it any more. */
  end(): void;
}

interface Held {
  readonly answer: UnreadAnswer;
  readonly sinceMs: number;
  bytes: number;
  cancel: () => void;
}

/** The answers of one connection or one user, the oldest first. */
interface Account {
  bytes: number;
  readonly answers: Set<Held>;
}

/** What a stream and its head take beside the body. */
const BYTES_OF_ANSWER = 8 * 1024;
/** A client that reads takes an answer within this time, and a second more for each `PROMPT_BYTES_PER_SECOND` of it. */
const PROMPT_MS = 2000;
const PROMPT_BYTES_PER_SECOND = 1024 * 1024;
/** Up to this size an answer is always given: health checks do not wait for floods of the same user. */
const SMALL_BYTES = 16 * 1024;

/**
 * The memory that clients hold by not reading. A request gives its seats back when its work is done; from then on its
 * answer counts here. Invariants: 1. no answer waits longer than its time; 2. what waits is within both limits, but for
 * the answer that came last; 3. where there is too much, the oldest answers are cut first, of the connection that has
 * too much, or of the user who holds the most: who does not read never costs others their answers.
 */
export class UnreadAnswers {
  readonly #clock: Clock;
  readonly #limits: UnreadLimits;
  readonly #connections = new Map<object, Account>();
  readonly #users = new Map<string, Account>();
  #bytes = 0;

  constructor(clock: Clock, limits: UnreadLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** All that waits. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Whether an answer that can be asked for again may be given now. It may not where it would cost its own connection
   * or its own user an answer that may well be on its way: who reads, but asks for too much at once, is to wait, and
   * loses nothing.
   */
  hasRoom({ connection, user, bytes }: Pick<UnreadAnswer, 'connection' | 'user' | 'bytes'>): boolean {
    if (bytes <= SMALL_BYTES) return true;
    const more = bytes + BYTES_OF_ANSWER;
    const [onConnection, ofUser] = [this.#connections.get(connection), this.#users.get(user)];
    if (
      onConnection !== undefined &&
      onConnection.bytes + more > this.#limits.bytesPerConnection &&
      this.#isPrompt(onConnection)
    )
      return false;
    if (ofUser === undefined || this.#bytes + more <= this.#limits.bytes) return true;
    const isGreatest = [...this.#users.values()].every((account) => account.bytes <= ofUser.bytes);
    return !isGreatest || !this.#isPrompt(ofUser);
  }

  /** Whether the oldest answer has not waited longer than it takes a client that reads. */
  #isPrompt({ answers }: Account): boolean {
    const [oldest] = answers;
    return (
      oldest !== undefined &&
      this.#clock.monotonicMs() - oldest.sinceMs < PROMPT_MS + (oldest.bytes / PROMPT_BYTES_PER_SECOND) * 1000
    );
  }

  hold(answer: UnreadAnswer): HeldAnswer {
    const held: Held = { answer, sinceMs: this.#clock.monotonicMs(), bytes: 0, cancel: () => undefined };
    accountOf(this.#connections, answer.connection).answers.add(held);
    accountOf(this.#users, answer.user).answers.add(held);
    this.#resize(held, answer.bytes + BYTES_OF_ANSWER);
    const { readMs, bytesPerSecond } = this.#limits;
    const timer = this.#clock.setTimer(answer.waitMs ?? readMs + (answer.bytes / bytesPerSecond) * 1000, () =>
      this.#cut(held),
    );
    held.cancel = () => timer.cancel();
    return { resize: (bytes) => this.#resize(held, bytes + BYTES_OF_ANSWER), end: () => this.#forget(held) };
  }

  #resize(held: Held, bytes: number): void {
    const connection = this.#connections.get(held.answer.connection);
    const user = this.#users.get(held.answer.user);
    if (connection === undefined || user === undefined || !connection.answers.has(held)) return;
    const more = bytes - held.bytes;
    held.bytes = bytes;
    connection.bytes += more;
    user.bytes += more;
    this.#bytes += more;
    if (more > 0) this.#bound(held, connection);
  }

  #bound(newest: Held, connection: Account): void {
    while (connection.bytes > this.#limits.bytesPerConnection) {
      const oldest = oldestBut(newest, connection);
      if (oldest === undefined) break;
      this.#cut(oldest);
    }
    while (this.#bytes > this.#limits.bytes) {
      const oldest = this.#oldestOfGreatest(newest);
      if (oldest === undefined) break;
      this.#cut(oldest);
    }
  }

  #oldestOfGreatest(newest: Held): Held | undefined {
    let greatest: Account | undefined;
    let most = 0;
    for (const account of this.#users.values()) {
      const bytes = account.answers.has(newest) ? account.bytes - newest.bytes : account.bytes;
      if (bytes <= most) continue;
      most = bytes;
      greatest = account;
    }
    return greatest === undefined ? undefined : oldestBut(newest, greatest);
  }

  #cut(held: Held): void {
    this.#forget(held);
    held.answer.cut();
  }

  #forget(held: Held): void {
    held.cancel();
    const { connection, user } = held.answer;
    if (remove(this.#connections, connection, held) && remove(this.#users, user, held)) this.#bytes -= held.bytes;
  }
}

function accountOf<Key>(accounts: Map<Key, Account>, key: Key): Account {
  let account = accounts.get(key);
  if (account === undefined) accounts.set(key, (account = { bytes: 0, answers: new Set() }));
  return account;
}

function remove<Key>(accounts: Map<Key, Account>, key: Key, held: Held): boolean {
  const account = accounts.get(key);
  if (account?.answers.delete(held) !== true) return false;
  account.bytes -= held.bytes;
  if (account.answers.size === 0) accounts.delete(key);
  return true;
}

function oldestBut(newest: Held, { answers }: Account): Held | undefined {
  for (const held of answers) if (held !== newest) return held;
  return undefined;
}
