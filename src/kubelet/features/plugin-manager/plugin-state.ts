import type { BackoffCurve } from '../../../base/backoff.ts';
import { backoffDelayMs } from '../../../base/backoff.ts';

/** The back-off of registrations (upstream: goroutinemap/exponentialbackoff, 500 ms to 2 min 2 s). */
const registrationBackoff: BackoffCurve = { initialMs: 500, maxMs: 122_000, factor: 2 };

/**
 *     waiting         begin      registering
 *     registering     succeeded  registered
 *     registering     failed     waiting (back-off)
 *     registered      begin      deregistering
 *     deregistering   ended      waiting
 *
 * `socket` is the socket of the phase (actual state); the one on disk (desired state) may have replaced it meanwhile.
 */
export type PluginState =
  | { phase: 'waiting'; socket: string | undefined; failures: number; retryAtMs: number; lastError: string | undefined }
  | { phase: 'registering'; socket: string; failures: number }
  | { phase: 'registered'; socket: string }
  | { phase: 'deregistering'; socket: string };

export type PluginEvent =
  | { kind: 'registering'; socket: string }
  | { kind: 'deregistering' }
  | { kind: 'succeeded' }
  | { kind: 'failed'; error: string }
  | { kind: 'ended' };

/** The next step for a plugin. */
export type PluginStep =
  | { kind: 'register'; socket: string }
  | { kind: 'deregister' }
  | { kind: 'abort' }
  | { kind: 'wait'; untilMs: number }
  | { kind: 'nothing' }
  | { kind: 'forget' };

export const newPlugin: PluginState = {
  phase: 'waiting',
  socket: undefined,
  failures: 0,
  retryAtMs: 0,
  lastError: undefined,
};

/** Returns the next state. An event that does not apply to a phase changes nothing. `nowMs` is monotonic. */
export function nextPluginState(state: PluginState, event: PluginEvent, nowMs: number): PluginState {
  switch (event.kind) {
    case 'registering':
      if (state.phase !== 'waiting') return state;
      return {
        phase: 'registering',
        socket: event.socket,
        failures: state.socket === event.socket ? state.failures : 0,
      };
    case 'succeeded':
      return state.phase === 'registering' ? { phase: 'registered', socket: state.socket } : state;
    case 'failed': {
      if (state.phase !== 'registering') return state;
      const failures = state.failures + 1;
      return {
        phase: 'waiting',
        socket: state.socket,
        failures,
        retryAtMs: nowMs + backoffDelayMs(registrationBackoff, failures),
        lastError: event.error,
      };
    }
    case 'deregistering':
      return state.phase === 'registered' ? { phase: 'deregistering', socket: state.socket } : state;
    case 'ended':
      return state.phase === 'deregistering' ? newPlugin : state;
  }
}

/** Computes the next step. `socket` is the one on disk now, or undefined if there is none. */
export function computePluginStep(state: PluginState, socket: string | undefined, nowMs: number): PluginStep {
  switch (state.phase) {
    case 'registering':
      return state.socket === socket ? { kind: 'nothing' } : { kind: 'abort' };
    case 'deregistering':
      return { kind: 'nothing' };
    case 'registered':
      return state.socket === socket ? { kind: 'nothing' } : { kind: 'deregister' };
    case 'waiting':
      if (socket === undefined) return { kind: 'forget' };
      // A socket other than the one that failed starts without back-off.
      if (state.socket === socket && nowMs < state.retryAtMs) return { kind: 'wait', untilMs: state.retryAtMs };
      return { kind: 'register', socket };
  }
}
