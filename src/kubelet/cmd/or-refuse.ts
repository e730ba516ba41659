import { errorMessage, KubeletError } from '../../base/errors.ts';

/**
 * For what the agent cannot start without: a failure becomes one line that says what was wanted and why it cannot be,
 * without a stack.
 */
export async function orRefuse<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new KubeletError('Unavailable', `${what}: ${errorMessage(error)}`, { cause: error });
  }
}
