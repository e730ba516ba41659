import type { Pod } from '../../core/pod.ts';
import type { Volume } from '../../core/volume.ts';
import type {
  ConfigMapVolumeSource,
  DownwardAPIVolumeSource,
  HostPathVolumeSource,
  SecretVolumeSource,
} from '../../core/volume-source.ts';
import { quantitySign } from '../../quantity.ts';
import { validatePullPolicy } from './containers.ts';
import { FieldErrors } from '../field-error.ts';
import { checkDnsLabel, checkDnsSubdomain } from '../names.ts';
import { validateFileMode, validateNoBacksteps } from './paths.ts';
import type { PodValidationContext } from './pod-validation-context.ts';
import { requireText, validateDownwardFile, validateKeyToPath } from './volume-items.ts';
import { validateClaimTemplate } from '../volumes/volume-claim.ts';
import { validateProjected } from './volume-projected.ts';
import { remoteSources } from './volumes-remote.ts';

type SourceName = Exclude<keyof Volume, 'name'>;
interface SourceCheck {
  /** The path at which upstream reports a second source, if it is not the field itself. */
  readonly secondField?: string;
  /** The path at which upstream reports errors of the source, if it is not the field itself. */
  readonly errorField?: string;
  readonly check: (errors: FieldErrors, path: string, volume: Volume, context: PodValidationContext) => void;
}

/** All sources in upstream's order: the first one counts, and any other is an error. */
const sources: Readonly<Record<SourceName, SourceCheck>> = {
  emptyDir: {
    check: (errors, path, { emptyDir }) => validateSizeLimit(errors, `${path}.sizeLimit`, emptyDir?.sizeLimit),
  },
  hostPath: { check: (errors, path, { hostPath }) => hostPath && validateHostPath(errors, path, hostPath) },
  gitRepo: remoteSources.gitRepo,
  gcePersistentDisk: { ...remoteSources.gcePersistentDisk, errorField: 'persistentDisk' },
  awsElasticBlockStore: remoteSources.awsElasticBlockStore,
  secret: { check: (errors, path, { secret }) => secret && validateSecret(errors, path, secret) },
  nfs: remoteSources.nfs,
  iscsi: remoteSources.iscsi,
  glusterfs: remoteSources.glusterfs,
  flocker: remoteSources.flocker,
  persistentVolumeClaim: {
    check: (errors, path, { persistentVolumeClaim }) =>
      requireText(errors, `${path}.claimName`, persistentVolumeClaim?.claimName),
  },
  rbd: remoteSources.rbd,
  cinder: remoteSources.cinder,
  cephfs: { ...remoteSources.cephfs, secondField: 'cephFS' },
  quobyte: remoteSources.quobyte,
  downwardAPI: {
    secondField: 'downwarAPI',
    check: (errors, path, { downwardAPI }) => downwardAPI && validateDownwardApi(errors, path, downwardAPI),
  },
  fc: remoteSources.fc,
  flexVolume: remoteSources.flexVolume,
  configMap: { check: (errors, path, { configMap }) => configMap && validateConfigMap(errors, path, configMap) },
  azureFile: remoteSources.azureFile,
  vsphereVolume: remoteSources.vsphereVolume,
  photonPersistentDisk: remoteSources.photonPersistentDisk,
  portworxVolume: remoteSources.portworxVolume,
  azureDisk: remoteSources.azureDisk,
  storageos: remoteSources.storageos,
  projected: {
    check: (errors, path, { projected }, context) => projected && validateProjected(errors, path, projected, context),
  },
  scaleIO: remoteSources.scaleIO,
  csi: remoteSources.csi,
  ephemeral: {
    check: (errors, path, { ephemeral }) => validateClaimTemplate(errors, path, ephemeral?.volumeClaimTemplate),
  },
  image: { check: (errors, path, { image }, { subject }) => validateImage(errors, path, image, subject) },
};
const sourceNames = Object.keys(sources) as SourceName[];

/** Validates all volumes. Returns the valid ones, which mounts may use (upstream: ValidateVolumes). */
export function validateVolumes(
  errors: FieldErrors,
  path: string,
  { spec: { volumes = [] }, metadata }: Pod,
  context: PodValidationContext,
): ReadonlyMap<string, Volume> {
  // The names of claims for ephemeral volumes contain the pod's name. A template has no pod name yet.
  const podName = context.subject === 'pod' ? metadata.name : '';
  const valid = new Map<string, Volume>();
  const createdClaims = new Set(
    volumes.filter((volume) => volume.ephemeral !== undefined).map((volume) => `${podName}-${volume.name}`),
  );
  for (const [index, volume] of volumes.entries()) {
    const at = `${path}[${index}]`;
    const own = new FieldErrors();
    validateSource(own, at, volume, { context, podName });
    if (volume.name === '') own.required(`${at}.name`);
    else own.invalidEach(`${at}.name`, volume.name, checkDnsLabel(volume.name));
    if (valid.has(volume.name)) own.duplicate(`${at}.name`, volume.name);
    if (own.list.length === 0) valid.set(volume.name, volume);
    errors.list.push(...own.list);
    const claim = volume.persistentVolumeClaim?.claimName;
    if (claim !== undefined && podName !== '' && createdClaims.has(claim)) {
      errors.invalid(
        `${at}.persistentVolumeClaim.claimName`,
        claim,
        'must not reference a PVC that gets created for an ephemeral volume',
      );
    }
  }
  return valid;
}

function validateSource(
  errors: FieldErrors,
  path: string,
  volume: Volume,
  { context, podName }: { readonly context: PodValidationContext; readonly podName: string },
): void {
  let found = 0;
  for (const name of sourceNames) {
    if (volume[name] === undefined) continue;
    const { check, secondField = name, errorField = name } = sources[name];
    if (found > 0) errors.forbidden(`${path}.${secondField}`, 'may not specify more than 1 volume type');
    else check(errors, `${path}.${errorField}`, volume, context);
    found++;
  }
  if (found === 0) errors.required(path, 'must specify a volume type');
  if (volume.iscsi?.initiatorName !== undefined && `${volume.name}:${volume.iscsi.targetPortal}`.length > 64) {
    errors.invalid(
      `${path}.name`,
      volume.name,
      'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
    );
  }
  if (volume.ephemeral !== undefined && found === 1 && podName !== '' && volume.name !== '') {
    const claim = `${podName}-${volume.name}`;
    for (const complaint of checkDnsSubdomain(claim))
      errors.invalid(`${path}.name`, volume.name, `PVC name ${JSON.stringify(claim)}: ${complaint}`);
  }
}

function validateSizeLimit(errors: FieldErrors, field: string, sizeLimit: string | undefined): void {
  if (sizeLimit !== undefined && quantitySign(sizeLimit) < 0)
    errors.forbidden(field, 'SizeLimit field must be a valid resource quantity');
}

export function validateHostPath(errors: FieldErrors, path: string, source: HostPathVolumeSource): void {
  if (source.path === '') return errors.required(`${path}.path`);
  validateNoBacksteps(errors, `${path}.path`, source.path);
  if (source.type !== undefined)
    errors.oneOf(`${path}.type`, source.type, [
      '',
      'BlockDevice',
      'CharDevice',
      'Directory',
      'DirectoryOrCreate',
      'File',
      'FileOrCreate',
      'Socket',
    ]);
}

function validateSecret(errors: FieldErrors, path: string, source: SecretVolumeSource): void {
  requireText(errors, `${path}.secretName`, source.secretName);
  validateFileMode(errors, `${path}.defaultMode`, source.defaultMode);
  for (const [index, item] of (source.items ?? []).entries())
    validateKeyToPath(errors, `${path}.items[${index}]`, item);
}

function validateConfigMap(errors: FieldErrors, path: string, source: ConfigMapVolumeSource): void {
  requireText(errors, `${path}.name`, source.name);
  validateFileMode(errors, `${path}.defaultMode`, source.defaultMode);
  for (const [index, item] of (source.items ?? []).entries())
    validateKeyToPath(errors, `${path}.items[${index}]`, item);
}

function validateDownwardApi(errors: FieldErrors, path: string, source: DownwardAPIVolumeSource): void {
  validateFileMode(errors, `${path}.defaultMode`, source.defaultMode);
  // Upstream leaves the index out of these paths.
  for (const item of source.items ?? []) validateDownwardFile(errors, path, item);
}

/** In templates the image may be set later. */
function validateImage(
  errors: FieldErrors,
  path: string,
  image: Volume['image'],
  subject: PodValidationContext['subject'],
): void {
  if (subject === 'pod') requireText(errors, `${path}.reference`, image?.reference);
  validatePullPolicy(errors, `${path}.pullPolicy`, image?.pullPolicy);
}
