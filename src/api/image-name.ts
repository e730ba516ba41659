/** A parsed image reference. It has a tag or a digest: without both, the tag is `latest`. */
export interface ImageName {
  /** With the registry: `docker.io/library/busybox`. */
  readonly repository: string;
  readonly domain: string;
  readonly path: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

const domainPattern =
  /^(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?$/;
const pathPattern = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$/;
const tagPattern = /^\w[\w.-]{0,127}$/;
const digestPattern = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;
const bareId = /^[a-f0-9]{64}$/;
const MAX_NAME_LENGTH = 255;

/** Parses an image reference by the distribution grammar; undefined for an invalid one. */
export function parseImageName(image: string): ImageName | undefined {
  if (image.length > 1024 || bareId.test(image)) return undefined;
  const at = image.indexOf('@');
  const digest = at === -1 ? undefined : image.slice(at + 1);
  const named = at === -1 ? image : image.slice(0, at);
  const colon = named.lastIndexOf(':');
  const hasTag = colon > named.lastIndexOf('/');
  const tag = hasTag ? named.slice(colon + 1) : undefined;
  const { domain, path } = splitDomain(hasTag ? named.slice(0, colon) : named);
  if (!domainPattern.test(domain) || !pathPattern.test(path) || path.length > MAX_NAME_LENGTH) return undefined;
  if (tag !== undefined && !tagPattern.test(tag)) return undefined;
  if (digest !== undefined && !digestPattern.test(digest)) return undefined;
  return {
    repository: `${domain}/${path}`,
    domain,
    path,
    tag: tag ?? (digest === undefined ? 'latest' : undefined),
    digest,
  };
}

function splitDomain(name: string): { domain: string; path: string } {
  const slash = name.indexOf('/');
  const first = slash === -1 ? '' : name.slice(0, slash);
  const isDomain = /[.:]/.test(first) || first === 'localhost' || first.toLowerCase() !== first;
  const domain = isDomain ? first : 'docker.io';
  const path = isDomain ? name.slice(slash + 1) : name;
  if (domain !== 'docker.io' && domain !== 'index.docker.io') return { domain, path };
  return { domain: 'docker.io', path: path.includes('/') ? path : `library/${path}` };
}
