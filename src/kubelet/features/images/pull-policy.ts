import type { ImageName } from '../../../api/image-name.ts';
import { parseImageName } from '../../../api/image-name.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import { rpcMessage } from '../../model/rpc-message.ts';

export type PullPolicy = 'Always' | 'IfNotPresent' | 'Never';

export type ResolvedImage = { ok: true; image: string; name: ImageName } | { ok: false; message: string };

/**
 * Returns the image name for the runtime: a name without tag and digest gets `:latest`. Nothing else is expanded,
 * because the runtime resolves short names (upstream: image_manager.go applyDefaultImageTag).
 */
export function resolveImage(requested: string): ResolvedImage {
  const name = parseImageName(requested);
  if (name === undefined)
    return {
      ok: false,
      message: `Failed to apply default image tag ${quoted(requested)}: couldn't parse image name ${quoted(requested)}: ${whyInvalid(requested)}`,
    };
  const bare = name.digest === undefined && name.tag !== undefined && !requested.endsWith(`:${name.tag}`);
  return { ok: true, image: bare ? `${requested}:${name.tag}` : requested, name };
}

function whyInvalid(image: string): string {
  const named = image.split('@')[0] ?? '';
  const lower = named.toLowerCase();
  if (named !== lower && parseImageName(lower) !== undefined)
    return 'invalid reference format: repository name must be lowercase';
  if (/^[a-f0-9]{64}$/.test(image))
    return `invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`;
  return 'invalid reference format';
}

/**
 * Returns the container's policy. If the pod has no defaults, it is the API's default: Always for `latest`, else
 * IfNotPresent.
 */
export function pullPolicyOf(container: AnyContainer, name: ImageName): PullPolicy {
  const given = container.imagePullPolicy;
  if (given === 'Always' || given === 'IfNotPresent' || given === 'Never') return given;
  return name.digest === undefined && name.tag === 'latest' ? 'Always' : 'IfNotPresent';
}

export type PullDecision = 'use' | 'verify' | 'pull' | 'refuse';

/**
 * Decides what to do about an image whose presence is known. It is not called for Always. `verify` means that the image
 * is usable if this pod may have it.
 */
export function decidePull(policy: PullPolicy, present: boolean): Exclude<PullDecision, 'use'> {
  if (policy === 'Always') return 'pull';
  if (present) return 'verify';
  return policy === 'Never' ? 'refuse' : 'pull';
}

/** Quotes a text as Go does, as in upstream's messages. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

export interface PullFailure {
  readonly reason: 'ErrImagePull' | 'RegistryUnavailable' | 'SignatureValidationFailed';
  readonly message: string;
}

/**
 * Returns the waiting reason of a failed pull. If CRI has no code, runtimes put the reason in the first word of their
 * message (upstream: image_manager.go evalCRIPullErr, cri-api errors).
 */
export function classifyPullFailure(image: string, error: string): PullFailure {
  const text = rpcMessage(error);
  for (const [reason, why] of [
    ['RegistryUnavailable', 'the registry is unavailable'],
    ['SignatureValidationFailed', 'the signature validation failed'],
  ] as const) {
    if (text.startsWith(reason))
      return { reason, message: `image pull failed for ${image} because ${why}${text.slice(reason.length)}` };
  }
  return { reason: 'ErrImagePull', message: error };
}
