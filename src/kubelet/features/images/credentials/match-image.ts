interface SchemelessUrl {
  readonly parts: readonly string[];
  readonly port: string;
  readonly path: string;
}

function parse(text: string): SchemelessUrl {
  const slash = text.indexOf('/');
  const host = slash === -1 ? text : text.slice(0, slash);
  const path = slash === -1 ? '' : (text.slice(slash).split(/[?#]/)[0] ?? '');
  const port = /^(.*):([0-9]*)$/.exec(host);
  return port === null
    ? { parts: host.split('.'), port: '', path }
    : { parts: (port[1] ?? '').split('.'), port: port[2] ?? '', path };
}

/**
 * Whether a pattern such as `*.example.com:8443/team` matches an image's repository: the same number of host parts, of
 * which each matches its glob, the same port, and the pattern's path as a prefix (upstream:
 * credentialprovider/keyring.go URLsMatch).
 */
export function matchesImage(pattern: string, repository: string): boolean {
  const glob = parse(pattern);
  const target = parse(repository);
  if (glob.port !== target.port || glob.parts.length !== target.parts.length || !target.path.startsWith(glob.path))
    return false;
  return glob.parts.every((part, index) => globMatches(part, target.parts[index] ?? ''));
}

type Token = { kind: 'star' } | { kind: 'one'; fits: (char: string) => boolean };

/**
 * Matches a glob as Go's filepath.Match: `*`, `?`, `[a-c]`, `[^x]`, `\x`. A malformed pattern matches nothing. The cost
 * is at most the product of both lengths.
 */
export function globMatches(pattern: string, text: string): boolean {
  const tokens = tokenize(pattern);
  if (tokens === undefined) return false;
  let at = 0;
  let token = 0;
  let star = -1;
  let starAt = 0;
  while (at < text.length) {
    const current = tokens[token];
    if (current?.kind === 'one' && current.fits(text[at] as string)) {
      at++;
      token++;
    } else if (current?.kind === 'star') {
      star = token++;
      starAt = at;
    } else if (star !== -1) {
      token = star + 1;
      at = ++starAt;
    } else return false;
  }
  return tokens.slice(token).every((rest) => rest.kind === 'star');
}

function tokenize(pattern: string): Token[] | undefined {
  const tokens: Token[] = [];
  for (let index = 0; index < pattern.length; index++) {
    const char = pattern[index] as string;
    if (char === '*') tokens.push({ kind: 'star' });
    else if (char === '?') tokens.push({ kind: 'one', fits: () => true });
    else if (char === '\\') {
      const literal = pattern[++index];
      if (literal === undefined) return undefined;
      tokens.push({ kind: 'one', fits: (candidate) => candidate === literal });
    } else if (char === '[') {
      const end = pattern.indexOf(']', index + 2);
      if (end === -1) return undefined;
      tokens.push({ kind: 'one', fits: classOf(pattern.slice(index + 1, end)) });
      index = end;
    } else tokens.push({ kind: 'one', fits: (candidate) => candidate === char });
  }
  return tokens;
}

function classOf(body: string): (char: string) => boolean {
  const negated = body.startsWith('^');
  const ranges: [string, string][] = [];
  for (let index = negated ? 1 : 0; index < body.length; index++) {
    const low = body[index] as string;
    const isRange = body[index + 1] === '-' && body[index + 2] !== undefined;
    ranges.push([low, isRange ? (body[index + 2] as string) : low]);
    if (isRange) index += 2;
  }
  return (char) => ranges.some(([low, high]) => char >= low && char <= high) !== negated;
}
