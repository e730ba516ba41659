import type { ObjectSchema } from '../../api/schema/schema.ts';
import { DeleteOptionsSchema } from '../../api/core/delete-options.ts';
import { listOf, ObjectMetaSchema } from '../../api/core/meta.ts';
import { filled, object, string } from '../../api/schema/schema.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { DefinitionNames, named, packageOf } from './definition-names.ts';
import { describeScalar } from './descriptions.ts';
import { StatusSchema } from '../../api/status/status.ts';
import type { Dialect, GroupVersionKind, OpenApiSchema } from './open-api-types.ts';
import { renderCustom, renderObject, sharedFields } from './render-schema.ts';

/** A type that is a kind, with its group, version and kind. */
interface Kind {
  readonly name: string;
  readonly schema: ObjectSchema;
  readonly gvk: GroupVersionKind;
  readonly render?: ResourceDefinition['openApi'];
}

/** The full name of the list of a kind. */
export const listNameOf = (name: string): string => `${name}List`;

/** All kinds of some resources and the names of their types; the same for both dialects. */
export class Kinds {
  readonly names = new DefinitionNames();
  /** Groups and versions whose paths have bodies of a kind of another group. */
  readonly #users = new Map<string, Set<string>>();
  readonly #kinds: readonly Kind[];

  constructor(definitions: readonly ResourceDefinition[]) {
    // The core group comes first, because it owns shared types.
    const sorted = [...definitions].sort((a, b) => Number(a.type.group !== '') - Number(b.type.group !== ''));
    this.#kinds = sorted.flatMap((definition) => this.#kindsOf(definition));
    for (const schema of [StatusSchema, DeleteOptionsSchema]) this.names.show(schema, { group: '', version: 'v1' });
  }

  /** The definition name of the body of a view or action, whose kind may belong to another group. */
  nameOf(
    definition: ResourceDefinition,
    part?: { readonly kind?: Omit<GroupVersionKind, 'group'> & { readonly group: string } },
  ): string {
    const { group, version, kind } = part?.kind ?? definition.type;
    const isCustom = part?.kind === undefined && definition.openApi !== undefined;
    return isCustom
      ? `${[...group.split('.').reverse(), version].join('.')}.${kind}`
      : `${packageOf({ group, version })}.${kind}`;
  }

  /** Returns the definitions that resources of `groupVersion` need (all if it is undefined), sorted by full name. */
  definitions(
    dialect: Dialect,
    groupVersion?: { readonly group: string; readonly version: string },
  ): Record<string, OpenApiSchema> {
    const rendered = new Map<string, OpenApiSchema>();
    const due: { name: string; schema: ObjectSchema | undefined }[] = [
      { name: named.patch, schema: undefined },
      { name: named.status, schema: StatusSchema },
      { name: named.deleteOptions, schema: DeleteOptionsSchema },
    ];
    const kinds = new Map<string, GroupVersionKind>([
      [named.status, { group: '', kind: 'Status', version: 'v1' }],
      [named.deleteOptions, { group: '', kind: 'DeleteOptions', version: 'v1' }],
    ]);
    for (const { name, schema, gvk } of this.#kinds) {
      kinds.set(name, gvk);
      if (
        groupVersion === undefined ||
        (gvk.group === groupVersion.group && gvk.version === groupVersion.version) ||
        this.#usedBy(name, groupVersion)
      )
        due.push({ name, schema });
    }
    const rendering = new Map(this.#kinds.map(({ name, render }) => [name, render]));
    const meet = (name: string, schema: ObjectSchema | undefined): void => void due.push({ name, schema });
    for (let next = due.pop(); next !== undefined; next = due.pop()) {
      const { name, schema } = next;
      if (rendered.has(name)) continue;
      const gvk = kinds.get(name);
      const context = { dialect, names: this.names, meet };
      const render = rendering.get(name);
      const shown =
        schema === undefined
          ? scalar(dialect, name)
          : render === undefined
            ? renderObject(context, name, schema)
            : renderCustom(context, schema, render(dialect.version));
      rendered.set(name, gvk === undefined ? shown : { ...shown, 'x-kubernetes-group-version-kind': [gvk] });
    }
    return Object.fromEntries([...rendered].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #usedBy(name: string, { group, version }: { readonly group: string; readonly version: string }): boolean {
    return this.#users.get(name)?.has(`${group}/${version}`) === true;
  }

  #kindsOf(definition: ResourceDefinition): Kind[] {
    const { group, version, kind } = definition.type;
    const schema = definition.openApi === undefined ? definition.schema : commonSchema(kind);
    const own: Kind = {
      name: this.nameOf(definition),
      schema,
      gvk: { group, kind, version },
      ...(definition.openApi !== undefined && { render: definition.openApi }),
    };
    if (definition.openApi === undefined) this.names.show(schema, { group, version });
    else {
      // The schema of a custom kind is written unchanged; only the common fields refer to other types.
      this.names.call(schema, own.name);
      for (const shared of sharedFields(schema)) this.names.show(shared, { group: '', version: 'v1' });
    }
    const list = listOf(schema);
    this.names.show(list, { group, version });
    const lists =
      definition.review === undefined
        ? [
            {
              name: listNameOf(own.name),
              schema: list,
              gvk: { group, kind: definition.listKind ?? `${kind}List`, version },
            },
          ]
        : [];
    const parts = [...(definition.views ?? []), ...(definition.actions ?? [])].flatMap((part) => {
      if (part.kind === undefined || part.schema === undefined) return [];
      const name = this.nameOf(definition, part);
      this.names.show(part.schema, part.kind);
      const users = this.#users.get(name) ?? new Set();
      this.#users.set(name, users.add(`${group}/${version}`));
      return [
        {
          name,
          schema: part.schema,
          gvk: { group: part.kind.group, kind: part.kind.kind, version: part.kind.version },
        },
      ];
    });
    return [own, ...lists, ...parts];
  }
}

/** The part of a custom kind that refers to other types. Its own schema is large and is not processed for this. */
const commonSchema = (kind: string): ObjectSchema =>
  object(kind, { kind: string, apiVersion: string, metadata: filled(1, ObjectMetaSchema) });

/** Types that are not described as objects: strings for numbers and times, and types without a fixed structure. */
function scalar({ version }: Dialect, name: string): OpenApiSchema {
  const description = describeScalar(name.slice(name.lastIndexOf('.') + 1));
  switch (name) {
    case named.time:
    case named.microTime:
      return { description, type: 'string', format: 'date-time' };
    case named.duration:
      return { description, type: 'string' };
    case named.intOrString:
      return {
        description,
        format: 'int-or-string',
        ...(version === 2 ? { type: 'string' } : { oneOf: [{ type: 'integer' }, { type: 'string' }] }),
      };
    case named.quantity:
      return {
        description,
        ...(version === 2 ? { type: 'string' } : { oneOf: [{ type: 'string' }, { type: 'number' }] }),
      };
    default:
      return { description, type: 'object' };
  }
}
