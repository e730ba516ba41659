import type { QuantityFormat } from '../../../api/quantity.ts';

/** The signals of resources that may run short (upstream: eviction/api/types.go). */
export const evictionSignals = [
  'memory.available',
  'allocatableMemory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'pid.available',
] as const;
export type EvictionSignal = (typeof evictionSignals)[number];

/** The resource of a signal, as named in messages. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

export const pressureConditions = ['DiskPressure', 'MemoryPressure', 'PIDPressure'] as const;
export type PressureCondition = (typeof pressureConditions)[number];

/** One reading in bytes, inodes or processes. `atMs` is monotonic. */
export interface Observation {
  readonly available: number;
  readonly capacity: number;
  readonly atMs: number;
}

export type Observations = ReadonlyMap<EvictionSignal, Observation>;

/** A group of signals that are read together. */
export type SignalSource = 'memory' | 'pids' | 'nodefs' | 'imagefs' | 'containerfs';

interface SignalFacts {
  readonly resource: StarvedResource;
  readonly condition: PressureCondition;
  readonly format: QuantityFormat;
  readonly source: SignalSource;
}

const memory: SignalFacts = {
  resource: 'memory',
  condition: 'MemoryPressure',
  format: 'BinarySI',
  source: 'memory',
};

function disk(source: SignalSource, resource: 'ephemeral-storage' | 'inodes'): SignalFacts {
  return { resource, condition: 'DiskPressure', format: resource === 'inodes' ? 'DecimalSI' : 'BinarySI', source };
}

export const signalFacts: Readonly<Record<EvictionSignal, SignalFacts>> = {
  'memory.available': memory,
  'allocatableMemory.available': memory,
  'nodefs.available': disk('nodefs', 'ephemeral-storage'),
  'nodefs.inodesFree': disk('nodefs', 'inodes'),
  'imagefs.available': disk('imagefs', 'ephemeral-storage'),
  'imagefs.inodesFree': disk('imagefs', 'inodes'),
  'containerfs.available': disk('containerfs', 'ephemeral-storage'),
  'containerfs.inodesFree': disk('containerfs', 'inodes'),
  'pid.available': { resource: 'pids', condition: 'PIDPressure', format: 'DecimalSI', source: 'pids' },
};

const known: ReadonlySet<string> = new Set(evictionSignals);

/** Whether a name is a signal. The configuration was validated, but names from other sources may be anything. */
export function isEvictionSignal(name: string): name is EvictionSignal {
  return known.has(name);
}
