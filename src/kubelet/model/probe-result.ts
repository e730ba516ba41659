export type ProbeType = 'liveness' | 'readiness' | 'startup';

/**
 * `inconclusive` exists only here: no result, because the agent was late or the node overloaded; it changes nothing.
 * `unknown` is the state before the first result.
 */
export type ProbeVerdict = 'success' | 'failure' | 'unknown' | 'inconclusive';
