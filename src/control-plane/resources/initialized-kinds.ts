import type { ApiObject } from '../../api/client/resource-type.ts';
import { initializableMeta, initializersOf } from '../../api/core/initializers.ts';
import type { Field, ObjectSchema, Schema } from '../../api/schema/schema.ts';
import { validateInitializers, validateInitializersUpdate } from '../../api/validation/validate-initializers.ts';
import type { ResourceDefinition, ResourceRules } from '../model/resource-definition.ts';

/** The kinds when initializers are enabled: metadata, also of templates, has the field, and it is validated. */
export function initializedKinds(definitions: readonly ResourceDefinition[]): readonly ResourceDefinition[] {
  const variants = new SchemaVariants();
  return definitions.map((definition) => {
    const { schema, views, actions, rules, review, storagePath, storedAs } = definition;
    return {
      ...definition,
      schema: variants.of(schema),
      ...(views !== undefined && {
        views: views.map((view) => (view.schema === undefined ? view : { ...view, schema: variants.of(view.schema) })),
      }),
      ...(actions !== undefined && {
        actions: actions.map((action) => ({ ...action, schema: variants.of(action.schema) })),
      }),
      ...(review === undefined &&
        (storagePath !== '' || storedAs !== undefined) && {
          isInitialized: true,
          rules: initializedRules(definition, rules),
        }),
    };
  });
}

const isPending = ({ metadata }: ApiObject): boolean => initializersOf(metadata)?.pending !== undefined;

function initializedRules({ type }: ResourceDefinition, rules: ResourceRules<ApiObject>): ResourceRules<ApiObject> {
  return {
    ...rules,
    validate: (object, policy) => [
      ...rules.validate(object, policy),
      ...validateInitializers(initializersOf(object.metadata)),
    ],
    validateUpdate: (object, old, policy) => [
      // An uninitialized pod does not run anywhere yet, so all its fields may change (upstream:
      // isUpdatingUninitializedPod).
      ...(type.kind === 'Pod' && isPending(old)
        ? rules.validate(object, policy)
        : rules.validateUpdate(object, old, policy)),
      ...validateInitializers(initializersOf(object.metadata)),
      ...validateInitializersUpdate(initializersOf(object.metadata), initializersOf(old.metadata)),
    ],
  };
}

/** The types whose metadata has the field. A type without metadata is returned unchanged. */
class SchemaVariants {
  readonly #known = new Map<Schema, Schema>(initializableMeta);

  of(schema: ObjectSchema): ObjectSchema {
    return this.#any(schema) as ObjectSchema;
  }

  #any(schema: Schema): Schema {
    const known = this.#known.get(schema);
    if (known !== undefined) return known;
    // A type that contains itself is met again before it is done.
    this.#known.set(schema, schema);
    const variant = this.#variant(schema);
    this.#known.set(schema, variant);
    return variant;
  }

  #variant(schema: Schema): Schema {
    if (schema.kind === 'array') {
      const items = this.#any(schema.items);
      return items === schema.items ? schema : { ...schema, items };
    }
    if (schema.kind === 'map') {
      const values = this.#any(schema.values);
      return values === schema.values ? schema : { ...schema, values };
    }
    return schema.kind === 'object' ? this.#object(schema) : schema;
  }

  #object(schema: ObjectSchema): ObjectSchema {
    const fields = Object.entries(schema.fields).map(([name, field]): [string, Field] => {
      const variant = this.#any(field.schema);
      return [name, variant === field.schema ? field : { ...field, schema: variant }];
    });
    const isSame = fields.every(([name, field]) => field === schema.fields[name]);
    return isSame ? schema : { ...schema, fields: Object.fromEntries(fields), variantOf: schema.fields };
  }
}
