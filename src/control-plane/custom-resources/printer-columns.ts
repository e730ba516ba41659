import type { CustomResourceColumnDefinition } from '../../api/apiextensions/custom-resource-definition.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { isTime } from '../../api/schema/decode.ts';
import { compileJsonPath } from '../../api/structural/json-path.ts';
import { canonicalJson } from '../../api/structural/schema-node.ts';
import type { TableColumn } from '../model/resource-definition.ts';

type Cell = ReturnType<TableColumn<ApiObject>['cell']>;

/** The function `formatAge` of the API server's tables. */
export type FormatAge = (timestamp: string | undefined, nowMs: number) => string;

/** The columns of a version; without any, tables show the age (upstream: tableconvertor). */
export function printerColumns(
  columns: readonly CustomResourceColumnDefinition[] | undefined,
  formatAge: FormatAge,
): readonly TableColumn<ApiObject>[] {
  const shown = columns ?? [];
  return (shown.length === 0 ? [age] : shown).map((column) => columnOf(column, formatAge));
}

const age: CustomResourceColumnDefinition = {
  name: 'Age',
  type: 'date',
  description: 'When the server made the object.',
  jsonPath: '.metadata.creationTimestamp',
};

/** The cell of a null (upstream: text/template). */
const NULL_TEXT = '<no value>';

function columnOf(column: CustomResourceColumnDefinition, formatAge: FormatAge): TableColumn<ApiObject> {
  const { name, type, format, description = '', priority = 0, jsonPath } = column;
  const find = compileJsonPath(jsonPath);
  return {
    name,
    // Validation lets no other types through.
    type: type as TableColumn<ApiObject>['type'],
    ...(format !== undefined && { format }),
    description:
      description === '' ? `Custom resource definition column (in JSONPath format): ${jsonPath}` : description,
    priority,
    cell: (object, nowMs) => {
      const value = find(object);
      if (value === null) return type === 'string' ? NULL_TEXT : null;
      return value === undefined ? null : cellOf(type, value, (text) => formatAge(text, nowMs));
    },
  };
}

function cellOf(type: string, value: unknown, ageOf: (text: string) => string): Cell {
  switch (type) {
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : typeof value === 'bigint' ? Number(value) : null;
    case 'number':
      return typeof value === 'number' ? value : typeof value === 'bigint' ? Number(value) : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      if (typeof value !== 'string') return null;
      return value === '' || isTime(value) ? ageOf(value) : '<invalid>';
    default:
      return typeof value === 'string' ? value : canonicalJson(value);
  }
}
