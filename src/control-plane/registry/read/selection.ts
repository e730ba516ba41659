import type { ApiObject } from '../../../api/client/resource-type.ts';
import { initializersOf } from '../../../api/core/initializers.ts';
import { decodeAny } from '../../../api/schema/decode.ts';
import { compileRequirements } from '../../../api/label-requirement.ts';
import { compileFields, exactMatch, parseFieldSelector, parseLabelSelector } from '../../../api/selectors.ts';
import { goQuote } from '../../../api/go-quote.ts';
import { badRequest } from '../../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';

/** The objects that a list or watch selects; `matches` takes stored objects. */
export interface Selection {
  /** Whether every object of the namespace matches. */
  readonly everything: boolean;
  /** The name if a field selector names one object, so that only this one must be checked. */
  readonly name: string | undefined;
  readonly matches: (object: ApiObject) => boolean;
}

const all: Selection = { everything: true, name: undefined, matches: () => true };

const initialized: Selection = {
  everything: false,
  name: undefined,
  matches: ({ metadata }) => initializersOf(metadata) === undefined,
};

/** The options of lists and watches that select objects. */
export interface SelectionOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly includeUninitialized?: boolean;
}

/** Parses selectors. Throws BadRequest for invalid selectors and for fields that the kind does not support. */
export function parseSelection(definition: ResourceDefinition, options: SelectionOptions): Selection {
  const selected = parseSelectors(definition, options);
  if (definition.isInitialized !== true || options.includeUninitialized === true) return selected;
  if (selected === all) return initialized;
  return {
    ...selected,
    everything: false,
    matches: (object) => initialized.matches(object) && selected.matches(object),
  };
}

function parseSelectors(definition: ResourceDefinition, { labelSelector, fieldSelector }: SelectionOptions): Selection {
  if (!labelSelector && !fieldSelector) return all;
  const labels = parseLabelSelector(labelSelector ?? '');
  if (typeof labels === 'string') throw badRequest(labels);
  const fields = parseFieldSelector(fieldSelector ?? '');
  if (typeof fields === 'string') throw badRequest(fields);
  // The field names are read from an empty object, because the set does not depend on the object.
  const known = selectableNames(definition);
  for (const { field } of fields) if (!known.has(field)) throw badRequest(unknownField(definition, field));
  const labelled = compileRequirements(labels);
  const holds = compileFields(fields);
  return {
    everything: labels.length === 0 && fields.length === 0,
    name: exactMatch(fields, 'metadata.name'),
    matches: (object) =>
      labelled.matches(object.metadata.labels ?? {}) && (fields.length === 0 || holds(fieldsOf(definition, object))),
  };
}

/**
 * Builds the error for an unknown field. For kinds without selectable fields, upstream has another message (runtime:
 * DefaultMetaV1FieldSelectorConversion).
 */
function unknownField(definition: ResourceDefinition, field: string): string {
  return definition.selectableFields === undefined
    ? `${goQuote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
    : `field label not supported: ${field}`;
}

function fieldsOf(definition: ResourceDefinition, object: ApiObject): Readonly<Record<string, string>> {
  return {
    'metadata.name': object.metadata.name,
    'metadata.namespace': object.metadata.namespace,
    ...definition.selectableFields?.(definition.storedAs?.fromStored(object) ?? object),
  };
}

const names = new WeakMap<ResourceDefinition, ReadonlySet<string>>();

function selectableNames(definition: ResourceDefinition): ReadonlySet<string> {
  let known = names.get(definition);
  if (known === undefined) {
    const { namespaced } = definition.type;
    // This object has all fields that decoding fills in.
    const probe = decodeAny(definition.schema, {}).value as ApiObject;
    const own = definition.selectableFields?.(probe) ?? {};
    known = new Set([
      'metadata.name',
      ...(namespaced || definition.selectableFields === undefined ? ['metadata.namespace'] : []),
      ...Object.keys(own),
    ]);
    names.set(definition, known);
  }
  return known;
}
