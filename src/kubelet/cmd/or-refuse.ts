import { errorMessage, KubeletError } from '../../base/errors.ts';

/**
 * Awaits something without which the agent cannot start. A failure becomes one line with its reason, without a stack.
 */
export async function orRefuse<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new KubeletError('Unavailable', `${what}: ${errorMessage(error)}`, { cause: error });
  }
}
