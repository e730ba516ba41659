import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';

export type CgroupDriver = 'systemd' | 'cgroupfs';

/**
 * Returns the cgroup driver of the runtime (upstream: KubeletCgroupDriverFromCRI). With a runtime that does not
 * implement RuntimeConfig (`isRuntimeOutdated`), it is the configured one.
 */
export async function chooseCgroupDriver(
  runtime: Pick<ContainerRuntime, 'cgroupDriver'>,
  configured: CgroupDriver,
  log: Logger,
): Promise<{ readonly driver: CgroupDriver; readonly isRuntimeOutdated: boolean }> {
  try {
    const driver = await runtime.cgroupDriver();
    if (driver !== configured)
      log.info('the cgroup driver of the runtime differs from the configured one; using that of the runtime', {
        runtime: driver,
        configured,
      });
    return { driver, isRuntimeOutdated: false };
  } catch (error) {
    const isRuntimeOutdated = isKind(error, 'Unimplemented');
    if (isRuntimeOutdated)
      log.info(
        'the runtime does not implement RuntimeConfig and should be updated; using the configured cgroup driver',
        {
          driver: configured,
        },
      );
    else
      log.warn('the runtime does not say which cgroup driver it uses; using the configured one', {
        driver: configured,
        error: errorMessage(error),
      });
    return { driver: configured, isRuntimeOutdated };
  }
}
