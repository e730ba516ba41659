// Fixtures that start at the same time.

interface Stoppable {
  stop(): Promise<void>;
}

/** If one fails, the other is stopped when it has started: a hook that failed has nothing to stop. */
export async function startTogether<First extends Stoppable, Second extends Stoppable>(
  first: Promise<First>,
  second: Promise<Second>,
): Promise<[First, Second]> {
  try {
    return await Promise.all([first, second]);
  } catch (error) {
    for (const each of await Promise.allSettled([first, second]))
      if (each.status === 'fulfilled') await each.value.stop();
    throw error;
  }
}
