// How long tests wait for what must happen. On a machine that emulates its processor everything takes longer.
import { waitUntil as waitUntilPlain } from '../../../src/up/processes.ts';

/** `KUBELET_TEST_PATIENCE=10` multiplies every wait by ten. */
const FACTOR = Number(process.env['KUBELET_TEST_PATIENCE'] ?? 1);

/** The time limit of a test on this machine. */
export const patientMs = (ms: number): number => ms * FACTOR;

/** `waitUntil` with the time limit for this machine. */
export const waitUntil: typeof waitUntilPlain = (check, timeoutMs, pollMs) =>
  waitUntilPlain(check, patientMs(timeoutMs), pollMs);
