/** Rejects on Ctrl-C, on SIGTERM and at the time limit; never resolves. */
export function interruption(limitMs: number): Promise<never> {
  return new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.once(signal, () => reject(new Error(`ended by ${signal}`)));
    setTimeout(() => reject(new Error(`took longer than ${limitMs / 60_000} minutes`)), limitMs).unref();
  });
}
