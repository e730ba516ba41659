import type { Informer, InformerHandlers } from '../../api/client/informer.ts';
import type { ObjectIndex } from '../../api/client/object-store.ts';
import type { ApiObject, ResourceType } from '../../api/client/resource-type.ts';

/**
 * An informer that converts each object to another kind, so that a controller of that kind handles both. An unchanged
 * object is converted to the same object.
 */
export function viewInformer<S extends ApiObject, T extends ApiObject>(
  source: Informer<S>,
  type: ResourceType<T>,
  convert: (object: S) => T,
): Informer<T> {
  const known = new WeakMap<S, T>();
  const view = (object: S): T => {
    let shown = known.get(object);
    if (shown === undefined) known.set(object, (shown = convert(object)));
    return shown;
  };
  const maybe = (object: S | undefined): T | undefined => (object === undefined ? undefined : view(object));
  return {
    type,
    get: (key) => maybe(source.get(key)),
    getByKey: (key) => maybe(source.getByKey(key)),
    list: (namespace) => source.list(namespace).map(view),
    get size() {
      return source.size;
    },
    addHandlers: ({ onAdd, onUpdate, onDelete }: InformerHandlers<T>) =>
      source.addHandlers({
        onAdd: (object, initial) => onAdd?.(view(object), initial),
        onUpdate: (before, after) => onUpdate?.(view(before), view(after)),
        onDelete: (last, finalStateUnknown) => onDelete?.(view(last), finalStateUnknown),
      }),
    index: (name, by): ObjectIndex<T> => {
      const index = source.index(name, (object) => by(view(object)));
      return {
        get: (value) => index.get(value).map(view),
        count: (value) => index.count(value),
        values: () => index.values(),
      };
    },
    hasSynced: () => source.hasSynced(),
    whenSynced: () => source.whenSynced(),
  };
}
