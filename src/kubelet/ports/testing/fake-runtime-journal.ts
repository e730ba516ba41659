import type { CallTarget, FakeOp } from './fake-runtime-script.ts';

/** One write call, from its arrival to its end. `outcome` is empty while it is pending. */
export interface JournalEntry {
  readonly atMs: number;
  /** The client that called, which distinguishes the agent before a restart from the one after it. */
  readonly actor: string;
  readonly op: FakeOp;
  readonly target: CallTarget;
  outcome: '' | 'ok' | string;
}

/**
 * What happened to a container's process, and who caused it: an actor's name, `self` (it exited), or `outside` (a fault
 * of the test).
 */
export interface ProcessEntry {
  readonly atMs: number;
  readonly what: 'started' | 'exited';
  readonly by: string;
  readonly podUid: string;
  readonly name: string;
  readonly attempt: number;
  readonly id: string;
  readonly exitCode: number;
}

/** The record against which simulations check invariants. It is bounded: the oldest half is dropped when it is full. */
export class RuntimeJournal {
  writes: JournalEntry[] = [];
  processes: ProcessEntry[] = [];
  /** Violated invariants as text; empty in a correct run. */
  readonly violations: string[] = [];
  readonly callCounts = new Map<FakeOp, number>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  count(op: FakeOp): void {
    this.callCounts.set(op, (this.callCounts.get(op) ?? 0) + 1);
  }

  write(entry: JournalEntry): void {
    if (this.writes.length >= this.#limit) this.writes = this.writes.slice(this.#limit >> 1);
    this.writes.push(entry);
  }

  process(entry: ProcessEntry): void {
    if (this.processes.length >= this.#limit) this.processes = this.processes.slice(this.#limit >> 1);
    this.processes.push(entry);
  }

  clear(): void {
    this.writes = [];
    this.processes = [];
    this.callCounts.clear();
  }
}
