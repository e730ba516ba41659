/** How cri-dockerd writes the image of a container in statuses (cri-dockerd: core/naming.go). */
const PULLABLE = 'docker-pullable://';
const BY_ID = 'docker://';

/** The name or id as Docker knows it. */
export function stripImagePrefix(image: string): string {
  for (const prefix of [PULLABLE, BY_ID]) if (image.startsWith(prefix)) return image.slice(prefix.length);
  return image;
}

/** The image of a container as statuses show it: the registry's digest, else the id. */
export function imageRef(id: string, repoDigests: readonly string[]): string {
  const [digest] = repoDigests;
  return digest === undefined ? BY_ID + id : PULLABLE + digest;
}

export interface ImageName {
  readonly repository: string;
  /** `latest` when the name has neither a tag nor a digest. */
  readonly tag?: string;
  readonly digest?: string;
}

/** Splits `host:5000/name:tag@sha256:...` into its parts. */
export function parseImageName(name: string): ImageName {
  const at = name.indexOf('@');
  const tagged = at === -1 ? name : name.slice(0, at);
  const digest = at === -1 ? undefined : name.slice(at + 1);
  const colon = tagged.lastIndexOf(':');
  const hasTag = colon > tagged.lastIndexOf('/');
  const repository = hasTag ? tagged.slice(0, colon) : tagged;
  const tag = hasTag ? tagged.slice(colon + 1) : undefined;
  if (digest !== undefined) return { repository, digest, ...(tag !== undefined && { tag }) };
  return { repository, tag: tag ?? 'latest' };
}
