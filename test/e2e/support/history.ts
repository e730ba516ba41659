/**
 * What clients did and saw, and whether one register for each key explains it. Writes have values of their own and
 * revisions of the store; so all orders are known, and linearizability is a matter of comparing them.
 */
export interface Write {
  readonly key: string;
  readonly value: string;
  readonly invokedMs: number;
  /** Of the acknowledgement; absent: the outcome is not known. */
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

/** Between a list, or the place where an earlier one ended, and the next break. */
export interface WatchPart {
  readonly after: number;
  /** The revision up to which the server says that the watcher has seen all. */
  until: number;
  readonly seen: readonly Change[];
}

export interface History {
  readonly writes: readonly Write[];
  readonly reads: readonly Read[];
  readonly truth: readonly Change[];
  readonly watches: readonly WatchPart[];
}

/** What no order of single steps explains; empty: the history is linearizable. */
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
