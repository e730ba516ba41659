import type { OwnInformer } from '../../../api/client/informer.ts';
import { createInformer } from '../../../api/client/informer.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import { inBackground } from '../../../base/background.ts';
import type { ControllerOptions } from '../../controller-runtime/controller.ts';
import type { CustomKinds } from '../../controller-runtime/custom-kinds.ts';

export interface CustomKindsFollower {
  start(): void;
  stop(): Promise<void>;
  /** Returns the version for patches of a custom kind, or undefined for other kinds and if no version is served. */
  servedOf(type: ResourceType): ResourceType | undefined;
}

interface Followed {
  readonly informer: OwnInformer<ApiObject>;
  readonly leave: () => void;
}

/**
 * Runs an informer for each custom kind as long as the kind exists. `join` is called with each informer before it
 * starts, and returns a function that is called when the kind is removed.
 */
export function followCustomKinds(
  options: Omit<ControllerOptions, 'informers'>,
  kinds: CustomKinds,
  join: (informer: OwnInformer<ApiObject>) => () => void,
): CustomKindsFollower {
  const followed = new Map<string, Followed>();
  const stops = new Set<Promise<void>>();
  const nameOf = ({ group, plural }: ResourceType): string => `${group}/${plural}`;
  let end: (() => void) | undefined;
  const drop = (name: string, { informer, leave }: Followed): void => {
    followed.delete(name);
    leave();
    const stopped: Promise<void> = informer.stop().finally(() => stops.delete(stopped));
    stops.add(stopped);
    inBackground(options.log, `stop to follow ${name}`, stopped);
  };
  const update = (changed: readonly ResourceType[]): void => {
    for (const each of changed) {
      const name = nameOf(each);
      const type = kinds.find(each)?.type;
      const known = followed.get(name);
      if (known !== undefined && type === undefined) drop(name, known);
      if (known !== undefined || type === undefined) continue;
      const informer = createInformer<ApiObject>({ ...options, type, namespace: '' });
      followed.set(name, { informer, leave: join(informer) });
      informer.start();
    }
  };
  return {
    start: () => {
      if (end !== undefined) return;
      end = kinds.onChange(update);
      update(kinds.list().map(({ type }) => type));
    },
    stop: async () => {
      end?.();
      for (const [name, each] of followed) drop(name, each);
      await Promise.all(stops);
    },
    servedOf: (type) => kinds.find(type)?.served,
  };
}
