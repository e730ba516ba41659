/** Lines wait for the previous write. When this many bytes wait, the producer waits, too. */
const MOST_WAITING_BYTES = 1024 * 1024;

/**
 * Appends lines in the order of `push`. All lines that arrive during one write go into the next one: containers write
 * thousands of short lines a second, and Docker sends each line separately.
 */
export class LineWriter {
  readonly #append: (lines: readonly Uint8Array[]) => Promise<void>;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> | undefined;

  constructor(append: (lines: readonly Uint8Array[]) => Promise<void>) {
    this.#append = append;
  }

  /** Resolves when there is room for more. Rejects when an earlier write failed. */
  async push(lines: readonly Uint8Array[]): Promise<void> {
    for (const line of lines) {
      this.#waiting.push(line);
      this.#waitingBytes += line.length;
    }
    this.#start();
    if (this.#waitingBytes > MOST_WAITING_BYTES) await this.end();
  }

  /** Resolves when everything is written. Rejects when a write failed; the lines that waited for it are lost. */
  async end(): Promise<void> {
    await this.#writing;
  }

  #start(): void {
    if (this.#writing !== undefined) return;
    const writing = this.#drain();
    // A failure is thrown by the next push or at the end.
    writing.then(
      () => (this.#writing = undefined),
      () => undefined,
    );
    this.#writing = writing;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      this.#waiting = [];
      this.#waitingBytes = 0;
      await this.#append(lines);
    }
  }
}
