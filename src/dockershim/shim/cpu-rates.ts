export interface CpuReading {
  readonly atNanos: bigint;
  readonly coreNanos: bigint;
}

/** Processor time used since the previous reading, in billionths of a core. */
export class CpuRates {
  readonly #last = new Map<string, CpuReading>();

  /** undefined for the first reading, and where time or the counter went backwards. */
  next(id: string, now: CpuReading): bigint | undefined {
    const before = this.#last.get(id);
    this.#last.set(id, now);
    if (before === undefined || now.atNanos <= before.atNanos || now.coreNanos < before.coreNanos) return undefined;
    return ((now.coreNanos - before.coreNanos) * 1_000_000_000n) / (now.atNanos - before.atNanos);
  }

  forgetAllBut(ids: ReadonlySet<string>): void {
    for (const id of this.#last.keys()) if (!ids.has(id)) this.#last.delete(id);
  }
}
