/**
 * The operations of clients, and whether one register for each key explains them (linearizability). Each write has a
 * unique value and a revision of the store. All orders are therefore known, and the check is a comparison.
 */
export interface Write {
  readonly key: string;
  readonly value: string;
  readonly invokedMs: number;
  /** When it was acknowledged; absent: the outcome is unknown. */
  readonly doneMs?: number;
  readonly revision?: number;
}

export interface Read {
  readonly key: string;
  readonly value: string;
  readonly revision: number;
  readonly invokedMs: number;
  readonly doneMs: number;
}

/** In the order of the store. */
export interface Change {
  readonly key: string;
  readonly value: string;
  readonly revision: number;
}

/** The events of a watch from a list, or from the end of the previous part, until the next interruption. */
export interface WatchPart {
  readonly after: number;
  /** The revision up to which the watcher has received all events, according to the server. */
  until: number;
  readonly seen: readonly Change[];
}

export interface History {
  readonly writes: readonly Write[];
  readonly reads: readonly Read[];
  readonly truth: readonly Change[];
  readonly watches: readonly WatchPart[];
}

/** The operations that no sequential order explains; empty if the history is linearizable. */
export function findFaults({ writes, reads, truth, watches }: History): string[] {
  const faults: string[] = [];
  const byRevision = new Map(truth.map((change) => [change.revision, change]));
  const revisionOf = new Map(truth.map(({ value, revision }) => [value, revision]));
  if (revisionOf.size !== truth.length) faults.push('a write took effect twice');
  for (const { key, value, revision, doneMs } of writes) {
    if (doneMs === undefined) continue;
    if (revision === undefined || byRevision.get(revision)?.value !== value)
      faults.push(`the acknowledged write of ${value} to ${key} is lost`);
  }
  const invoked = new Map(writes.map(({ value, invokedMs }) => [value, invokedMs]));
  // A later operation on the same key must not see less than what had ended before it began.
  const ended = [
    ...writes.flatMap(({ key, doneMs, value }) =>
      doneMs === undefined ? [] : [{ key, atMs: doneMs, revision: revisionOf.get(value) ?? 0 }],
    ),
    ...reads.map(({ key, doneMs, revision }) => ({ key, atMs: doneMs, revision })),
  ].toSorted((left, right) => left.atMs - right.atMs);
  const newest = new Map<string, number>();
  let next = 0;
  for (const read of reads.toSorted((left, right) => left.invokedMs - right.invokedMs)) {
    for (let before = ended[next]; before !== undefined && before.atMs < read.invokedMs; before = ended[next]) {
      newest.set(before.key, Math.max(newest.get(before.key) ?? 0, before.revision));
      next += 1;
    }
    if (read.revision < (newest.get(read.key) ?? 0))
      faults.push(`a read of ${read.key} saw revision ${read.revision} after ${newest.get(read.key)} was known`);
    const change = byRevision.get(read.revision);
    if (change !== undefined && change.value !== read.value) faults.push(`a read of ${read.key} saw another value`);
    if ((invoked.get(read.value) ?? 0) > read.doneMs) faults.push(`a read of ${read.key} saw a write before it began`);
  }
  for (const { after, until, seen } of watches) {
    const wanted = truth.filter(({ revision }) => revision > after && revision <= until);
    if (JSON.stringify(wanted.map(({ revision }) => revision)) !== JSON.stringify(seen.map(({ revision }) => revision)))
      faults.push(
        `a watch from ${after} to ${until} saw ${seen.length} of ${wanted.length} changes, or in another order`,
      );
  }
  return faults;
}
