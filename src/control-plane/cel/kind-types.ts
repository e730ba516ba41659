import type { Schema } from '../../api/schema/schema.ts';
import type { CelType } from '../../cel/types.ts';
import {
  boolType,
  bytesType,
  doubleType,
  dynType,
  intType,
  listOf,
  mapOf,
  stringType,
  timestampType,
} from '../../cel/types.ts';
import { escapeName, selectedName } from './escape-name.ts';

/** The type of the objects of a built-in kind, for expressions. Fields are resolved lazily. */
export function typeOfKind(schema: Schema): CelType {
  switch (schema.kind) {
    case 'object': {
      const { fields, name } = schema;
      let escaped: Map<string, string> | undefined;
      return {
        kind: 'object',
        name,
        field: (wanted) => {
          escaped ??= new Map(Object.keys(fields).map((each) => [escapeName(each) ?? each, each]));
          const found = fields[escaped.get(selectedName(wanted)) ?? ''];
          return found && typeOfKind(found.schema);
        },
      };
    }
    case 'array':
      return listOf(typeOfKind(schema.items));
    case 'map':
      return mapOf(stringType, typeOfKind(schema.values));
    case 'string':
      if (schema.format === 'bytes') return bytesType;
      return schema.format === 'time' ? timestampType : stringType;
    case 'number':
      return schema.format === 'double' ? doubleType : intType;
    case 'quantity':
      return stringType;
    case 'boolean':
      return boolType;
    case 'intOrString':
    case 'opaque':
      return dynType;
  }
}
