import type { FlexPersistentVolumeSource } from '../../../../api/core/persistent-volume.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { FlexVolumeSource } from '../../../../api/core/volume-source-remote.ts';
import { errorMessage, isKind, KubeletError } from '../../../../base/errors.ts';
import type { ClusterObjects } from '../../../ports/cluster-objects.ts';
import type { Processes } from '../../../ports/processes.ts';
import type { VolumeRequest, VolumeSpec } from '../../../ports/volume-plugin.ts';

const CALL_LIMIT_MS = 110_000;
const OUTPUT_LIMIT_BYTES = 1024 * 1024;
const NOT_SUPPORTED = 'Not supported';

type Source = FlexVolumeSource | FlexPersistentVolumeSource;

interface Capabilities {
  readonly attach: boolean;
  readonly fsGroup: boolean;
  readonly selinuxRelabel: boolean;
}

export interface FlexDriverParts {
  /** The folder of the drivers (`volumePluginDir`). */
  readonly driverDir: string;
  readonly processes: Processes;
  readonly objects: ClusterObjects;
}

/**
 * Returns the options of node-wide calls, without data of a pod and without secrets (upstream: driver-call.go
 * AppendSpec).
 */
export function specOptions(spec: VolumeSpec): string {
  return JSON.stringify({ ...baseOptions(spec), ...flexSourceOf(spec)?.options });
}

function baseOptions(spec: VolumeSpec): Record<string, string> {
  return {
    'kubernetes.io/fsType': flexSourceOf(spec)?.fsType ?? '',
    'kubernetes.io/readwrite': spec.readOnly ? 'ro' : 'rw',
    'kubernetes.io/pvOrVolumeName': spec.name,
  };
}

export function flexSourceOf(spec: VolumeSpec): Source | undefined {
  return spec.kind === 'inline' ? spec.volume.flexVolume : spec.persistentVolume.spec.flexVolume;
}

/**
 * Calls drivers that are programs (upstream: pkg/volume/flexvolume): `<dir>/<vendor>~<driver>/<driver> COMMAND ARG...`,
 * which print JSON.
 */
export class FlexDriver {
  readonly #parts: FlexDriverParts;
  readonly #known = new Map<string, Promise<Capabilities>>();

  constructor(parts: FlexDriverParts) {
    this.#parts = parts;
  }

  capabilitiesOf(driver: string): Promise<Capabilities> {
    const known = this.#known.get(driver);
    if (known !== undefined) return known;
    const asked = this.call(driver, ['init']).then((answer) => {
      const given =
        typeof answer['capabilities'] === 'object' && answer['capabilities'] !== null
          ? (answer['capabilities'] as Partial<Record<keyof Capabilities, unknown>>)
          : {};
      // Capabilities that a driver does not deny are assumed.
      return {
        attach: given.attach !== false,
        fsGroup: given.fsGroup !== false,
        selinuxRelabel: given.selinuxRelabel !== false,
      };
    });
    this.#known.set(driver, asked);
    asked.catch(() => this.#known.delete(driver));
    return asked;
  }

  async options({
    pod,
    spec,
    fsGroup,
  }: Pick<VolumeRequest, 'pod' | 'spec' | 'fsGroup'>): Promise<Record<string, string>> {
    const source = flexSourceOf(spec);
    return {
      ...baseOptions(spec),
      'kubernetes.io/pod.name': pod.metadata.name,
      'kubernetes.io/pod.namespace': pod.metadata.namespace,
      'kubernetes.io/pod.uid': pod.metadata.uid,
      'kubernetes.io/serviceAccount.name': pod.spec.serviceAccountName ?? '',
      ...(fsGroup === undefined ? {} : { 'kubernetes.io/mounterArgs.FsGroup': String(fsGroup) }),
      ...(await this.#secretsOf(source, pod)),
      ...source?.options,
    };
  }

  /** Returns the secrets in base64, as drivers expect them. The Secret must have the driver's own type. */
  async #secretsOf(source: Source | undefined, pod: Pod): Promise<Record<string, string>> {
    if (source?.secretRef === undefined) return {};
    const { name = '' } = source.secretRef;
    const namespace =
      ('namespace' in source.secretRef ? source.secretRef.namespace : undefined) ?? pod.metadata.namespace;
    const secret = await this.#parts.objects.get('Secret', namespace, name);
    if (secret === undefined)
      throw new KubeletError('NotFound', `couldn't get secret ${namespace}/${name} err: secrets "${name}" not found`);
    if (secret.type !== source.driver)
      throw new KubeletError(
        'Invalid',
        `couldn't get secret ${namespace}/${name} err: cannot get secret of type ${secret.type ?? 'Opaque'}`,
      );
    return Object.fromEntries(
      Object.entries(secret.data ?? {}).map(([key, value]) => [`kubernetes.io/secret/${key}`, value]),
    );
  }

  /** Calls the driver. Rejects with `Unimplemented` for a call that it does not know. */
  async call(driver: string, args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    const program = driver.split('/').at(-1) ?? '';
    const [command] = args;
    const path = `${this.#parts.driverDir}/${driver.replaceAll('/', '~')}/${program}`;
    if (program === '' || driver.split('/').includes('..'))
      throw new KubeletError('Invalid', `flexVolume driver ${JSON.stringify(driver)} is not a valid name of a driver`);
    const answer = await this.#parts.processes
      .run(path, args, { timeoutMs: CALL_LIMIT_MS, outputLimitBytes: OUTPUT_LIMIT_BYTES })
      .catch((error: unknown) => {
        if (isKind(error, 'NotFound'))
          throw new KubeletError('NotFound', `no volume plugin matched: there is no flexVolume driver ${path}`, {
            cause: error,
          });
        throw error;
      });
    const status = parsed(`${answer.stdout}${answer.stderr}`);
    if (status instanceof Error)
      throw new KubeletError(
        'Unavailable',
        `flexVolume driver ${driver}: ${command}: exit status ${answer.exitCode}, its answer is not JSON: ${errorMessage(status)}`,
      );
    if (status['status'] === NOT_SUPPORTED) throw new KubeletError('Unimplemented', NOT_SUPPORTED);
    if (status['status'] !== 'Success')
      throw new KubeletError(
        'Unavailable',
        `${command} command failed, status: ${String(status['status'])}, reason: ${String(status['message'] ?? '')}`,
      );
    return status;
  }
}

function parsed(text: string): Readonly<Record<string, unknown>> | Error {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : new Error('not an object');
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
