import type { Clock } from '../../../base/clock.ts';

export interface UnreadLimits {
  /** The limit of unread bytes per connection. */
  readonly bytesPerConnection: number;
  /** The limit of unread bytes of all connections together. */
  readonly bytes: number;
  /** The time that a response may stay unread. A long one has one more second for each `bytesPerSecond` bytes. */
  readonly readMs: number;
  readonly bytesPerSecond: number;
}

/** A response that was created and is not read yet. */
export interface UnreadAnswer {
  readonly connection: object;
  /** The user of the request. */
  readonly user: string;
  readonly bytes: number;
  /** The time limit of this response. The default is that of the limits. */
  readonly waitMs?: number;
  /** Aborts the response. */
  readonly cut: () => void;
}

export interface HeldAnswer {
  /** Records that the number of unread bytes changed. */
  resize(bytes: number): void;
  /** Records that the response was read completely or dropped. */
  end(): void;
}

interface Held {
  answer: UnreadAnswer;
  readonly sinceMs: number;
  bytes: number;
  cancel: () => void;
}

/** The responses of one connection or one user, oldest first. */
interface Account {
  bytes: number;
  readonly answers: Set<Held>;
}

/** The memory of a stream and its head in addition to the body. */
const BYTES_OF_ANSWER = 8 * 1024;
/** The time in which an active client reads a response, plus one second for each `PROMPT_BYTES_PER_SECOND` bytes. */
const PROMPT_MS = 2000;
const PROMPT_BYTES_PER_SECOND = 1024 * 1024;
/** The size up to which responses are always sent, so that health checks work during a flood of the same user. */
const SMALL_BYTES = 16 * 1024;

/**
 * Limits the memory of responses that clients do not read. A request releases its seats when its work is done; from
 * then on its response counts here. Invariants:
 * 1. No response stays unread longer than its time.
 * 2. The unread bytes are within both limits, except for the last response.
 * 3. Above a limit, the oldest responses are aborted first: those of the connection above its limit, or of the user
 *    with the most bytes. So a client that does not read never affects others.
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

  /** The number of all unread bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Whether a repeatable response may be sent now. It may not if it would abort an earlier response of the same
   * connection or user that may still be in transit. A client that reads but requests too much at once has to wait, and
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

  /** Whether the oldest response has not waited longer than an active client needs. */
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
    const { answer } = held;
    this.#forget(held);
    answer.cut();
  }

  #forget(held: Held): void {
    held.cancel();
    const { connection, user } = held.answer;
    if (remove(this.#connections, connection, held) && remove(this.#users, user, held)) this.#bytes -= held.bytes;
    held.answer = ended;
    held.cancel = nothing;
  }
}

const nothing = (): void => undefined;
/**
 * Takes the place of an answer that has ended. Without it the request, its response and its body stay in memory until
 * the next major garbage collection: V8 links an outgrown table of a Set to its successor, and an outgrown table that
 * has become old keeps all later ones with the entries that they had.
 */
const ended: UnreadAnswer = { connection: {}, user: '', bytes: 0, cut: nothing };

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
