/** Resolves in the next turn of the event loop: whatever came in meanwhile is seen to first. For long computations, in between. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
