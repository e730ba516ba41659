export type ProbeType = 'liveness' | 'readiness' | 'startup';

/**
 * The result of a probe. `unknown` is the state before the first result. `inconclusive` exists only in this agent: the
 * agent was late or the node overloaded, and the state does not change.
 */
export type ProbeVerdict = 'success' | 'failure' | 'unknown' | 'inconclusive';
