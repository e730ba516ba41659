/**
 * What a request takes of the server's limits. Given back when its work is done and its answer is out, whichever is later: a client that resets its
 * streams at once would otherwise have any amount of work done at the same time (CVE-2023-44487, HTTP/2 rapid reset).
 */
export class Seats {
  readonly #releases: (() => void)[] = [];
  #isWorkDone = false;
  #isAnswerOut = false;

  take(release: () => void): void {
    this.#releases.push(release);
  }

  workDone(): void {
    this.#isWorkDone = true;
    this.#settle();
  }

  answerOut(): void {
    this.#isAnswerOut = true;
    this.#settle();
  }

  #settle(): void {
    if (this.#isWorkDone && this.#isAnswerOut) for (const release of this.#releases.splice(0)) release();
  }
}
