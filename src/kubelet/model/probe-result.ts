export type ProbeType = 'liveness' | 'readiness' | 'startup';

/**
 * `inconclusive` is ours: the probe could not be judged because the agent itself was late or the node overloaded; it changes nothing.
 * `unknown` is the state before the first verdict.
 */
export type ProbeVerdict = 'success' | 'failure' | 'unknown' | 'inconclusive';
