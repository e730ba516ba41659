const OBJECTS_PER_MS = 20;
const LONGEST_MS = 500;
const LONGEST_FOLD_MS = 100;

/**
 * The pause in milliseconds after a pass over a set of this size. The cost of a pass grows with the set, and so does
 * the pause, so that the load per second does not grow with the set. Sets of fewer than twenty objects have no pause.
 */
export function restOfSet(objects: number): number {
  return Math.min(LONGEST_MS, Math.floor(objects / OBJECTS_PER_MS));
}

/**
 * The pause after a pass with a constant cost over a set of this size: events of the set are merged into one write of
 * its status.
 */
export function foldOfSet(objects: number): number {
  return Math.min(LONGEST_FOLD_MS, restOfSet(objects));
}
