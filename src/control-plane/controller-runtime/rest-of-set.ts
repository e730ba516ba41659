const OBJECTS_PER_MS = 20;
const LONGEST_MS = 500;

/**
 * How long a set of so many objects rests after a pass over all of them, in milliseconds. A pass costs time in
 * proportion to the set; with the rest, so do the times between passes, and the cost of a second does not grow with the
 * set. Sets of fewer than twenty do not rest.
 */
export function restOfSet(objects: number): number {
  return Math.min(LONGEST_MS, Math.floor(objects / OBJECTS_PER_MS));
}
