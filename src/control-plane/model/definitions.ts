import type { ResourceDefinition } from './resource-definition.ts';

/** Kinds that came and went at once. A kind that changed did both, as two definitions. */
export interface DefinitionsChange {
  readonly removed: readonly ResourceDefinition[];
  readonly added: readonly ResourceDefinition[];
  /** Objects are shown as before, so watches of them go on. */
  readonly keepsWatches?: boolean;
}

/** The kinds there are. Those of custom resources come and go while the server runs; all are found in the same way. */
export interface Definitions {
  readonly all: readonly ResourceDefinition[];
  /** Called synchronously after each change; returns what ends it. */
  onChange(listener: (change: DefinitionsChange) => void): () => void;
}

/** Kinds that stay as they are. */
export function fixedDefinitions(all: readonly ResourceDefinition[]): Definitions {
  return { all, onChange: () => () => undefined };
}

/** Where kinds that come and go are announced. */
export interface DefinitionsTarget extends Definitions {
  change(change: DefinitionsChange): void;
}
